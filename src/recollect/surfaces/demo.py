"""A first look: a store made of the sample notes, a few searches that show what can be asked, what to try next."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from recollect.errors import InputError
from recollect.operations.importing import import_value
from recollect.recollection import open as open_recollection
from recollect.records import Progress
from recollect.remember.import_files import ImportReport
from recollect.render import text
from recollect.render.layout import Line, Page, Piece, line
from recollect.render.pages import found_page
from recollect.replies import Reply
from recollect.serialize import serialize


class Scene(Struct, frozen=True, kw_only=True):
    """One search of the demo and what it is there to show."""

    query: str
    shows: str


NEXT: Final = "What to try next"
SCENES: Final = (
    Scene(query="why do labels come out of the printer blank?", shows="Ask as you would ask a colleague."),
    Scene(query="缓存过期", shows="Chinese, Japanese and Korean need no spaces (when does the cache expire?)."),
    Scene(
        query="database type:decision since:2026-02-01",
        shows="Filters: type:, tag:, source:, project:, since:, until:.",
    ),
    Scene(query="kubernetes", shows="What nobody wrote down is not made up."),
)
"""What fits on one screen."""


class Demo(Struct, frozen=True, kw_only=True):
    """What the demo did, as text and as JSON."""

    page: Page
    value: dict[str, Any]


def run_demo(
    keep: str | None, *, profile: str | None, model: str | None, program: str, progress: Progress | None = None
) -> Demo:
    """Build the sample store, at *keep* or in a folder that is removed in the end, and search it."""
    with _place(keep) as path, resources.as_file(samples()) as folder:
        with open_recollection(path, profile=profile, model=model) as db:
            report = db.import_(folder, progress=progress)
            replies = [db.search(scene.query, limit=1) for scene in SCENES]
            count = db.stats().memories
        note = db.models.notice or next(filter(None, map(text.degraded_text, replies)), "")
        head = (line(_summary(report, count)), *([line(f"({note})")] if note else []))
        scenes = _scenes(replies, root=folder.resolve().as_posix())
        steps = _next(keep, program, by_words_alone=bool(note))
        page = (*head, *scenes, Line(), line(Piece(NEXT, "title")), *steps)
    value = {
        "store": keep,
        "import": serialize(import_value(report)),
        "searches": serialize(replies),
    }
    return Demo(page=page, value=value)


def samples() -> Any:
    """Return the folder of sample notes, wherever the package is installed."""
    return resources.files("recollect.surfaces") / "samples"


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder:
            yield Path(folder) / "demo.db"
        return
    path = Path(keep).expanduser()
    if path.exists():
        raise InputError(f"{keep} exists already", hint=f"name a new file, or look into it: recollect --db {keep} list")
    yield path


def _summary(report: ImportReport, count: int) -> str:
    return (
        f"{count} memories of a small company, imported from {report.files['imported']} files: "
        "notes, decisions, meetings, chats, tables, in three languages."
    )


def _scenes(replies: Sequence[Reply], *, root: str) -> Iterator[Line]:
    for scene, reply in zip(SCENES, replies, strict=True):
        yield Line()
        yield line(Piece(f"> recollect search {_quoted(scene.query)}", "title"))
        yield line(Piece(f"  {scene.shows}", "faint"), hang=2)
        yield from found_page(replace(reply, total=len(reply.hits)), root=root)


def _quoted(text: str) -> str:
    return f"'{text}'" if set(text) & set('"*?') else text


def _next(keep: str | None, program: str, *, by_words_alone: bool) -> Iterator[Line]:
    store = keep or "demo.db"
    steps = [
        *([] if keep else [(f"{program} demo --keep {store}", "keep the sample store")]),
        (f"{program} --db {store} list --type decision", "read what was decided"),
        *([(f"{program} model install", "search by meaning too (90 MB)")] if by_words_alone else []),
        (f"{program} import ~/notes", "your own notes, into your own store"),
        (f"{program} --help", "everything else"),
    ]
    width = max(len(command) for command, _ in steps)
    for command, about in steps:
        yield line(f"  {command:{width}}  ", Piece(about, "faint"), hang=4)
