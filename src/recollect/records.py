"""The frozen values that travel through the whole system."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import ClassVar, Final, Literal, NamedTuple

from msgspec import Struct, field

from recollect.arguments import fit

NEVER: Final = datetime.fromtimestamp(0, UTC)
NOTHING: Final[Mapping[str, object]] = MappingProxyType({})

Form = Literal["stem", "exact"]
Trust = Literal["owner", "agent", "untrusted"]
Verdict = Literal["used", "useful", "wrong"]
"""What became of a recalled memory."""
Decision = Literal["distinct", "identical", "restates", "updates", "conflicts"]

Progress = Callable[[int, int, str], None]
"""Told how much is done, of how much, and what: the one type of every long job."""

FIELDS: Final = ("title", "body", "before", "after", "around", "section", "tags", "path", "date", "extra")
"""The columns of the keyword index: where a word may stand, and so what it may weigh."""


OBSERVED_FROM: Final = "observed_from"
"""The key in the metadata that tells where a memory has its date from, if not from what it says."""
MTIME: Final = "mtime"
"""Its value where the date is that of the file; a weak one: it orders, filters and is shown, no more."""


GLOBAL: Final = "global"
"""The project of what holds in all of a person's projects."""
STATEMENT_TYPES: Final = ("decision", "preference", "gotcha", "procedure", "fact")
"""The types of statements that are distilled from recorded sessions; the turns themselves have none of them."""
DISTILLED: Final = "distilled_from"
"""The key in the metadata of a statement that names the turn it was distilled from."""


class Compared(Struct, frozen=True, kw_only=True):
    """A value that is equal to another whatever the fields in `_not_compared` hold."""

    _not_compared: ClassVar[frozenset[str]] = frozenset({"version"})

    def _compared(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in self._not_compared)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())


class Context(Struct, frozen=True, kw_only=True):
    """What stood around a memory where it was found: the turns before and after it, and those beyond."""

    before: str = ""
    after: str = ""
    around: str = ""


class Memory(Struct, frozen=True, kw_only=True):
    """One remembered thing; its id is 0 until a store has given it one."""

    json_members: ClassVar[str] = (
        "id external_id kind project type title content tags source line section confidence pinned "
        "created_at updated_at observed_at superseded_by metadata origin?"
    )

    content: str
    id: int = 0
    external_id: str | None = None
    kind: str = "memory"
    project: str = "default"
    type: str = "note"
    title: str = ""
    tags: tuple[str, ...] = ()
    source: str | None = None
    line: int | None = None
    section: str | None = None
    confidence: float = 0.8
    pinned: bool = False
    trust: Trust = "owner"
    thread: str | None = None
    turn: int | None = None
    context: Context = Context()
    metadata: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    created_at: datetime = NEVER
    updated_at: datetime = NEVER
    observed_at: datetime | None = None
    deleted_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    superseded_by: int | None = None
    superseded_at: datetime | None = None

    @property
    def stated_at(self) -> datetime | None:
        """When it was observed as far as it says so itself; the date of its file is no statement."""
        return None if self.metadata.get(OBSERVED_FROM) == MTIME else self.observed_at

    @property
    def when(self) -> datetime:
        """When it was true: the date it speaks of, else the date it was written down."""
        return self.observed_at or self.created_at

    @property
    def origin(self) -> Trust | None:
        """Whose word it is, where that is not the owner's."""
        return None if self.trust == "owner" else self.trust

    @property
    def digest(self) -> bytes:
        """What its words are known by; runs of white space do not matter."""
        return digest(self.content)

    @property
    def heading(self) -> str:
        """What stands above its words for an embedder: the title, on a line of its own."""
        return f"{self.title}\n" if self.title else ""

    @property
    def meaning(self) -> bytes:
        """What its vectors were made from: title and words."""
        return digest(self.heading + self.content)


class Outline(NamedTuple):
    """What ranking looks at of a memory; a named tuple, as hundreds are made for each search."""

    id: int
    kind: str
    project: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    source: str | None
    confidence: float
    pinned: bool
    trust: Trust
    thread: str | None
    turn: int | None
    created_at: datetime
    when: datetime
    superseded_by: int | None


