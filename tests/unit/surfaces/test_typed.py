"""What is read without click is read as click reads it; all else is left to click."""

from typing import Any

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.errors import RecollectError
from recollect.surfaces.cli import chosen_options
from recollect.surfaces.commands import Commands, global_options
from recollect.surfaces.operations.answer import Operation
from recollect.surfaces.typed import read_typed

Meaning = tuple[str, dict[str, Any], dict[str, Any]]
READ: list[Meaning] = []
WORDS = st.sampled_from(
    [
        *("search", "add", "list", "show", "why", "purge", "timeline", "import", "feedback", "eval", "serch", "stats"),
        *("--db", "--project", "--json", "--mode", "--limit", "-n", "--type", "--precise", "--no-precise", "--explain"),
        *(
            "--help",
            "-h",
            "--",
            "-",
            "--db=x.db",
            "--limit=3",
            "--json=1",
            "-n3",
            "-n=3",
            "--lim",
            "--no-facts",
            "--all",
        ),
        *(
            "notes.db",
            "keyword",
            "KEYWORD",
            "deploy",
            "-friday",
            "-ß",
            "-x1",
            "--friday",
            " -x",
            "",
            "3",
            "#3",
            "-3",
            "+3",
        ),
        *("1_0", "0.5", "nan", "99999999999999999999", "good", "--alpha", "--since", "--fact-type", "--format", "ids"),
    ]
)


def note(operation: Operation, given: dict[str, Any]) -> None:
    """Keep what click read."""
    chosen = chosen_options(given, {each.name for each in operation.parameters})
    READ.append((operation.name, given, chosen))


@click.group(cls=Commands, run=note)
@click.pass_context
def program(context: click.Context, /, **chosen: Any) -> None:
    """Read what was typed and do nothing."""
    context.obj = chosen


global_options(program, hidden=False)


def by_click(words: list[str]) -> Meaning | None:
    """Return what *words* mean to click; None where it refuses them or shows help."""
    READ.clear()
    try:
        program.main(args=list(words), prog_name="recollect", standalone_mode=False)
    except (click.ClickException, RecollectError):
        return None
    return READ[0] if READ else None


@given(st.lists(WORDS, max_size=8))
@example(["search", "deploy", "-friday", "--limit", "3", "--type", "note", "--type", "idea"])
@example(["--db", "a", "search", "x", "--db", "b", "--json"])
@example(["purge", "--project", "web", "3"])
@example(["why", "3", "deploy", "hetzner"])
@example(["show", "3", "#4"])
@example(["timeline"])
def test_what_is_read_plainly_means_the_same_to_click(words: list[str]) -> None:
    typed = read_typed(words)

    assert typed is None or repr((typed.operation.name, _sorted(typed.given), typed.chosen)) == repr(_told(words))


def _told(words: list[str]) -> Any:
    read = by_click(words)
    return None if read is None else (read[0], _sorted(read[1]), read[2])


def _sorted(given: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(given.items())


@pytest.mark.parametrize(
    "words",
    [
        ["search", "deploy"],
        ["--db", "notes.db", "search", "--mode", "keyword", "deploy", "-friday", "-n", "3", "--json"],
        ["add", "we", "moved"],
        ["list", "--type=note"],
        ["show", "#3"],
    ],
)
def test_an_everyday_command_is_plain(words: list[str]) -> None:
    assert read_typed(words) is not None
