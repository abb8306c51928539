"""Operations on memories one by one: adding, showing, listing, changing, hiding."""

from typing import Annotated, Any, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from recollect import remember
from recollect.errors import InputError
from recollect.operations.answer import (
    Answer,
    Results,
    for_each,
    listed,
    one_or_more,
    operation,
    paged,
    rendered_by,
)
from recollect.operations.fields import (
    Filtered,
    MemoryId,
    MemoryIds,
    OutputFormat,
    Session,
    Texts,
    moment,
    pairs,
)
from recollect.operations.paging import cursor_after, read_cursor
from recollect.operations.request import Call, Request, about
from recollect.operations.rights import ADDS, CHANGES, KEEPING_SECRETS, OWNER_WRITES, READS
from recollect.options import split_tags
from recollect.recollection import Recollection
from recollect.records import Memory
from recollect.render import pages, text
from recollect.render.layout import Line, Page, Piece, line
from recollect.replies import Listing, Shown
from recollect.trust import level

Trusted = Annotated[Literal["owner", "agent", "untrusted"], about("whose word it is (owner)")]
KeepSecrets = Annotated[bool, about("do not redact keys and tokens")]
NoEmbed = Annotated[bool, about("leave the vectors for later")]
Metadata = Annotated[Texts, about("KEY=VALUE (may be repeated)", metavar="KEY=VALUE")]
ABOUT = (
    *("type", "title", "source", "confidence", "external_id", "trust", "name", "description", "path"),
    "requirements",
)
"""What `Recollection.add` takes as it is given."""


class Add(
    Request,
    rights=ADDS.but(keep_secrets=KEEPING_SECRETS),
    slow=True,
    creates_store=True,
    example={"text": "We deploy on Fridays", "type": "decision", "tag": ["release"]},
):
    """What to remember, and what is known about it."""

    text: Annotated[str, about("what to remember; - reads it from standard input", place=1, words=True)]
    type: Annotated[str, about("note, decision, gotcha, preference, …")] | None = None
    title: Annotated[str, about("a title")] | None = None
    source: Annotated[str, about("where it comes from")] | None = None
    confidence: Annotated[float, about("how sure it is, from 0 to 1 (0.8)", ge=0, le=1)] | None = None
    external_id: (
        Annotated[str, about("its id in another system; adding it again updates it", metavar="NAME")] | None
    ) = None
    trust: Trusted | None = None
    name: Annotated[str, about("a name it goes by")] | None = None
    description: Annotated[str, about("a description")] | None = None
    path: Annotated[str, about("a path it is about")] | None = None
    requirements: Annotated[str, about("requirements it states")] | None = None
    tag: Annotated[Texts, about("a tag, or several with commas (may be repeated)")] = ()
    date: Annotated[str, about("the day it speaks of", metavar="DATE")] | None = None
    metadata: Metadata = ()
    keep_secrets: KeepSecrets = False
    no_embed: NoEmbed = False
    vector: (
        Annotated[
            tuple[float, ...], about("the vector to store, instead of the model's own of the text", only="program")
        ]
        | None
    ) = None


def _added_answer(result: "remember.ingest.IngestResult", _: Add, __: Call) -> "Answer[remember.ingest.IngestResult]":
    return Answer(value=result, text=lambda: text.ingest_text(result, root=text.here()))


@rendered_by(_added_answer)
def add(db: Recollection, request: Add, call: Call) -> "remember.ingest.IngestResult":
    """Remember one text."""
    known = {name: getattr(request, name) for name in ABOUT if getattr(request, name) is not None}
    known["tags"] = split_tags(request.tag)
    if request.metadata:
        known["metadata"] = pairs(request.metadata, "metadata", form="KEY=VALUE", example="team=search")
    if (observed := moment(request.date, "date", call.now)) is not None:
        known["observed_at"] = observed.start
    return db.add(
        request.text, vector=request.vector, redact=not request.keep_secrets, embed=not request.no_embed, **known
    )


class Capture(
    Request,
    rights=ADDS,
    slow=True,
    creates_store=True,
    group="agents",
    example={"text": "[MEMORY] type=gotcha: The staging database listens on port 5433"},
):
    """What an agent wrote."""

    text: Annotated[str, about("what an agent wrote; - reads it from standard input", place=1)]


class Captured(Struct, frozen=True, kw_only=True):
    """What became of each statement that was captured."""

    memories: "tuple[remember.ingest.IngestResult, ...]"


@operation
def capture(db: Recollection, request: Capture, call: Call) -> Answer[Captured]:
    """Remember what an agent wants kept: its "[MEMORY] …" lines and sentences such as "Decision: …"."""
    results = db.capture(request.text, trust=min("agent", call.trust, key=level))
    return listed(Captured(memories=results), results, text.ingest_text, empty="Nothing to remember in it.")


# --- shown ----------------------------------------------------------------------------------


class Show(Request, rights=READS, example={"id": 1}):
    """Which memories to show."""

    id: MemoryIds
    format: OutputFormat = "text"