class Traits(NamedTuple):
    """What weighing looks at of a memory whose text nobody reads; a named tuple, as hundreds are made for a search."""

    id: int
    project: str
    type: str
    confidence: float
    pinned: bool
    thread: str | None
    created_at: datetime


_BLANKS: Final = "".join(" " if chr(code).isspace() else chr(code) for code in range(128))


def digest(text: str) -> bytes:
    """Return what *text* is known by; runs of white space do not matter."""
    if text.isascii():
        words = text.translate(_BLANKS).strip(" ")
        while "  " in words:
            words = words.replace("  ", " ")
    else:
        words = " ".join(text.split())
    from hashlib import blake2b  # noqa: PLC0415  (it loads OpenSSL, and a search needs none)

    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Event(Struct, frozen=True, kw_only=True):
    """One change of one memory."""

    json_members: ClassVar[str] = "verb at detail"

    memory_id: int
    verb: str
    at: datetime
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class Recovery(Struct, frozen=True, kw_only=True):
    """What was saved of a damaged store."""

    saved: Mapping[str, int]
    """How many rows, by table."""
    lost: tuple[int, ...] = ()
    """Memories of which something tells and that cannot be read."""
    changed: tuple[int, ...] = ()
    """Memories whose words are as they were, and not all of their other fields."""
    torn: tuple[str, ...] = ()
    """The tables that cannot be read whole."""
    aside: int = 0
    """How many rows are not as they were written, and therefore not in the new store."""
    aside_path: str | None = None
    """The file they were put in."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.lost or self.changed or self.torn or self.aside)


class Moved(Struct, frozen=True, kw_only=True):
    """What was copied from one store to another, and compared there."""

    rows: Mapping[str, int]
    """How many rows, by table."""
    resumed: int = 0
    """How many of them an earlier try had brought."""
    left_behind: bool = False
    """Whether the old store was written to meanwhile: what came later is not in the new one."""


class Fact(Struct, frozen=True, kw_only=True):
    """What a memory states: subject, predicate, object; how sure it is, and how fast that fades."""

    json_members: ClassVar[str] = "id subject predicate object type confidence memory_id quote"

    subject: str
    predicate: str
    object: str
    type: str
    confidence: float
    decay_rate: float
    quote: str = ""
    id: int = 0
    memory_id: int = 0
    last_reinforced: datetime = NEVER
    state: Literal["active", "superseded"] = "active"


def facts_by_memory(facts: Iterable[Fact]) -> dict[int, tuple[Fact, ...]]:
    """Return *facts* by the memory that states them, each memory's in the order of their ids."""
    groups: dict[int, list[Fact]] = {}
    for fact in sorted(facts, key=lambda fact: fact.id):
        groups.setdefault(fact.memory_id, []).append(fact)
    return {row: tuple(group) for row, group in groups.items()}


# --- questions to a store and its answers -----------------------------------------------------


class Scope(Struct, frozen=True, kw_only=True):
    """Which projects a reader may see; part of every question. None means all of them."""

    projects: frozenset[str] | None = None

    def narrowed(self, projects: Iterable[str] | None) -> "Scope":
        """Return the scope of those *projects* that this one has, too; None names no projects and narrows nothing."""
        if projects is None:
            return self
        wanted = frozenset(projects)
        return Scope(projects=wanted if self.projects is None else self.projects & wanted)


ALL_PROJECTS: Final = Scope()


