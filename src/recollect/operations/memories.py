"""Operations on memories one by one: adding, showing, listing, changing, hiding."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from recollect import recall, remember
from recollect.errors import InputError
from recollect.filters import dated, split_tags
from recollect.operations.answer import (
    CONFIRMS,
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
    pairs,
)
from recollect.operations.paging import cursor_after, read_cursor
from recollect.operations.request import Call, Request, with_values
from recollect.operations.rights import ADDS, CHANGES, KEEPING_SECRETS, OWNER_WRITES, READS
from recollect.parameters import about
from recollect.records import Feedback as FeedbackWrite
from recollect.records import Filter, Memory
from recollect.records import Forget as ForgetWrite
from recollect.render import pages, text
from recollect.render.layout import Line, Page, Piece, line
from recollect.replies import Listing, Shown
from recollect.replies import Request as EngineRequest
from recollect.trust import level, may_change

Trusted = Annotated[Literal["owner", "agent", "untrusted"], about("whose word it is (owner)")]
KeepSecrets = Annotated[bool, about("do not redact keys and tokens", inverse="redact")]
NoEmbed = Annotated[bool, about("leave the vectors for later", inverse="embed")]
Metadata = Annotated[
    Texts | dict[str, Any],
    about("KEY=VALUE", metavar="KEY=VALUE", python="Mapping[str, object]"),
]
PYTHON_VALUES: Final = (
    *("tags", "kind", "pinned", "line", "section", "thread", "turn", "context"),
    *("created_at", "updated_at", "deleted_at", "superseded_at", "superseded_by"),
)
PYTHON_DATES: Final = ("observed_at", "valid_from", "valid_until")
"""What only programs say about a memory."""

if TYPE_CHECKING:
    from recollect.workspace import Workspace

    MemoryValues = Request
else:
    MemoryValues = with_values(Request, Memory, PYTHON_VALUES, dates=PYTHON_DATES)


class Add(
    MemoryValues,
    rights=ADDS.but(keep_secrets=KEEPING_SECRETS),
    slow=True,
    creates_store=True,
    names_project=True,
    example={"text": "We deploy on Fridays", "type": "decision", "tag": ["release"]},
):
    """What to remember, and what is known about it."""

    text: Annotated[
        str, about("what to remember; - reads it from standard input", place=1, words=True, keyword="content")
    ]
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
    requirements: Annotated[str | Texts, about("requirements it states", python="Names")] | None = None
    worker_role: Annotated[str, about("the role of the agent that wrote it", only="python")] | None = None
    tag: Annotated[Texts, about("a tag, or several with commas")] | None = None
    date: Annotated[Any, about("the day it speaks of", metavar="DATE")] | None = None
    metadata: Metadata | None = None
    keep_secrets: KeepSecrets = False
    no_embed: NoEmbed = False
    vector: (
        Annotated[
            tuple[float, ...], about("the vector to store, instead of the model's own of the text", only="program")
        ]
        | None
    ) = None


NOT_ABOUT: Final = frozenset({"project", "text", "keep_secrets", "no_embed", "vector", "metadata"})
"""Fields of `Add` that say something else than what the memory is about."""


def _added_answer(result: "remember.ingest.IngestResult", _: Add, __: Call) -> "Answer[remember.ingest.IngestResult]":
    return Answer(value=result, text=lambda: text.ingest_text(result, root=text.here()))


@rendered_by(_added_answer)
def add(db: "Workspace", request: Add, call: Call) -> "remember.ingest.IngestResult":
    """Remember one text.

    The name, description, path, worker_role and requirements go into its metadata and are searched like everything
    else. A *vector* of your own is stored with those of the model in use if it is as wide as they are, else apart;
    `search(embedding=…)` finds it.

    Example:
        >>> db.add("Backups run at night", type="config", tag="ops", date="yesterday", confidence=0.9).id
        4
        >>> db.add("Backups run at night").decision
        'identical'
    """
    values = {name: getattr(request, name) for name in request.__struct_fields__ if name not in NOT_ABOUT}
    known = dated({name: value for name, value in values.items() if value is not None}, now=call.now)
    if request.metadata is not None:
        known["metadata"] = _metadata(request.metadata)
    draft = remember.clean.draft(request.text, {"project": request.project or db.project or "default", **known})
    (result,) = db.add_all(
        [draft], vectors=[request.vector], redact=not request.keep_secrets, embed=not request.no_embed
    )
    return result


def _metadata(given: Texts | dict[str, Any]) -> Mapping[str, object]:
    """Return metadata as a mapping; a terminal gives it as texts KEY=VALUE."""
    return given if isinstance(given, dict) else pairs(given, "metadata", form="KEY=VALUE", example="team=search")


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
    no_embed: NoEmbed = False


class Captured(Struct, frozen=True, kw_only=True):
    """What became of each statement that was captured."""

    memories: "tuple[remember.ingest.IngestResult, ...]"


@operation
def capture(db: "Workspace", request: Capture, call: Call) -> Answer[Captured]:
    """Remember what an agent wants kept: its "[MEMORY] …" lines and sentences such as "Decision: …".

    Example:
        >>> said = "[MEMORY] type=gotcha: The cache must be cleared after each deploy"
        >>> [db.show(each.id).memory.type for each in db.capture(said)]
        ['gotcha']
    """
    drafts = db._ingest_context(embed=False, trust=min("agent", call.trust, key=level)).captured(request.text)
    results = db.add_all(drafts, embed=not request.no_embed) if drafts else ()
    return listed(Captured(memories=results), results, text.ingest_text, empty="Nothing to remember in it.")


# --- shown ----------------------------------------------------------------------------------


class Show(Request, rights=READS, example={"id": 1}):
    """Which memories to show."""

    id: MemoryIds
    format: OutputFormat = "text"


@operation
def show(db: "Workspace", request: Show, _: Call) -> Answer[Shown | Results[Shown]]:
    """Show memories with all that is known of them, and their history."""
    found = [db.show(row) for row in request.id]

    def page() -> Page:
        shown = [pages.shown_page(each, root=text.here()) for each in found]
        return shown[0] + tuple(each for one in shown[1:] for each in (Line(), *one))

    return paged(one_or_more(found), page, rows=[each.memory for each in found])


class Open(Request, verb="show open", in_python=False):
    """Whose source to open."""

    id: MemoryId


class Opened(Struct, frozen=True, kw_only=True):
    """The file that a memory comes from."""

    id: int
    source: str | None
    line: int | None
    address: str


@operation
def open_(db: "Workspace", request: Open, _: Call) -> Answer[Opened]:
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
def list_(db: "Workspace", request: List, call: Call) -> Answer[Listing]:
    """List memories, newest first.

    Example:
        >>> [memory.id for memory in db.list(type=["decision", "config"]).memories]
        [2, 1]
    """
    if request.cursor is not None and request.offset:
        raise InputError("give a cursor, or an offset", hint="a cursor is next_cursor of the page before")
    filters = asdict(replace(request, limit=1, offset=0, cursor=None, format="text"))
    after = None if request.cursor is None else read_cursor(request.cursor, filters)
    most, passed = (max(0, min(number, 2**62)) for number in (request.limit, request.offset))
    where, scope = request.filter_for(call.now), db.scope
    page = db.store.browse(scope=scope, where=where, limit=most + 1, offset=passed, after=after)
    listing = Listing(memories=tuple(db.store.load(page.ids[:most], scope=scope).values()), total=page.total)
    if len(page.ids) > most > 0:
        listing = replace(listing, next_cursor=cursor_after(listing.memories[-1], filters))
    return paged(
        listing,
        lambda: pages.listing_page(listing, offset=request.offset),
        rows=listing.memories,
        found=bool(listing.memories),
    )


class Timeline(Request, verb="list timeline", rights=READS, example={"query": "deploy"}):
    """What the timeline is about."""

    query: Annotated[str, about("what about (everything)", place=1, words=True)] = ""
    limit: Annotated[int, about("how many (50)", ge=1, short="n")] = 50
    format: OutputFormat = "text"


class Memories(Struct, frozen=True, kw_only=True):
    """Memories in the order that was asked for."""

    memories: tuple[Memory, ...]


@operation
def timeline(db: "Workspace", request: Timeline, _: Call) -> Answer[Memories]:
    """Show memories oldest first, superseded ones too.

    Example:
        >>> [memory.when.day for memory in db.timeline()]
        [10, 20, 30]
    """
    asked = EngineRequest(
        text=request.query, scope=db.scope, where=Filter(include_superseded=True), limit=request.limit
    )
    memories = [hit.memory for hit in db._ask(asked).hits]
    found = tuple(sorted(memories, key=lambda memory: (memory.when, memory.id)))
    return paged(Memories(memories=found), lambda: pages.timeline_page(found), rows=found, found=bool(found))


# --- changed --------------------------------------------------------------------------------


class Changed(Struct, frozen=True, kw_only=True):
    """A memory, and what happened to it."""

    method_returns: ClassVar[str] = CONFIRMS

    id: int
    event: str


class Forget(Request, rights=CHANGES, example={"id": 1}):
    """Which memories to hide."""

    id: MemoryIds
    reason: Annotated[str, about("why; it stays in their history")] = ""


@operation
def forget(db: "Workspace", request: Forget, call: Call) -> Answer[Changed | Results[Changed]]:
    """Hide memories from every search until they are restored.

    All of them or none. What the owner forgot, callers of less *trust* can neither restore nor add again in the same
    words.

    Example:
        >>> db.forget(2, reason="the server is gone")
        >>> db.search("staging", mode="keyword").hits
        ()
    """
    reason = {"reason": remember.redact.redact_text(request.reason).text} if request.reason else {}
    detail = reason if call.trust == "owner" else {**reason, "trust": call.trust}
    with db.store.transaction(db._projects(request.id)):
        db._change(request.id, lambda memory: ForgetWrite(id=memory.id, detail=detail))
        if call.trust == "owner":
            remember.forgotten.note_forgotten(db._several(request.id), db.store)
    return for_each(
        [Changed(id=row, event="forget") for row in request.id],
        lambda each: f"#{each.id} forgotten; bring it back with: recollect restore {each.id}",
    )


class Restore(Request, rights=CHANGES, example={"id": 1}):
    """Which memories to bring back."""

    id: MemoryIds


@operation
def restore(db: "Workspace", request: Restore, call: Call) -> Answer[Changed | Results[Changed]]:
    """Bring back memories that were forgotten or superseded.

    All of them or none. A caller of less *trust* than whoever hid one of them is refused.

    Example:
        >>> db.forget(1)
        >>> db.restore(1)
        >>> [hit.id for hit in db.search("deploy").hits]
        [1]
    """
    with db.store.transaction(db._projects(request.id)):
        memories = db._several(request.id)
        if call.trust != "owner":
            remember.forgotten.refuse_restoring(memories, db.store, call.trust)
        db._change(request.id, remember.clean.restoring)
        remember.forgotten.drop_notes(memories, db.store)
    return for_each([Changed(id=row, event="restore") for row in request.id], lambda each: f"#{each.id} restored")


class Pin(Request, rights=OWNER_WRITES, example={"id": [1, 2]}):
    """Which memories to pin."""

    id: MemoryIds
    off: Annotated[bool, about("let it age again", inverse="pinned")] = False


class Pinned(Struct, frozen=True, kw_only=True):
    """Whether a memory is pinned."""

    method_returns: ClassVar[str] = CONFIRMS

    id: int
    pinned: bool


@operation
def pin(db: "Workspace", request: Pin, _: Call) -> Answer[Pinned | Results[Pinned]]:
    """Keep memories from ageing.

    Example:
        >>> db.pin(1)
        >>> db.show(1).memory.pinned
        True
    """
    pinned = not request.off
    db._change(request.id, lambda memory: remember.clean.pinning(memory, pinned=pinned))
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
    tag: Annotated[Texts, about("the tags it has from now on; see also: tag")] | None = None
    date: Annotated[Any, about("the day it speaks of", metavar="DATE")] | None = None
    source: Annotated[str, about("where it comes from")] | None = None
    confidence: Annotated[float, about("how sure it is, from 0 to 1", ge=0, le=1)] | None = None
    metadata: Metadata | None = None
    keep_secrets: KeepSecrets = False
    no_embed: NoEmbed = False


@operation
def edit(db: "Workspace", request: Edit, call: Call) -> "Answer[remember.edit.EditResult]":
    """Change a memory, in your editor or by options; what it said before stays in its history.

    It is found by its new words.

    Example:
        >>> db.edit(1, content="We deploy on Thursdays", tag="release, weekly", date="2026-05-01").changed
        ('content', 'observed_at', 'tags')
    """
    names = ("content", "title", "type", "source", "confidence", "tag", "date")
    changes: dict[str, Any] = {name: getattr(request, name) for name in names if getattr(request, name) is not None}
    if isinstance(request.metadata, dict):
        changes["metadata"] = request.metadata
    elif request.metadata is not None:  # the other keys stay
        changes["metadata"] = {**db.show(request.id).memory.metadata, **_metadata(request.metadata)}
    if not changes:
        raise InputError("nothing to change", hint="say what, such as --content TEXT or --type decision")
    with db.store.transaction(db._projects([request.id])):
        context = db._ingest_context(embed=False, redact=not request.keep_secrets)
        done = remember.edit.edit(db._one(request.id), dated(changes, now=call.now), context)
    if not request.no_embed and {"content", "title"} & set(done.changed):
        done = replace(done, degraded=db._embed_if_possible(None))
    return Answer(value=done, text=lambda: text.edit_text(done, root=text.here()))


class Tag(Request, rights=CHANGES, example={"id": 1, "add": ["release"]}):
    """Which memories get and lose which tags."""

    id: MemoryIds
    add: Annotated[Texts, about("a tag to give, or several with commas")] = ()
    remove: Annotated[Texts, about("a tag to take away, or several with commas")] = ()


@operation
def tag(
    db: "Workspace", request: Tag, _: Call
) -> "Answer[remember.edit.EditResult | Results[remember.edit.EditResult]]":
    """Give memories tags, or take tags away."""
    more, less = split_tags(request.add), split_tags(request.remove)
    if not (more or less):
        raise InputError("no tag is given", hint="such as: recollect tag 26 27 --add release --remove draft")
    return for_each(db.tag(*request.id, add=more, remove=less), text.tag_text)


class Supersede(Request, verb="edit supersede", rights=CHANGES, example={"id": 1, "by": 2}):
    """Which memory is replaced, and by which."""

    id: MemoryId
    by: Annotated[int, about("the id of the newer memory", place=2, is_id=True)]
    keep_wording: Annotated[bool, about("keep its text as another wording of the newer memory")] = False


class Superseded(Struct, frozen=True, kw_only=True):
    """A memory, and the memory that replaced it."""

    method_returns: ClassVar[str] = CONFIRMS

    id: int
    superseded_by: int


@operation
def supersede(db: "Workspace", request: Supersede, call: Call) -> Answer[Superseded]:
    """Replace one memory by another, and hide it from searches.

    Example:
        >>> new = db.add("Releases leave on Thursdays")
        >>> db.supersede(1, new.id)
        >>> db.show(1).memory.superseded_by == new.id
        True
    """
    with db.store.transaction(db._projects([request.id, request.by])):
        old, new = db._one(request.id), db._one(request.by)
        write = remember.clean.superseding(old, new, successors=db._successors(new))
        wordings = [remember.clean.merging(old, new)] if request.keep_wording else []
        detail = {} if call.trust == "owner" else {"trust": call.trust}
        db.store.apply([*wordings, replace(write, detail=detail)], at=call.now)
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

    method_returns: ClassVar[str] = CONFIRMS

    id: int
    verdict: str


@operation
def feedback(db: "Workspace", request: Feedback, call: Call) -> Answer[Judged]:
    """Say whether a memory that was found was used, useful or wrong; `tune` learns from it.

    The verdict of a caller who is trusted less than the writer is noted, and changes no fact.

    Example:
        >>> db.feedback(1, "useful", session="monday")
        >>> [event.verb for event in db.show(1).events]
        ['add', 'feedback']
    """
    memory = db._one(request.id)
    query = request.query and remember.redact.redact_text(request.query).text
    noted = FeedbackWrite(id=request.id, verdict=request.verdict, session=db._named(request.session), query=query)
    moved = db._facts_of(request.id) if may_change(call.trust, memory) else ()
    db.store.apply([noted, *recall.log.reinforced(moved, request.verdict, now=call.now)], at=call.now)
    value = Judged(id=request.id, verdict=request.verdict)
    return Answer(value=value, text=lambda: f"#{request.id}: {request.verdict}")
