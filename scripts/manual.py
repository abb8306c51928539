"""The man page, made from the commands themselves."""

import inspect
from collections.abc import Iterator

import click

from recollect import __version__
from recollect.surfaces.cli import GLOBAL
from recollect.surfaces.program import cli

ENVIRONMENT = {
    "RECOLLECT_DB": "the store",
    "RECOLLECT_PROJECT": "the project",
    "RECOLLECT_PROFILE": "the profile",
    "RECOLLECT_MODEL": "the embedding model",
    "RECOLLECT_MODELS": "the folder of the models",
    "RECOLLECT_OFFLINE": "1: never use the network",
    "RECOLLECT_CONFIG": "the settings file",
}
EXITS = {
    "0": "done",
    "1": "nothing was found",
    "2": "bad input",
    "3": "trouble with the store, the model or the disk",
    "130": "stopped by Ctrl-C",
}


def manual_page() -> str:
    """Return the man page as roff."""
    context = click.Context(cli, info_name="recollect")
    lines = [f'.TH RECOLLECT 1 "" "recollect {__version__}" "User Commands"', ".SH NAME"]
    lines += [
        f"recollect \\- {_plain(_first(cli.help))}",
        ".SH SYNOPSIS",
        ".B recollect",
        "[OPTIONS] COMMAND [ARGS]...",
    ]
    lines += [".SH OPTIONS", *_options(cli.get_params(context)), ".SH COMMANDS"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            lines += _command(command, context)
    lines += [".SH ENVIRONMENT", *_terms(ENVIRONMENT), ".SH EXIT STATUS", *_terms(EXITS)]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=command.name, parent=parent)
    yield f".SS recollect {_plain(str(command.name))} {_plain(' '.join(command.collect_usage_pieces(context)))}"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield from (_plain(" ".join(paragraph.split())), ".PP")
    shared = {*GLOBAL, "as_json"}  # the same in every command, told once above
    yield from _options([each for each in command.params if each.name not in shared])


def _options(parameters: list[click.Parameter]) -> Iterator[str]:
    for each in parameters:
        if isinstance(each, click.Option) and not each.hidden:
            names = ", ".join(f"\\fB{_plain(name)}\\fR" for name in (*each.opts, *each.secondary_opts))
            value = "" if each.is_flag else f" \\fI{_plain(_metavar(each))}\\fR"
            yield from (".TP", f"{names}{value}", _plain(each.help or ""))


def _metavar(option: click.Option) -> str:
    choices = getattr(option.type, "choices", None)
    return option.metavar or ("|".join(map(str, choices)) if choices else option.type.name.upper())


def _terms(terms: dict[str, str]) -> Iterator[str]:
    for name, about in terms.items():
        yield from (".TP", f"\\fB{_plain(name)}\\fR", _plain(about))


def _first(text: str | None) -> str:
    return inspect.cleandoc(text or "").split("\n\n", maxsplit=1)[0]


def _plain(text: str) -> str:
    """Return *text* so that roff prints it as it is."""
    shown = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown
