"""Running a command: open its store, answer it, print the answer, and turn every error into one line."""

import gc
import io
import json
import os
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from msgspec.structs import replace

from recollect.errors import InputError, RecollectError
from recollect.records import Progress
from recollect.render.layout import Page, Piece, cut, folded, line, page_of
from recollect.render.terminal import is_screen, redraw, visible_line, visible_streams, write_rows
from recollect.stores.choice import shown_address

if TYPE_CHECKING:
    from recollect.operations.answer import Answer, Operation
    from recollect.operations.request import Call
    from recollect.recollection import Recollection

GLOBAL: Final = {
    "db": "the store: a path, :memory: or postgresql://… (RECOLLECT_DB)",
    "project": "the project to write to and to search (RECOLLECT_PROJECT)",
    "profile": "how to rank: default, cortex, oro, boocode, nornicdb, engram, or a .toml file (RECOLLECT_PROFILE)",
    "model": "the embedding model: a name, a folder, or none (RECOLLECT_MODEL)",
    "reranker": "the folder of a cross-encoder that reads the best hits again, or none (RECOLLECT_RERANKER)",
}
"""The options that every command has, and what they say."""
WHOLE = "what was changed is whole"
EXIT_NOTHING, EXIT_INPUT, EXIT_TROUBLE, EXIT_STOPPED = 1, 2, 3, 130


def run_verb(operation: "Operation", given: dict[str, Any]) -> None:
    """Answer what was typed after the name of *operation*."""
    _answer(operation, given, chosen_options(given, {each.name for each in operation.parameters}))


def chosen_options(given: dict[str, Any], own: Container[str] = ()) -> dict[str, Any]:
    """Take the global options out of *given*; what stands after the command wins over what stands before it.

    Those that the command has of its *own* stay in it.
    """
    import click  # noqa: PLC0415

    before = click.get_current_context().obj or {}
    return {key: (None if key in own else given.pop(key)) or before.get(key) for key in (*GLOBAL, "as_json")}


# --- answering ------------------------------------------------------------------------------


def open_chosen(chosen: Mapping[str, Any], *, background: bool = False) -> "AbstractContextManager[Recollection]":
    """Open the store that the global options choose."""
    from recollect.recollection import open as open_recollection  # noqa: PLC0415

    options = {name: chosen[name] for name in GLOBAL if name != "db"}
    return open_recollection(chosen["db"], background=background, **options)


def _answer(operation: "Operation", given: dict[str, Any], chosen: Mapping[str, Any]) -> None:
    form = "json" if chosen["as_json"] else given.get("format", "text")
    _read_input(given)
    values = {"project": chosen["project"], **given}
    brief = form == "text" and is_screen(sys.stdout) and not (given.get("limit") or given.get("all", True))
    if brief and operation.traits.brief_limit:
        values["limit"] = operation.traits.brief_limit
    answer = _served(operation, values, chosen, brief=brief)
    if answer is None:
        answer = _answered_here(operation, values, chosen, form=form, brief=brief)
    else:
        _print(answer, form=form)
    if answer.notice:
        _tell("note", answer.notice)
    if answer.stopped:
        sys.exit(EXIT_STOPPED)
    if not answer.found:
        sys.exit(EXIT_NOTHING)
    if not answer.healthy:
        sys.exit(EXIT_TROUBLE if operation.name in ("doctor", "purge", "recover") else EXIT_INPUT)


def _served(
    operation: "Operation", values: Mapping[str, Any], chosen: Mapping[str, Any], *, brief: bool
) -> "Answer[Any] | None":
    """Return the answer of the running server; None if there is none for this command."""
    from recollect.settings import read_settings  # noqa: PLC0415

    settings = read_settings(**{name: chosen[name] for name in GLOBAL})
    if operation.render is None or settings.daemon == "off":
        return None
    from recollect.operations.request import Call  # noqa: PLC0415
    from recollect.surfaces.served import ask_server  # noqa: PLC0415

    request = operation.parse({**values, "project": settings.project or None})
    replied = ask_server(operation, request, settings)
    if replied is None:
        return None
    value, notice = replied
    call = Call(now=datetime.now(UTC), brief=brief, store=shown_address(settings.db))
    return replace(operation.render(value, request, call), notice=notice)