class Filter(Struct, frozen=True, kw_only=True):
    """Which memories a reader wants. None leaves a field open; an empty tuple matches nothing.

    A source matches when it equals the wish, lies below it as a folder, or holds it between its slashes: "notes" is
    the folder of "/ada/notes/a.md" and not of "/ada/mynotes/a.md".
    Dates compare with `Memory.when`: since <= when < until. A fact type is that of one of its facts.

    *as_of* asks for what was believed at that moment: recorded by then or dated by its writer, not forgotten or
    superseded until later, and within the time it is valid for. What is dated supersedes from its date on. Words
    are those of today: an edit is a correction, and only what supersedes changes a belief.
    """

    kinds: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    sources: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    include_superseded: bool = False
    fact_types: tuple[str, ...] | None = None
    as_of: datetime | None = None
    pinned: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what is not of its type; a moment without a time zone is read as UTC."""
        fit(self)


NO_FILTER: Final = Filter()


class FilterField(Struct, frozen=True, kw_only=True):
    """One name by which memories are filtered, boosted and counted: the same in queries, options, lenses and SQL."""

    key: str
    """What it is called: `type:decision` in a query, `--type decision`, a boost `type:decision=2`, the facet `type`."""
    name: str
    """Its field in `Filter` and in a lens; `projects` narrows the scope instead."""
    match: Literal["attribute", "tag", "path", "fact", "scope"] = "attribute"
    """Whether it compares an attribute of the memory, one of its tags, its source as a path, its facts, the scope."""
    about: str = ""


FILTER_FIELDS: Final = (
    FilterField(key="type", name="types", about="only memories of this type: note, decision, gotcha, preference, …"),
    FilterField(key="tag", name="tags", match="tag", about="only memories with this tag"),
    FilterField(key="project", name="projects", match="scope", about="only memories of this project"),
    FilterField(key="source", name="sources", match="path", about="only memories from this file or folder"),
    FilterField(key="kind", name="kinds", about="only memories of this kind"),
    FilterField(key="fact_type", name="fact_types", match="fact", about="only memories stating a fact of this type"),
)
"""The one table of filters by name; dates and supersession are fields of `Filter` alone."""


class Word(Struct, frozen=True, kw_only=True, gc=False):
    """A token of the index."""

    text: str
    form: Form = "stem"
    weight: float = 1.0


class Prefix(Struct, frozen=True, kw_only=True, gc=False):
    """Every exact form that begins with *text*."""

    text: str
    weight: float = 1.0


class Phrase(Struct, frozen=True, kw_only=True, gc=False):
    """Exact forms next to each other, in this order, in one field."""

    texts: tuple[str, ...]
    weight: float = 1.0


class Bigram(Struct, frozen=True, kw_only=True, gc=False):
    """Two stems next to each other, in this order, in a title or a body; a bonus that no coverage counts."""

    first: str
    second: str
    weight: float = 1.0


class AnyOf(Struct, frozen=True, kw_only=True):
    """At least one part matches; all that match add to the score."""

    parts: "tuple[Expression, ...]"


class AllOf(Struct, frozen=True, kw_only=True):
    """Every part matches."""

    parts: "tuple[Expression, ...]"


class AndNot(Struct, frozen=True, kw_only=True):
    """*wanted* matches and *unwanted* does not."""

    wanted: "Expression"
    unwanted: "Expression"


Leaf = Word | Prefix | Phrase | Bigram
Expression = Leaf | AnyOf | AllOf | AndNot


class WordQuery(Struct, frozen=True, kw_only=True):
    """A question to the keyword index, with the numbers of its BM25."""

    expression: Expression
    weights: Mapping[str, float]
    k1: float = 1.2
    b: float = 0.75
    idf: str = "fts5"
    """What a word's rarity is worth: fts5's, nothing for a word in half of the rows, or lucene's, never nothing."""


class SubstringQuery(Struct, frozen=True, kw_only=True):
    """A question to the text itself: how many of *needles* a title or content holds.

    Needles are lower case; only ASCII letters match in either case.
    """

    needles: tuple[str, ...]


class IndexHit(NamedTuple):
    """A memory that an index found, by words or by vectors.

    *score* is the BM25, the number of needles, or the cosine of the best passage; *coverage* the share of the
    question's weight it holds; *span* where the best passage stands in its content.
    """

    id: int
    score: float
    coverage: float = 0.0
    span: tuple[int, int] | None = None


