"""The command line: the table of operations as commands, and the few that only make sense here."""

import io
import json
import os
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import InputError, RecollectError
from recollect.records import Progress
from recollect.surfaces.terminal import visible_line, visible_streams, write_styled

if TYPE_CHECKING:
    from recollect.recollection import Recollection
    from recollect.surfaces.table import Answer, Operation, Parameter

GLOBAL = {
    "db": "the store: a path or :memory: (RECOLLECT_DB)",
    "project": "the project to write to and to search (RECOLLECT_PROJECT)",
    "profile": "how to rank: default, cortex, oro, boocode, nornicdb, engram, or a .toml file (RECOLLECT_PROFILE)",
    "model": "the embedding model: a name, a folder, or none (RECOLLECT_MODEL)",
    "reranker": "the folder of a cross-encoder that reads the best hits again, or none (RECOLLECT_RERANKER)",
}
TYPES: dict[str, Any] = {"number": click.INT, "share": click.FLOAT}
SERVING = ("serve", "daemon", "mcp", "hook", "install", "uninstall")
"""Commands of the warm process."""
EXIT_NOTHING, EXIT_INPUT, EXIT_TROUBLE, EXIT_STOPPED = 1, 2, 3, 130


# --- the table as commands ------------------------------------------------------------------


class _Commands(click.Group):
    """Commands made from the table when they are asked for, so that a start costs little."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every command, in the order of the table."""
        from recollect.surfaces.operations import OPERATIONS  # noqa: PLC0415  (see above)

        return [*OPERATIONS, *super().list_commands(ctx), *SERVING]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command *cmd_name*."""
        from recollect.surfaces.operations import OPERATIONS  # noqa: PLC0415

        if cmd_name in OPERATIONS:
            return _command(OPERATIONS[cmd_name])
        if cmd_name in SERVING:
            from recollect.surfaces.serving import COMMANDS  # noqa: PLC0415

            return global_options(COMMANDS[cmd_name])
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; end quietly when nobody reads its answer any more."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _leave_quietly()


def global_options(command: click.Command) -> click.Command:
    """Add the global options to *command*, except those that it has in a way of its own."""
    own = {each.name for each in command.params}
    others = {name: about for name, about in GLOBAL.items() if name not in own}
    command.params += [click.Option([f"--{name}"], metavar=name.upper(), help=about) for name, about in others.items()]
    command.params.append(click.Option(["--json", "as_json"], is_flag=True, help="answer in JSON"))
    return command


def chosen_options(given: dict[str, Any], own: Container[str] = ()) -> dict[str, Any]:
    """Take the global options out of *given*; what stands after the command wins over what stands before it.

    Those that the command has of its *own* stay in it.
    """
    before = click.get_current_context().obj or {}
    return {key: (None if key in own else given.pop(key)) or before.get(key) for key in (*GLOBAL, "as_json")}


def _command(operation: "Operation") -> click.Command:
    def run(**given: Any) -> None:
        _answer(operation, given, chosen_options(given, {each.name for each in operation.parameters}))

    params: list[click.Parameter] = [_parameter(parameter) for parameter in operation.parameters]
    return global_options(click.Command(operation.name, callback=run, params=params, help=_help(operation)))


def _help(operation: "Operation") -> str:
    """Return what *operation* does and what its arguments are; options speak for themselves."""
    places = [f"{each.name.upper()}: {each.about}" for each in operation.parameters if each.place]
    return "\n\n".join([operation.about, *places])


def _parameter(parameter: "Parameter") -> click.Parameter:
    if parameter.place:
        many = parameter.kind == "paths"
        return click.Argument(
            [parameter.name],
            nargs=-1 if many else 1,
            required=not parameter.optional,
            type=_type(parameter),
            callback=_countable,
        )
    flag, several = parameter.kind == "flag", parameter.kind == "texts"
    name, off = parameter.name.replace("_", "-"), parameter.off.replace("_", "-")
    return click.Option(
        [f"--{name}/--{off}" if off else f"--{name}", parameter.name],
        is_flag=flag,
        multiple=several,
        default=bool(parameter.default) if flag else parameter.default,
        type=None if flag else _type(parameter),
        callback=_countable,
        help=parameter.about,
    )


def _countable(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return *value*, unless it is a number that no store can count to."""
    if isinstance(value, int) and abs(value) >= 2**63:
        raise click.BadParameter(f"{value} is too large", param=parameter)
    return value


def _type(parameter: "Parameter") -> Any:
    if parameter.kind == "choice":
        return click.Choice(parameter.choices, case_sensitive=False)
    return TYPES.get(parameter.kind, click.STRING)


# --- answering ------------------------------------------------------------------------------


def open_chosen(chosen: Mapping[str, Any], *, background: bool = False) -> "Recollection":
    """Open the store that the global options choose."""
    from recollect.recollection import open as open_recollection  # noqa: PLC0415

    options = {name: chosen[name] for name in GLOBAL if name != "db"}
    return open_recollection(chosen["db"], background=background, **options)