@operation
def show(db: Recollection, request: Show, _: Call) -> Answer[Shown | Results[Shown]]:
    """Show memories with all that is known of them, and their history."""
    found = [db.show(row) for row in request.id]

    def page() -> Page:
        shown = [pages.shown_page(each, root=text.here()) for each in found]
        return shown[0] + tuple(each for one in shown[1:] for each in (Line(), *one))

    return paged(one_or_more(found), page, rows=[each.memory for each in found])


class Open(Request):
    """Whose source to open."""

    id: MemoryId


class Opened(Struct, frozen=True, kw_only=True):
    """The file that a memory comes from."""

    id: int
    source: str | None
    line: int | None
    address: str


@operation
def open_(db: Recollection, request: Open, _: Call) -> Answer[Opened]:
    """Open the file that a memory comes from, at its line, in your editor; in a pipe only say where it is."""
    memory = db.show(request.id).memory
    if not pages.address(memory):
        raise InputError(
            f"#{request.id} comes from no file", hint=f"see what is known of it: recollect show {request.id}"
        )
    value = Opened(id=request.id, source=memory.source, line=memory.line, address=pages.address(memory))
    return paged(value, lambda: (line(Piece(text.place_of(memory), link=pages.address(memory))),))


class List(Filtered, rights=READS, example={"limit": 20, "tag": ["release"]}):
    """Which memories to list."""

    limit: Annotated[int, about("how many (20)", ge=1, short="n")] = 20
    offset: Annotated[int, about("how many to pass over", ge=0)] = 0
    cursor: (
        Annotated[str, about("continue after the page that returned this as next_cursor", only="program")] | None
    ) = None
    format: OutputFormat = "text"


@operation
def list_(db: Recollection, request: List, call: Call) -> Answer[Listing]:
    """List memories, newest first."""
    if request.cursor is not None and request.offset:
        raise InputError("give a cursor, or an offset", hint="a cursor is next_cursor of the page before")
    filters = asdict(replace(request, limit=1, offset=0, cursor=None, format="text"))
    after = None if request.cursor is None else read_cursor(request.cursor, filters)
    listing = db.list(where=request.where(call.now), limit=request.limit + 1, offset=request.offset, after=after)
    if len(listing.memories) > request.limit:
        shown = listing.memories[: request.limit]
        listing = replace(listing, memories=shown, next_cursor=cursor_after(shown[-1], filters))
    return paged(
        listing,
        lambda: pages.listing_page(listing, offset=request.offset),
        rows=listing.memories,
        found=bool(listing.memories),
    )


class Timeline(Request, rights=READS, example={"query": "deploy"}):
    """What the timeline is about."""

    query: Annotated[str, about("what about (everything)", place=1, words=True)] = ""
    limit: Annotated[int, about("how many (50)", ge=1, short="n")] = 50
    format: OutputFormat = "text"


class Memories(Struct, frozen=True, kw_only=True):
    """Memories in the order that was asked for."""

    memories: tuple[Memory, ...]


@operation
def timeline(db: Recollection, request: Timeline, _: Call) -> Answer[Memories]:
    """Show memories oldest first, superseded ones too."""
    found = db.timeline(request.query, limit=request.limit)
    return paged(Memories(memories=found), lambda: pages.timeline_page(found), rows=found, found=bool(found))


# --- changed --------------------------------------------------------------------------------


class Changed(Struct, frozen=True, kw_only=True):
    """A memory, and what happened to it."""

    id: int
    event: str


class Forget(Request, rights=CHANGES, example={"id": 1}):
    """Which memories to hide."""

    id: MemoryIds


@operation
def forget(db: Recollection, request: Forget, call: Call) -> Answer[Changed | Results[Changed]]:
    """Hide memories from every search until they are restored."""
    db.forget(*request.id, trust=call.trust)
    return for_each(
        [Changed(id=row, event="forget") for row in request.id],
        lambda each: f"#{each.id} forgotten; bring it back with: recollect restore {each.id}",
    )


class Restore(Request, rights=CHANGES, example={"id": 1}):
    """Which memories to bring back."""

    id: MemoryIds


@operation
def restore(db: Recollection, request: Restore, call: Call) -> Answer[Changed | Results[Changed]]:
    """Bring back memories that were forgotten or superseded."""
    db.restore(*request.id, trust=call.trust)
    return for_each([Changed(id=row, event="restore") for row in request.id], lambda each: f"#{each.id} restored")


class Pin(Request, rights=OWNER_WRITES, example={"id": [1, 2]}):
    """Which memories to pin."""

    id: MemoryIds
    off: Annotated[bool, about("let it age again")] = False


class Pinned(Struct, frozen=True, kw_only=True):
    """Whether a memory is pinned."""

    id: int
    pinned: bool