class WordHits(Compared, frozen=True, kw_only=True):
    """The best matches, best first; those asked for by id; how many there are; the share of code in the scope.

    *document_frequencies* says how many memories of the scope hold each word of the question in a field that
    weighs, *version* at which version of the store all this was read.
    """

    top: tuple[IndexHit, ...] = ()
    by_id: Mapping[int, IndexHit] = field(default_factory=dict)
    total: int = 0
    code_share: float = 0.0
    document_frequencies: Mapping[str, int] = field(default_factory=dict)
    version: int = 0


class NearWord(Struct, frozen=True, kw_only=True):
    """A word of the index, how many edits away from the one asked about, and how many memories hold it."""

    text: str
    distance: int
    frequency: int


class NearWords(Struct, frozen=True, kw_only=True):
    """What lies near words, what holds parts of words, and how many memories and exact forms the scope has in all."""

    near: Mapping[str, tuple[NearWord, ...]] = field(default_factory=dict)
    holding: Mapping[str, tuple[NearWord, ...]] = field(default_factory=dict)
    documents: int = 0
    tokens: int = 0


class Position(Struct, frozen=True, kw_only=True):
    """The position of a memory in a list: newest first, and of one moment the highest id first."""

    when: datetime
    id: int

    def __post_init__(self) -> None:
        """Refuse what is not of its type; a moment without a time zone is read as UTC."""
        fit(self)


class Page(Struct, frozen=True, kw_only=True):
    """Ids, newest first, and how many there are in all."""

    ids: tuple[int, ...]
    total: int


class Conversation(Struct, frozen=True, kw_only=True):
    """One conversation: its project and thread, and when its first and its last turn were said."""

    project: str
    thread: str
    start: datetime
    end: datetime


class FactQuery(Struct, frozen=True, kw_only=True):
    """Which facts a reader wants: of these memories, about this subject or one of these (in any case), of these types.

    None leaves a field open, an empty tuple matches nothing. Facts of forgotten memories are given only on request.
    """

    memory_ids: tuple[int, ...] | None = None
    subject: str | None = None
    subjects: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None
    include_superseded: bool = False
    include_forgotten: bool = False
    limit: int | None = None


class Known(Struct, frozen=True, kw_only=True):
    """What a store already holds of what is about to be written.

    By (kind, digest) the first live memory with that content or variant, by (kind, external id) any memory,
    forgotten or not, by (kind, moment of creation) all of them; *near* has, for each minhash asked about, the live
    memories that share a key with it.
    """

    by_digest: Mapping[tuple[str, bytes], int] = field(default_factory=dict)
    by_external_id: Mapping[tuple[str, str], int] = field(default_factory=dict)
    by_birth: Mapping[tuple[str, datetime], tuple[int, ...]] = field(default_factory=dict)
    near: tuple[tuple[int, ...], ...] = ()


class LogSize(Struct, frozen=True, kw_only=True):
    """How much the recall log holds: searches, about how many bytes, and since when."""

    recalls: int = 0
    bytes: int = 0
    oldest: datetime | None = None


class StoreStats(Compared, frozen=True, kw_only=True):
    """How much a store holds."""

    json_members: ClassVar[str] = (
        "memories forgotten superseded sources wordings=variants events projects types log bytes?"
    )

    _not_compared = frozenset({"bytes"})
    memories: int
    forgotten: int
    superseded: int
    projects: Mapping[str, int]
    types: Mapping[str, int]
    sources: int
    variants: int
    events: int
    log: LogSize = LogSize()
    newest: int = 0
    """The highest id that was given to a memory, whatever became of it; 0 where one project alone is seen."""
    bytes: int | None = None
    """How much room the tables take on a server; None where one project alone is seen, or where files tell."""


class TokenizedMemory(Struct, frozen=True, kw_only=True):
    """What the analyser makes of a memory: tokens by form and field, near-duplicate keys, whether it is code."""

    stem: Mapping[str, tuple[str, ...]]
    exact: Mapping[str, tuple[str, ...]]
    minhash: tuple[int, ...] = ()
    code: bool = False


# --- vectors ----------------------------------------------------------------------------------


