"""The command line as click has it: the table of operations as commands, and the few that only make sense here."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import InputError
from recollect.render.layout import plain
from recollect.render.terminal import is_screen, visible_line
from recollect.surfaces.cli import bar, chosen_options, open_chosen, run_verb, say, show, written
from recollect.surfaces.commands import Commands, global_options

if TYPE_CHECKING:
    from recollect.remember.import_files import ImportReport


@click.group(
    cls=Commands,
    run=run_verb,
    context_settings={"help_option_names": ["-h", "--help"]},
    options_metavar="[OPTIONS]",
    subcommand_metavar="VERB …",
    epilog="recollect VERB --help tells more. The options above may stand before or after the verb.",
)
@click.version_option(package_name="recollect")
@click.pass_context
def cli(context: click.Context, /, **chosen: Any) -> None:
    """Memory search for AI agents: finds the right memory by word and by meaning, and says why."""
    context.obj = chosen


global_options(cli, hidden=False)


@cli.command()
@click.option("--keep", metavar="PATH", help="keep the sample store here; else it is removed in the end")
def demo(keep: str | None, **given: Any) -> None:
    """Build a sample store, search it, and show what to try next; your own store is not touched."""
    from recollect.surfaces.demo import run_demo  # noqa: PLC0415

    chosen = chosen_options(given)
    with bar() as progress:
        shown = run_demo(keep, profile=chosen["profile"], model=chosen["model"], program=_program(), progress=progress)
    if chosen["as_json"]:
        say(written(shown.value))
        return
    if is_screen(sys.stdout):
        show(shown.page)
    else:
        say(plain(shown.page))


global_options(demo)


@cli.command()
def watch(**given: Any) -> None:
    """Follow the roots: import what changes below them until Ctrl-C; one line for each change."""
    from recollect.operations.importing import import_value  # noqa: PLC0415
    from recollect.render.text import changed_text  # noqa: PLC0415
    from recollect.surfaces.watching import follow, until_signalled  # noqa: PLC0415

    chosen = chosen_options(given)

    def told(report: "ImportReport") -> None:
        line = json.dumps(serialize(import_value(report)), ensure_ascii=False)
        if changed := line if chosen["as_json"] else visible_line(changed_text(report, at=db.now())):
            say(changed)

    from recollect.serialize import serialize  # noqa: PLC0415

    with open_chosen(chosen) as db, until_signalled() as stop:
        roots = db.roots.list()
        say(visible_line(f"watching {', '.join(each.name for each in roots)}; stop with Ctrl-C"), err=True)
        follow(db, stop=stop, told=told, trouble=lambda error: say(visible_line(f"error: {error}"), err=True))
    say("stopped; everything imported so far is kept", err=True)


global_options(watch)


def _program() -> str:
    """Return how to call this program from here."""
    import shutil  # noqa: PLC0415

    path = Path(sys.argv[0])
    if shutil.which("recollect") or path.name != "recollect":
        return "recollect"
    return os.path.relpath(path)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell, to be sourced by it."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    kind = get_completion_class(shell)
    if kind is not None:
        say(kind(cli, {}, "recollect", "_RECOLLECT_COMPLETE").source())


def run_program(words: list[str]) -> None:
    """Read *words* and do what they say."""
    try:
        cli.main(args=words, prog_name="recollect", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message())


def _argument(error: click.NoSuchOption) -> str:
    """Return the name of the argument that somebody wrote as an option; blank where there is none."""
    named = error.option_name.lstrip("-").replace("-", "_")
    arguments = (
        [each.name for each in error.ctx.command.params if isinstance(each, click.Argument)] if error.ctx else []
    )
    return named if named in arguments else ""


def refused(error: Exception) -> InputError | None:
    """Return what click says about words that it cannot read; None where *error* is another."""
    if isinstance(error, click.UsageError):
        asked = error.ctx.command_path if error.ctx else "recollect"
        if isinstance(error, click.NoSuchOption) and error.ctx and (argument := _argument(error)):
            usage = " ".join(error.ctx.command.collect_usage_pieces(error.ctx)[1:])
            return InputError(f"{argument} is an argument, not an option", hint=f"write: {asked} {usage}")
        said = " ".join(error.format_message().split())
        return InputError(said.rstrip("."), hint=f"see: {asked} --help")
    if isinstance(error, click.ClickException):
        return InputError(error.format_message(), hint="see: recollect --help")
    return None