def _answer(operation: "Operation", given: dict[str, Any], chosen: Mapping[str, Any]) -> None:
    if given.get("text") == "-":
        given["text"] = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    place = chosen if operation.store else {**chosen, "db": ":memory:"}
    with open_chosen(place) as db:
        values = {"project": chosen["project"], **given}
        with _bar(wanted=operation.slow) as progress:
            db.models.progress = progress
            answer = _consented(operation, db, values) or operation.answer(db, values, progress)
        _print(answer, as_json=bool(chosen["as_json"]))
    if db.models.notice:
        _say(visible_line(f"note: {db.models.notice}"), err=True)
    if not answer.found:
        sys.exit(EXIT_NOTHING)
    if not answer.healthy:
        sys.exit(EXIT_TROUBLE if operation.name in ("doctor", "purge", "recover") else EXIT_INPUT)


def _consented(operation: "Operation", db: "Recollection", values: Mapping[str, Any]) -> "Answer | None":
    """Show what cannot be undone to whoever sits at a terminal, ask, and do it; where nobody is asked, do nothing."""
    if values.get("yes", True) or values.get("dry_run") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    rehearsed = operation.answer(db, {**values, "dry_run": True})
    click.echo(rehearsed.text(), err=True)
    if rehearsed.found:
        click.confirm("Go on? Nothing brings it back", abort=True, err=True)
    return operation.answer(db, {**values, "yes": True})


def _print(answer: "Answer", *, as_json: bool) -> None:
    from recollect.surfaces.serialise import serialise  # noqa: PLC0415

    if answer.stream:
        for each in answer.value:
            _say(json.dumps(serialise(each), ensure_ascii=False))
    elif told := written(serialise(answer.value)) if as_json else answer.text():
        _say(told)
    for problem in () if as_json and not answer.stream else answer.problems:
        _say(visible_line(f"error: {problem}"), err=True)


def written(value: Any) -> str:
    """Return *value* as the JSON that every command prints."""
    return json.dumps(value, ensure_ascii=False, indent=2)


@contextmanager
def _bar(*, wanted: bool) -> Iterator[Progress | None]:
    """Give a progress line to a terminal and nothing to a pipe; the line is gone in the end."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return

    def progress(done: int, total: int, what: str) -> None:
        filled = 30 * done // max(1, total)
        bar = f"[{'█' * filled}{'·' * (30 - filled)}] {done}/{total} {visible_line(what)[:40]}"
        write_styled(sys.stderr, "\r\x1b[K", bar)

    try:
        yield progress
    finally:
        write_styled(sys.stderr, "\r\x1b[K", "")


# --- the door -------------------------------------------------------------------------------


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="recollect")
@click.pass_context
def cli(context: click.Context, /, **chosen: Any) -> None:
    """Memory search for AI agents: finds the right memory by word and by meaning, and says why."""
    context.obj = chosen


global_options(cli)


@cli.command()
@click.option("--keep", metavar="PATH", help="keep the sample store here; else it is removed in the end")
def demo(keep: str | None, **given: Any) -> None:
    """Build a sample store, search it, and show what to try next; your own store is not touched."""
    from recollect.surfaces.demo import NEXT, run_demo  # noqa: PLC0415

    chosen = chosen_options(given)
    with _bar(wanted=True) as progress:
        shown = run_demo(keep, profile=chosen["profile"], model=chosen["model"], program=_program(), progress=progress)
    if chosen["as_json"]:
        _say(written(shown.value))
        return
    for line in shown.lines:
        bold = line.startswith("> ") or line == NEXT
        write_styled(sys.stdout, "\x1b[1m" if bold else "", line, "\x1b[0m" if bold else "")
        _say("")


global_options(demo)


def _program() -> str:
    """Return how to call this program from here."""
    import shutil  # noqa: PLC0415  (only the demo asks)

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
        _say(kind(cli, {}, "recollect", "_RECOLLECT_COMPLETE").source())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; errors are one line and an exit code, never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # half characters are written as JSON writes them
    with visible_streams():
        _run(words)


def _run(words: list[str]) -> None:
    try:
        cli.main(args=words, prog_name="recollect", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        _say(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        sys.exit(EXIT_STOPPED)
    except Exception as error:  # noqa: BLE001  (the last door: whatever it is, people get one line)
        _complain(_understood(error), as_json="--json" in words)


def _say(text: str, *, err: bool = False) -> None:
    """Write *text* and a line break; the stream makes it visible."""
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n")
    stream.flush()


def _understood(error: Exception) -> RecollectError:
    """Return *error* as one of ours."""
    if isinstance(error, RecollectError):
        return error
    if isinstance(error, click.UsageError):
        asked = error.ctx.command_path if error.ctx else "recollect"
        said = " ".join(error.format_message().split())
        return InputError(said.rstrip("."), hint=f"see: {asked} --help")
    if isinstance(error, click.ClickException):
        return InputError(error.format_message(), hint="see: recollect --help")
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return RecollectError(
        f"something unforeseen happened{where}: {said}", hint="nothing stored is lost; please report it"
    )


def _complain(error: RecollectError, *, as_json: bool) -> None:
    from recollect.surfaces.serialise import error_value  # noqa: PLC0415

    hint = f" ({error.hint})" if error.hint else ""
    line = json.dumps(error_value(error), ensure_ascii=False) if as_json else visible_line(f"error: {error}{hint}")
    _say(line, err=True)
    sys.exit(error.exit_code)


def _leave_quietly() -> None:
    """End when nobody reads any more; what is left in the buffers has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