def _answered_here(
    operation: "Operation", values: dict[str, Any], chosen: Mapping[str, Any], *, form: str, brief: bool
) -> "Answer[Any]":
    """Open the store, do what is asked, and print the answer."""
    from recollect.operations.request import Call  # noqa: PLC0415  (the operation has loaded it)

    place = chosen if operation.traits.needs_store else {**chosen, "db": ":memory:"}
    if operation.traits.needs_store and not operation.traits.creates_store:
        require_store(place["db"])
    require_model(place["model"])
    with open_chosen(place) as db:
        loaded()
        with bar(operation) as progress:
            db.models.progress = progress
            call = Call(now=db.now(), progress=progress, brief=brief, store=shown_address(db.address))
            answer = _prepared(operation, db, values, call) or operation.answer(db, operation.parse(values), call)
        if answer.then is not None and form != "json":
            _print(answer, form=form)
        if answer.then is not None:
            with bar(operation) as progress:
                answer = answer.then(progress)
        if not (operation.name == "open" and form == "text" and _edits(answer)):
            _print(answer, form=form)
        return replace(answer, notice=db.models.notice)


def loaded() -> None:
    """Look for garbage from here on, in what is made and not in what is loaded: `front.py` put it off till now."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _read_input(given: dict[str, Any]) -> None:
    """Read from standard input what is given as a dash."""
    for name in ("text", "content"):
        if given.get(name) == "-":
            given[name] = sys.stdin.buffer.read().decode("utf-8-sig", "replace")


def require_store(address: str | None) -> None:
    """Refuse to read a store that was named and is not there: a mistyped path is not an empty store."""
    if not address or address == ":memory:" or "://" in address:
        return
    try:
        path = Path(address).expanduser()
    except RuntimeError:  # nobody of this name has a home
        return
    if not os.path.lexists(path) and path.parent.is_dir():
        from recollect.surfaces.commands import perhaps  # noqa: PLC0415

        near = perhaps(path.name, [each.name for each in path.parent.glob("*.db")])
        hint = f"{near or 'check the path'}; `add` and `import` make a new store"
        raise InputError(f"there is no store {address}", hint=hint)


def require_model(name: str | None) -> None:
    """Refuse a model that was named and that nobody knows; one that could be installed is told of by the answer."""
    if not name or name == "none" or "://" in name:
        return
    from recollect.embedders.install import list_models  # noqa: PLC0415  (few name a model)
    from recollect.embedders.models import find_model  # noqa: PLC0415
    from recollect.settings import models_folder, read_settings  # noqa: PLC0415
    from recollect.surfaces.commands import perhaps  # noqa: PLC0415

    folder = models_folder(read_settings())
    known = list_models(folder)
    if find_model(name, folder) is None and name not in {each.name for each in known}:
        here = ", ".join(each.name for each in known if each.installed)
        near = perhaps(name, [each.name for each in known])
        hint = f"{near} " if near else ""
        raise InputError(f"there is no model {name!r}", hint=f"{hint}installed: {here}; or name a folder with a model")


def _prepared(operation: "Operation", db: "Recollection", values: dict[str, Any], call: "Call") -> "Answer[Any] | None":
    """Ask whoever sits at a terminal for what is missing: consent to what cannot be undone, or the new words."""
    if operation.name == "edit" and is_screen(sys.stdin) and is_screen(sys.stdout):
        from recollect.surfaces.editing import edit_words, is_unchanged  # noqa: PLC0415  (few edit)

        if is_unchanged(values):
            values["content"] = edit_words(db.show(values["id"]).memory.content)
    return _consented(operation, db, values, call)


def _edits(answer: "Answer[Any]") -> bool:
    """Open the source of a memory in the user's editor; say whether that was possible."""
    from recollect.surfaces.editing import open_source  # noqa: PLC0415

    return is_screen(sys.stdout) and is_screen(sys.stdin) and open_source(answer.value.source, answer.value.line)


def _consented(
    operation: "Operation", db: "Recollection", values: Mapping[str, Any], call: "Call"
) -> "Answer[Any] | None":
    """Show what cannot be undone to whoever sits at a terminal, ask, and do it; where nobody is asked, do nothing."""
    if values.get("yes", True) or values.get("dry_run") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    if values.get("from_", "") is None:  # files that somebody named are meant
        return None
    rehearsed = operation.answer(db, operation.parse({**values, "dry_run": True}))
    if not rehearsed.question:
        return None
    show(page_of(rehearsed.text()), err=True)
    if rehearsed.found:
        import click  # noqa: PLC0415

        click.confirm(rehearsed.question, abort=True, err=True)
    return operation.answer(db, operation.parse({**values, "yes": True}), call)


def _print(answer: "Answer[Any]", *, form: str) -> None:
    from recollect.serialize import serialize  # noqa: PLC0415

    if answer.stream:
        for each in answer.value:
            say(json.dumps(serialize(each), ensure_ascii=False))
    elif form == "text" and is_screen(sys.stdout):
        page = answer.page() if answer.page else page_of(answer.text())
        show(page if any(each.pieces for each in page) else ())
    elif told := _written(answer, form):
        say(told)
    for problem in () if form == "json" and not answer.stream else answer.problems:
        _tell("error", problem)


def _written(answer: "Answer[Any]", form: str) -> str:
    """Return an answer in the form that was asked for."""
    from recollect.serialize import serialize  # noqa: PLC0415

    if form in ("text", "json"):
        return answer.text() if form == "text" else written(serialize(answer.value))
    from recollect.surfaces.rows import WRITERS  # noqa: PLC0415

    return "\n".join(WRITERS[form](answer.rows))


def written(value: Any) -> str:
    """Return *value* as the JSON that every command prints."""
    return json.dumps(value, ensure_ascii=False, indent=2)


@contextmanager
def bar(operation: "Operation | None" = None) -> Iterator[Progress | None]:
    """Give a progress line to a terminal and nothing to a pipe; the line is gone in the end.

    Whoever stops the work is told what was kept.
    """
    if operation is not None and not operation.traits.slow:
        yield None
        return
    drawn, last = is_screen(sys.stderr), (0, 0, "")

    def progress(done: int, total: int, what: str) -> None:
        nonlocal last
        last = (done, total, what)
        if drawn:
            redraw(sys.stderr, progress_line(done, total, what, width=_width() - 1))

    try:
        yield progress
    except KeyboardInterrupt:
        if drawn and last[2]:
            redraw(sys.stderr, "")
        _tell("stopped", _kept(operation, *last))
        sys.exit(EXIT_STOPPED)
    finally:
        if drawn and last[2]:
            redraw(sys.stderr, "")


def progress_line(done: int, total: int, what: str, *, width: int) -> str:
    """Return how far a work is, in *width* columns."""
    if total <= 0:
        return cut(visible_line(what), width)
    size = min(30, width // 3)
    filled = size * min(done, total) // total
    return cut(f"{'█' * filled}{'░' * (size - filled)} {done}/{total} {visible_line(what)}", width)


def _kept(operation: "Operation | None", done: int, total: int, what: str) -> str:
    """Return what was kept of work that was stopped."""
    if what == "meaning" and operation is not None and operation.name != "embed":
        return f"all is stored and found by its words; {done} of {total} vectors are made, recollect embed goes on"
    told = operation.traits.stopped if operation is not None else ""
    return told.format(done=max(0, done - 1), total=total) or WHOLE


def _width() -> int:
    from shutil import get_terminal_size  # noqa: PLC0415  (a pipe has no width)

    return get_terminal_size().columns


# --- where commands begin -------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; errors are one line and an exit code, never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # half characters are written as JSON writes them
    with visible_streams():
        run(words)


def run(words: list[str]) -> None:
    """Run a command whose streams are ready; every error ends in one line and an exit code."""
    try:
        from recollect.surfaces.program import run_program  # noqa: PLC0415  (it builds on this module)

        run_program(words)
    except KeyboardInterrupt:
        _stop(WHOLE)
    except Exception as error:  # noqa: BLE001  (the last door: whatever it is, people get one line)
        if type(error).__name__ == "Abort":  # of click, which may not be loaded
            _stop(WHOLE if error.__cause__ else "nothing was changed")
        complain(error, as_json="--json" in words)


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """End quietly when nobody reads the output any more."""
    try:
        yield
    except BrokenPipeError:
        # what is left in the buffers has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(told: str) -> NoReturn:
    _tell("stopped", told)
    sys.exit(EXIT_STOPPED)


def say(text: str, *, err: bool = False) -> None:
    """Write *text* and a line break; the stream makes it visible."""
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n")
    stream.flush()


def show(page: Page, *, err: bool = False) -> None:
    """Write *page*, wrapped to the width of the terminal."""
    write_rows(sys.stderr if err else sys.stdout, folded(page, _width()))


def _tell(kind: str, told: str) -> None:
    """Write a line about what happened to standard error, its kind before it."""
    if is_screen(sys.stderr):
        head = Piece(f"{kind}: ", "bad" if kind == "error" else "title")
        show((line(head, visible_line(told), hang=2),), err=True)
    else:
        say(visible_line(f"{kind}: {told}"), err=True)


def _understood(error: Exception) -> RecollectError:
    """Return *error* as one of ours."""
    if isinstance(error, RecollectError):
        return error
    if "click" in sys.modules:
        from recollect.surfaces.program import refused  # noqa: PLC0415

        if told := refused(error):
            return told
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return RecollectError(
        f"something unforeseen happened{where}: {said}", hint="nothing stored is lost; please report it"
    )


def complain(failure: Exception, *, as_json: bool = False) -> NoReturn:
    """Say what went wrong in one line, and leave with its exit code."""
    from recollect.serialize import error_value  # noqa: PLC0415

    error = _understood(failure)
    hint = f" ({error.hint})" if error.hint else ""
    if as_json:
        say(json.dumps(error_value(error), ensure_ascii=False), err=True)
    else:
        _tell("error", f"{error}{hint}")
    sys.exit(error.exit_code)
