"""The command line: the table of operations as commands, and the few that only make sense here."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from recollect.errors import RecollectError
from recollect.surfaces.shapes import error_shape

GLOBAL = {
    "db": "the store: a path or :memory: (RECOLLECT_DB)",
    "project": "the project to write to and to search (RECOLLECT_PROJECT)",
    "profile": "how to rank: default, cortex, oro, boocode, nornicdb, engram, or a .toml file (RECOLLECT_PROFILE)",
}
TYPES: dict[str, Any] = {"number": int, "share": float}
EXIT_NOTHING, EXIT_INPUT, EXIT_TROUBLE = 1, 2, 3


class _Commands(click.Group):
    """Commands made from the table when they are asked for, so that a start costs little."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command, in the order of the table."""
        from recollect.surfaces.operations import OPERATIONS  # noqa: PLC0415  (see above)

        return [*OPERATIONS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command *cmd_name*."""
        from recollect.surfaces.operations import OPERATIONS  # noqa: PLC0415

        if cmd_name in OPERATIONS:
            return _command(cmd_name)
        return super().get_command(ctx, cmd_name)


def _global_options(command: click.Command) -> click.Command:
    command.params += [click.Option([f"--{name}"], metavar=name.upper(), help=about) for name, about in GLOBAL.items()]
    command.params.append(click.Option(["--json", "as_json"], is_flag=True, help="answer in JSON"))
    return command


def _command(name: str) -> click.Command:
    from recollect.surfaces.operations import OPERATIONS  # noqa: PLC0415

    operation = OPERATIONS[name]

    def run(**given: Any) -> None:
        context = click.get_current_context()
        chosen = {key: given.pop(key) or (context.obj or {}).get(key) for key in (*GLOBAL, "as_json")}
        _answer(operation, given, chosen)

    params: list[click.Parameter] = [_parameter(parameter) for parameter in operation.parameters]
    return _global_options(click.Command(name, callback=run, params=params, help=operation.about))


def _parameter(parameter: Any) -> click.Parameter:
    if parameter.place:
        many = parameter.kind == "paths"
        return click.Argument([parameter.name], nargs=-1 if many else 1, required=True, type=_type(parameter))
    flag, several = parameter.kind == "flag", parameter.kind == "texts"
    return click.Option(
        [f"--{parameter.name.replace('_', '-')}", parameter.name],
        is_flag=flag,
        multiple=several,
        default=None if several else parameter.default,
        type=None if flag else _type(parameter),
        help=parameter.about,
    )


def _type(parameter: Any) -> Any:
    return click.Choice(parameter.choices) if parameter.kind == "choice" else TYPES.get(parameter.kind, str)


def _answer(operation: Any, given: dict[str, Any], chosen: Mapping[str, Any]) -> None:
    from recollect.recollection import open as open_recollection  # noqa: PLC0415

    if given.get("text") == "-":
        given["text"] = click.get_text_stream("stdin", errors="replace").read()
    with open_recollection(address=chosen["db"], profile=chosen["profile"], project=chosen["project"]) as db:
        answer = operation.run(db, given, _bar() if operation.slow else None)
    _print(answer, as_json=bool(chosen["as_json"]))
    if not answer.found:
        sys.exit(EXIT_NOTHING)
    if not answer.healthy:
        sys.exit(EXIT_TROUBLE if operation.name == "doctor" else EXIT_INPUT)


def _print(answer: Any, *, as_json: bool) -> None:
    click.echo(json.dumps(answer.value, ensure_ascii=False, indent=2) if as_json else answer.text)
    if not as_json:
        for problem in answer.problems:
            click.echo(problem, err=True)


def _bar() -> Callable[[int, int, str], None] | None:
    """Return a progress line for a terminal; a pipe gets none."""
    if not sys.stderr.isatty():
        return None

    def progress(done: int, total: int, what: str) -> None:
        width = 30
        filled = width * done // max(1, total)
        line = f"\r[{'█' * filled}{'·' * (width - filled)}] {done}/{total} {what[:40]:<40}"
        sys.stderr.write(line if done < total else f"\r{' ' * (len(line) + 2)}\r")
        sys.stderr.flush()

    return progress


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="recollect")
@click.pass_context
def cli(context: click.Context, /, **chosen: Any) -> None:
    """Memory search for AI agents: finds the right memory by word and by meaning, and says why."""
    context.obj = chosen


_global_options(cli)


@cli.command()
@click.argument("path", required=False)
@click.pass_context
def export(context: click.Context, path: str | None) -> None:
    """Write every memory as JSON Lines, to PATH or to standard output; `import` reads it back without loss."""
    from recollect.recollection import open as open_recollection  # noqa: PLC0415
    from recollect.surfaces.shapes import export_shape  # noqa: PLC0415

    chosen = context.obj
    with (
        open_recollection(chosen["db"], project=chosen["project"]) as db,
        click.open_file(path or "-", "w", encoding="utf-8", atomic=path is not None) as file,
    ):
        count = 0
        for memory, wordings in db.export():
            file.write(json.dumps(export_shape(memory, wordings), ensure_ascii=False) + "\n")
            count += 1
    if path:
        click.echo(f"{count} memories written to {path}", err=True)


_global_options(export)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell, to be sourced by it."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(cli, {}, "recollect", "_RECOLLECT_COMPLETE").source())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; errors are one line and an exit code, never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        cli.main(args=words, prog_name="recollect", standalone_mode=False)
    except RecollectError as error:
        _complain(error, as_json="--json" in words)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_INPUT)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()


def _complain(error: RecollectError, *, as_json: bool) -> None:
    hint = f" ({error.hint})" if error.hint else ""
    click.echo(json.dumps(error_shape(error), ensure_ascii=False) if as_json else f"error: {error}{hint}", err=True)
    sys.exit(error.exit_code)