class Passage(Struct, frozen=True, kw_only=True):
    """A piece of a memory's content, content[start:stop], and its vector: little-endian float32.

    *context_vector* is the same with the turns around it mixed in; the first passage of a turn of a conversation
    has one. A store makes it, with the weights of the generation; what is brought along is not looked at.
    """

    start: int
    stop: int
    vector: bytes
    context_vector: bytes | None = None


class EmbeddedMemory(Struct, frozen=True, kw_only=True):
    """The passages of one memory, and what they were made from, so that an edit in between is noticed."""

    memory_id: int
    meaning: bytes
    passages: tuple[Passage, ...]


EXTERNAL: Final = "external-"
"""How the fingerprint of a generation begins whose vectors callers brought; nobody could make them again."""


class Generation(Struct, frozen=True, kw_only=True):
    """The vectors that one model made: which model, how wide, of how many live memories, how many are missing.

    *context_weights* say how much of the turn before, after, second before and second after goes into the
    context vector of a turn; None leaves them as they are.
    """

    json_members: ClassVar[str] = "model dimensions memories pending"

    fingerprint: str
    dimensions: int
    model: str
    context_weights: tuple[float, ...] | None = None
    memories: int = 0
    pending: int = 0

    @property
    def is_external(self) -> bool:
        """Whether callers brought its vectors."""
        return self.fingerprint.startswith(EXTERNAL)


class VectorHits(Compared, frozen=True, kw_only=True):
    """The nearest, nearest first; those asked for by id; how many were compared, and how many had no vector."""

    top: tuple[IndexHit, ...] = ()
    by_id: Mapping[int, IndexHit] = field(default_factory=dict)
    total: int = 0
    missing: int = 0
    version: int = 0


# --- the recall log ---------------------------------------------------------------------------

RECALL_BYTES: Final = 120
"""What a search takes in a log beside its texts and hits, indexes counted in."""
HIT_BYTES: Final = 60
"""What one hit takes."""


class Recalled(Struct, frozen=True, kw_only=True):
    """One memory in an answer, with the facts it came with; not shown means a near miss."""

    json_members: ClassVar[str] = "id=memory_id rank score shown facts=fact_ids"

    memory_id: int
    rank: int
    score: float
    shown: bool
    fact_ids: tuple[int, ...] = ()


class Recall(Struct, frozen=True, kw_only=True):
    """One search: what was asked, by whom, through which lens, in which scope, and what came of it."""

    json_members: ClassVar[str] = "query session lens mode outcome at hits"

    query: str
    mode: str
    outcome: str
    at: datetime
    session: str | None = None
    lens: str | None = None
    scope: Scope = ALL_PROJECTS
    hits: tuple[Recalled, ...] = ()

    @property
    def size(self) -> int:
        """About how many bytes it takes in a log: its texts, and what every search and every hit costs."""
        texts = (self.query, self.session or "", self.lens or "")
        return RECALL_BYTES + HIT_BYTES * len(self.hits) + sum(len(text.encode("utf-8", "replace")) for text in texts)


class Usage(Struct, frozen=True, kw_only=True):
    """How often a memory was shown and nearly shown, and how often each verdict was given on it."""

    shown: int = 0
    missed: int = 0
    verdicts: Mapping[str, int] = field(default_factory=dict)


# --- writes -----------------------------------------------------------------------------------


class Insert(Struct, frozen=True, kw_only=True):
    """Keep a new memory and what it states.

    *tokens* are those the store's analyser makes of it, where the caller has them at hand already.
    """

    memory: Memory
    facts: tuple[Fact, ...] = ()
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    tokens: TokenizedMemory | None = None


class Revise(Struct, frozen=True, kw_only=True):
    """Put *memory* in the place of the one with its id; the words it had stay in the event.

    *facts* take the place of those it had; None keeps them. A fact that says the same as before stays the
    same fact, as sure and as fresh as it was.
    """

    memory: Memory
    verb: str = "update"
    facts: tuple[Fact, ...] | None = None
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class Merge(Struct, frozen=True, kw_only=True):
    """Take *wording* into memory *id*: another way to say it, found like its own words."""

    id: int
    confidence: float
    wording: str | None = None
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class Forget(Struct, frozen=True, kw_only=True):
    """Hide memory *id* from every question until it is restored."""

    id: int
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class Restore(Struct, frozen=True, kw_only=True):
    """Bring forgotten memory *id* back."""

    id: int
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)