@operation
def pin(db: Recollection, request: Pin, _: Call) -> Answer[Pinned | Results[Pinned]]:
    """Keep memories from ageing."""
    pinned = not request.off
    db.pin(*request.id, pinned=pinned)
    state = "pinned" if pinned else "not pinned"
    return for_each([Pinned(id=row, pinned=pinned) for row in request.id], lambda each: f"#{each.id} is {state}")


class Edit(
    Request,
    rights=CHANGES.but(keep_secrets=KEEPING_SECRETS),
    example={"id": 1, "content": "We deploy on Fridays before noon"},
):
    """Which memory to change, and how."""

    id: MemoryId
    content: Annotated[str, about("the new text; - reads it from standard input")] | None = None
    title: Annotated[str, about("the new title")] | None = None
    type: Annotated[str, about("the new type")] | None = None
    tag: Annotated[Texts, about("the tags it has from now on (may be repeated; see also: tag)")] = ()
    date: Annotated[str, about("the day it speaks of", metavar="DATE")] | None = None
    source: Annotated[str, about("where it comes from")] | None = None
    confidence: Annotated[float, about("how sure it is, from 0 to 1", ge=0, le=1)] | None = None
    metadata: Annotated[Texts, about("KEY=VALUE (may be repeated); the other keys stay", metavar="KEY=VALUE")] = ()
    keep_secrets: KeepSecrets = False
    no_embed: NoEmbed = False


@operation
def edit(db: Recollection, request: Edit, call: Call) -> "Answer[remember.edit.EditResult]":
    """Change a memory, in your editor or by options; what it said before stays in its history."""
    names = ("content", "title", "type", "source", "confidence")
    changes: dict[str, Any] = {name: getattr(request, name) for name in names if getattr(request, name) is not None}
    if request.tag:
        changes["tag"] = split_tags(request.tag)
    if request.metadata:
        added = pairs(request.metadata, "metadata", form="KEY=VALUE", example="team=search")
        changes["metadata"] = {**db.show(request.id).memory.metadata, **added}
    if (observed := moment(request.date, "date", call.now)) is not None:
        changes["date"] = observed.start
    if not changes:
        raise InputError("nothing to change", hint="say what, such as --content TEXT or --type decision")
    done = db.edit(request.id, **changes, redact=not request.keep_secrets, embed=not request.no_embed)
    return Answer(value=done, text=lambda: text.edit_text(done, root=text.here()))


class Tag(Request, rights=CHANGES, example={"id": 1, "add": ["release"]}):
    """Which memories get and lose which tags."""

    id: MemoryIds
    add: Annotated[Texts, about("a tag to give, or several with commas (may be repeated)")] = ()
    remove: Annotated[Texts, about("a tag to take away, or several with commas (may be repeated)")] = ()


@operation
def tag(
    db: Recollection, request: Tag, _: Call
) -> "Answer[remember.edit.EditResult | Results[remember.edit.EditResult]]":
    """Give memories tags, or take tags away."""
    more, less = split_tags(request.add), split_tags(request.remove)
    if not (more or less):
        raise InputError("no tag is given", hint="such as: recollect tag 26 27 --add release --remove draft")
    return for_each(db.tag(*request.id, add=more, remove=less), text.tag_text)


class Supersede(Request, rights=CHANGES, example={"id": 1, "by": 2}):
    """Which memory is replaced, and by which."""

    id: MemoryId
    by: Annotated[int, about("the id of the newer memory", place=2, is_id=True)]
    keep_wording: Annotated[bool, about("keep its text as another wording of the newer memory")] = False


class Superseded(Struct, frozen=True, kw_only=True):
    """A memory, and the memory that replaced it."""

    id: int
    superseded_by: int


@operation
def supersede(db: Recollection, request: Supersede, call: Call) -> Answer[Superseded]:
    """Replace one memory by another, and hide it from searches."""
    db.supersede(request.id, request.by, keep_wording=request.keep_wording, trust=call.trust)
    value = Superseded(id=request.id, superseded_by=request.by)
    return Answer(value=value, text=lambda: f"#{request.id} is superseded by #{request.by}")


class Feedback(Request, rights=replace(ADDS, trust="agent"), group="agents", example={"id": 1, "verdict": "useful"}):
    """Which memory is judged, and how."""

    id: MemoryId
    verdict: Annotated[Literal["used", "useful", "wrong"], about("used, useful or wrong", place=2)]
    session: Session | None = None
    query: Annotated[str, about("the query that found it")] | None = None


class Judged(Struct, frozen=True, kw_only=True):
    """A memory, and the verdict on it."""

    id: int
    verdict: str


@operation
def feedback(db: Recollection, request: Feedback, call: Call) -> Answer[Judged]:
    """Say whether a memory that was found was used, useful or wrong; `tune` learns from it."""
    db.feedback(request.id, request.verdict, session=request.session, query=request.query, trust=call.trust)
    value = Judged(id=request.id, verdict=request.verdict)
    return Answer(value=value, text=lambda: f"#{request.id}: {request.verdict}")