class ReinforceFact(Struct, frozen=True, kw_only=True):
    """Say how sure fact *id* is from now on, and when it was last confirmed."""

    id: int
    confidence: float
    last_reinforced: datetime
    detail: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    logged: bool = True
    """Whether it leaves an event. Being shown by a search leaves none: events are kept for ever, searches are not."""


class Feedback(Struct, frozen=True, kw_only=True):
    """Say what became of memory *id* after it was recalled."""

    id: int
    verdict: Verdict
    session: str | None = None
    query: str | None = None


class Reinstate(Struct, frozen=True, kw_only=True):
    """Put a memory here as it was elsewhere: its dates, wordings, facts, events and vectors are kept as they are.

    It takes the place of the memory that has its id, if one has, with all that belongs to it. An id of 0, of the
    memory or of a fact, becomes a new one; another is kept. It leaves no event of its own.
    """

    memory: Memory
    wordings: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    events: tuple[Event, ...] = ()
    vectors: tuple[tuple[Generation, tuple[Passage, ...]], ...] = ()


Write = Insert | Revise | Merge | Forget | Restore | ReinforceFact | Feedback | Reinstate


# --- archives and sources -----------------------------------------------------------------------

ARCHIVE_VERSION: Final = 2
"""The form of the archives written today."""
LEDGER: Final = "injected"
"""The kind of note that holds, for each session, which memory was injected in which words."""
LAST_INJECTED: Final = "at"
"""The key of a session's ledger that is no id: when something was injected last."""
ARCHIVED_NOTES: Final = ("lens", "tuning", LEDGER)
"""The kinds of notes that an archive of everything holds."""
MEMORY_REFERENCES: Final = frozenset({"of", "proposes", "by", "into", "near"})
"""What may name another memory by its id in the detail of an event."""


class Erased(Struct, frozen=True, kw_only=True):
    """What an erasure took: the memories, the texts and vectors that were theirs, and how much beside them."""

    memories: tuple[Memory, ...] = ()
    texts: tuple[str, ...] = ()
    """Other wordings, earlier words, and what the memories stated."""
    wordings: int = 0
    events: int = 0
    facts: int = 0
    vectors: tuple[bytes, ...] = ()
    tokens: tuple[bytes, ...] = ()
    """The tokens of the memories, where a store compresses them."""
    recalls: int = 0
    """Searches taken out of the log: what found one of the memories, quotes one, or was made in a project gone."""
    sources: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Names that nothing is left of."""


class ByteSearch(Struct, frozen=True, kw_only=True):
    """Where the files of a store hold bytes that nothing in the store accounts for."""

    found: tuple[tuple[str, bytes], ...] = ()
    """The name of a file and what it holds."""
    files: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Files that stand beside the store, by their names a copy of it; they were not searched."""


class Piece(Struct, frozen=True, kw_only=True):
    """One piece of a source, and the memory that holds its words; one that is *gone* stood there once."""

    digest: bytes
    memory_id: int
    section: str | None = None
    gone: bool = False


class Source(Struct, frozen=True, kw_only=True):
    """An imported source: the fingerprint of its file, and its pieces in the order of the file.

    *device* is that of the folder it lay in, *root* the path whose import found it first; 0 and blank: nobody knows.
    """

    fingerprint: str
    pieces: tuple[Piece, ...] = ()
    device: int = 0
    root: str = ""
    stamp: str = ""
    """What the file system said of the file; while it says the same, nobody reads the file again. Blank: unknown."""

    @property
    def held(self) -> tuple[Piece, ...]:
        """The pieces that it holds now."""
        return tuple(piece for piece in self.pieces if not piece.gone)


class SourceHead(Struct, frozen=True, kw_only=True):
    """An imported source without its pieces: what is known of its file, and how many pieces it holds now."""

    fingerprint: str
    device: int = 0
    root: str = ""
    stamp: str = ""
    held: int = 0
