"""Read judged collections: the BEIR layout, LongMemEval's own JSON and LoCoMo's own JSON.

A query that no document answers and that is not marked unanswerable cannot be scored, so it is left out.
"""

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.errors import FileError
from recollect.lazy import regex
from recollect.records import Memory
from recollect.text.dates import as_moment

Split = Literal["dev", "test", "all"]
Judgements = Mapping[str, Mapping[str, int]]

_LAYOUT: Final = "a dataset is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv, or one JSON file"
_TYPO: Final = "_typo"
_DATE_KEYS: Final = ("date_time", "said_at", "timestamp", "date")
_parse_date: Final = lru_cache(maxsize=4096)(as_moment)
_SESSION: Final = regex(r"session_(\d+)")
_TURN_ID: Final = regex(r"D:?(\d+):(\d+)")
_CATEGORIES: Final = MappingProxyType(
    {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
)


class Document(Struct, frozen=True, kw_only=True):
    """One text that may be found; *group* is the conversation it belongs to, and so its scope."""

    id: str
    text: str
    title: str = ""
    group: str | None = None
    session: str | None = None
    turn: int | None = None
    speaker: str | None = None
    said_at: datetime | None = None

    @property
    def thread(self) -> str | None:
        """The session it was said in, named unlike those of other groups; None outside a session."""
        return self.session if self.session is None or self.group is None else f"{self.group}/{self.session}"


class EvalQuery(Struct, frozen=True, kw_only=True):
    """One question, asked within *group* (everywhere when None); an *unanswerable* one deserves silence."""

    id: str
    text: str
    group: str | None = None
    category: str | None = None
    asked_at: datetime | None = None
    unanswerable: bool = False


class Dataset(Struct, frozen=True, kw_only=True):
    """Documents, queries and which answers which (query id -> document id -> gain); the SHA-256 of each file."""

    name: str
    documents: tuple[Document, ...]
    queries: tuple[EvalQuery, ...]
    judgements: Judgements
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """The SHA-256 of its only file, or of the list that sha256sum would print of its files."""
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest() if len(self.files) != 1 else next(iter(self.files.values()))

    def project_of(self, group: str | None) -> str:
        """Return the project in which the documents of *group* are kept."""
        return self.name if group is None else group


def read_dataset(folder: Path) -> Dataset:
    """Read the collection at *folder*: the BEIR layout, or the JSON file of LongMemEval or LoCoMo."""
    try:
        source = _source(folder.resolve())
        return _scorable(_read_beir(source) if source.is_dir() else _read_array(source))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {folder}: {error}", hint=_LAYOUT) from error


def as_memories(dataset: Dataset) -> tuple[Memory, ...]:
    """Return the documents as memories to be written; a document without any words is left out."""
    return tuple(
        Memory(
            external_id=document.id,
            content=_said(document) if document.text.strip() else document.title,
            title=document.title if document.text.strip() else "",
            project=dataset.project_of(document.group),
            thread=document.thread,
            turn=document.turn,
            observed_at=document.said_at,
        )
        for document in dataset.documents
        if document.text.strip() or document.title.strip()
    )


def _said(document: Document) -> str:
    """Return the text of a turn with its speaker before it, as an import writes it."""
    named = f"{document.speaker}: "
    plain = document.thread is None or document.speaker is None or document.text.startswith(named.rstrip())
    return document.text if plain else named + document.text


def split_of(query_id: str) -> Split:
    """Say which half a query belongs to: dev when the CRC-32 of its id is even, else test."""
    return "test" if zlib.crc32(query_id.encode("utf-8", "surrogatepass")) % 2 else "dev"


def select(queries: Iterable[EvalQuery], split: Split) -> tuple[EvalQuery, ...]:
    """Return the queries of one half, or all of them, in their order."""
    return tuple(query for query in queries if split in ("all", split_of(query.id)))


def _source(path: Path) -> Path:
    if path.is_file() or (path / "queries.jsonl").is_file():
        return path
    inside = sorted(path.glob("*.json"))
    if len(inside) != 1:
        raise FileError(f"{path} holds no dataset", hint=_LAYOUT)
    return inside[0]


def _scorable(dataset: Dataset) -> Dataset:
    """Return *dataset* with only the queries that can be scored, or say why it cannot be scored."""
    answered = {query for query, gains in dataset.judgements.items() if max(gains.values(), default=0) > 0}
    queries = tuple(query for query in dataset.queries if query.id in answered or query.unanswerable)
    judged = {query.id: dataset.judgements[query.id] for query in queries if query.id in answered}
    groups = {None, *(document.group for document in dataset.documents)}
    repeated = _repeated(document.id for document in dataset.documents) or _repeated(query.id for query in queries)
    astray = next((query.id for query in queries if query.group not in groups), None)
    faults = {
        "has no documents": not dataset.documents,
        "has no queries": not dataset.queries,
        "has no judgements for its queries": not judged,
        f"holds the id {repeated!r} more than once": repeated is not None,
        f"asks {astray!r} within a conversation that has no documents": astray is not None,
    }
    for fault in (fault for fault, present in faults.items() if present):
        raise FileError(f"{dataset.name} {fault}", hint="compare the ids in its files")
    return replace(dataset, queries=queries, judgements=judged)


def _repeated(ids: Iterable[str]) -> str | None:
    return next((one for one, times in Counter(ids).items() if times > 1), None)


# --- the BEIR layout ------------------------------------------------------------------------


def _read_beir(folder: Path) -> Dataset:
    judged = _judgement_files(folder)
    corpus, queries = _corpus(folder), folder / "queries.jsonl"
    files = {"corpus.jsonl": corpus, "queries.jsonl": queries, **{f"qrels/{path.name}": path for path in judged}}
    return Dataset(
        name=folder.name,
        documents=tuple(_documents(_lines(corpus))),
        queries=tuple(_query(record, place) for place, record in _lines(queries)),
        judgements=_judgements(judged),
        files={name: _sha256(path) for name, path in files.items()},
    )


def _corpus(folder: Path) -> Path:
    """Return the corpus of *folder*; queries with typos are asked of the set they were made from."""
    own = folder / "corpus.jsonl"
    if own.is_file() or not folder.name.endswith(_TYPO):
        return own
    return folder.with_name(folder.name.removesuffix(_TYPO)) / "corpus.jsonl"


def _judgement_files(folder: Path) -> tuple[Path, ...]:
    """Return qrels/test.tsv, or every file of judgements where there is no such one."""
    every = tuple(sorted((folder / "qrels").glob("*.tsv")))
    if not every:
        raise FileError(f"{folder.name} has no judgements", hint=_LAYOUT)
    return tuple(path for path in every if path.stem == "test") or every


def _documents(records: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[Document]:
    turns: dict[str | None, int] = {None: 0}
    for place, record in records:
        metadata = _metadata(record, place)
        dates = map(_parse_date, filter(None, (_optional(metadata, key) for key in _DATE_KEYS)))
        document = Document(
            id=_id(record, "_id", place),
            text=_take(record, "text", str, place),
            title=_optional(record, "title") or "",
            group=_optional(metadata, "conversation"),
            session=_optional(metadata, "session"),
            speaker=_optional(metadata, "speaker"),
            said_at=next(filter(None, dates), None),
        )
        thread = document.thread
        turns[thread] = turns.get(thread, 0) + 1
        yield document if thread is None else replace(document, turn=turns[thread])


def _query(record: dict[str, Any], place: str) -> EvalQuery:
    metadata = _metadata(record, place)
    return EvalQuery(
        id=_id(record, "_id", place),
        text=_take(record, "text", str, place),
        group=_optional(metadata, "conversation"),
        category=_optional(metadata, "category_name") or _optional(metadata, "category"),
        asked_at=_parse_date(_optional(metadata, "question_date") or ""),
        unanswerable=metadata.get("unanswerable") is True,
    )


def _judgements(paths: Iterable[Path]) -> Judgements:
    """Return what *paths* judge; where a pair is judged twice the last line counts, as BEIR reads it."""
    judged: dict[str, dict[str, int]] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
            cells = line.strip().split("\t")
            if cells == [""] or (number == 1 and cells[-1] == "score"):
                continue
            try:
                query, document, gain = cells
                judged.setdefault(query, {})[document] = int(gain)
            except ValueError as error:
                raise FileError(
                    f"{path.name} line {number} is not a judgement: {line.strip()[:80]!r}",
                    hint="write a query id, a document id and a whole number, with tabs between",
                ) from error
    return judged


# --- LongMemEval and LoCoMo -----------------------------------------------------------------

_Record = dict[str, Any]
_Item = tuple[list[_Record], list[_Record], dict[str, dict[str, int]]]
"""What one item of the file holds, as the BEIR layout would: documents, queries, judgements."""


def _read_array(path: Path) -> Dataset:
    places = enumerate(_as_list(_parse(path.read_bytes(), path.name)), start=1)
    items = {place: _item(value, place) for place, value in ((f"{path.name} item {at}", it) for at, it in places)}
    return Dataset(
        name=path.stem,
        documents=tuple(_documents((place, record) for place, item in items.items() for record in item[0])),
        queries=tuple(_query(record, place) for place, item in items.items() for record in item[1]),
        judgements={query: gains for item in items.values() for query, gains in item[2].items()},
        files={path.name: _sha256(path)},
    )


def _item(value: Any, place: str) -> _Item:
    for key, read in _SHAPES.items():
        if isinstance(value, dict) and key in value:
            return read(value, place)
    raise FileError(f"{place} is neither LongMemEval's nor LoCoMo's", hint=f"one of {[*_SHAPES]} is expected in it")


def _longmemeval(item: _Record, place: str) -> _Item:
    """Return one question and the history it is asked of.

    Its evidence is the marked turns of the answer sessions; where none is marked, all their turns.
    """
    group, answers = _id(item, "question_id", place), _take(item, "answer_session_ids", list, place)
    parts = [_take(item, f"haystack_{key}", list, place) for key in ("session_ids", "dates", "sessions")]
    if len(set(map(len, parts))) > 1:
        raise FileError(f"{place}: sessions, their ids and dates differ in number", hint="give each session all three")
    documents: list[_Record] = []
    evidence: dict[bool, list[str]] = {True: [], False: []}
    for index, (name, date, turns) in enumerate(zip(*parts, strict=True)):
        # A history may hold a session twice; the second one needs ids of its own.
        session = f"{name}#{index + 1}" if name in parts[0][:index] else str(name)
        for number, turn in enumerate(_as_list(turns), start=1):
            text = _take(turn, "content", str, place)
            said = {"conversation": group, "session": session, "speaker": turn.get("role"), "date_time": date}
            documents.append({"_id": f"{group}:{session}:{number}", "text": text, "metadata": said})
            if name in answers:
                evidence[turn.get("has_answer") is True].append(documents[-1]["_id"])
    asked = {
        "conversation": group,
        "category": item.get("question_type"),
        "question_date": item.get("question_date"),
        "unanswerable": group.endswith("_abs"),
    }
    found = [] if asked["unanswerable"] else evidence[True] or evidence[False]
    query = {"_id": group, "text": item.get("question"), "metadata": asked}
    return documents, [query], {group: dict.fromkeys(found, 1)}


def _locomo(item: _Record, place: str) -> _Item:
    """Return one conversation and what is asked about it.

    Its adversarial questions name evidence like the others, so they are judged and not unanswerable.
    """
    group, conversation = _id(item, "sample_id", place), _take(item, "conversation", dict, place)
    documents: list[_Record] = []
    for session in sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key))):
        date = conversation.get(f"session_{session}_date_time")
        for turn in _take(conversation, f"session_{session}", list, place):
            speaker, name = _take(turn, "speaker", str, place), _id(turn, "dia_id", place)
            shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = f"{speaker}: {_take(turn, 'text', str, place)}{shared}"
            said = {"conversation": group, "session": session, "speaker": speaker, "date_time": date}
            documents.append({"_id": f"{group}:{name}", "text": text, "metadata": said})
    known = {document["_id"] for document in documents}
    queries: list[_Record] = []
    judged: dict[str, dict[str, int]] = {}
    for number, qa in enumerate(_take(item, "qa", list, place)):
        text = _take(qa, "question", str, place)
        category = _optional(qa, "category") or ""
        asked = {"conversation": group, "category": _CATEGORIES.get(category, category)}
        queries.append({"_id": f"{group}:q{number}", "text": text, "metadata": asked})
        # Several turns may stand in one string, some with a leading zero.
        turns = _TURN_ID.findall(" ".join(map(str, _as_list(qa.get("evidence")))))
        evidence = [f"{group}:D{int(session)}:{int(turn)}" for session, turn in turns]
        judged[f"{group}:q{number}"] = {turn: 1 for turn in evidence if turn in known}
    return documents, queries, judged


_SHAPES: Final[Mapping[str, Callable[[_Record, str], _Item]]] = MappingProxyType(
    {"haystack_sessions": _longmemeval, "conversation": _locomo}
)


# --- lines and fields -----------------------------------------------------------------------


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each line of *path* stands and the object on it; blank lines are passed over."""
    with path.open("rb") as lines:
        for number, line in ((number, line) for number, line in enumerate(lines, start=1) if line.strip()):
            place = f"{path.name} line {number}"
            record = _parse(line, place)
            if not isinstance(record, dict):
                raise FileError(f"{place} is not an object", hint="write one JSON object on each line")
            yield place, record


def _parse(text: bytes, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{place} is not JSON: {error}", hint="is the file complete, and UTF-8?") from error


def _take(record: Any, key: str, kind: Any, place: str) -> Any:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise FileError(f"{place} has no {key!r}, or one of the wrong kind", hint=_LAYOUT)
    return value


def _id(record: Any, key: str, place: str) -> str:
    return str(_take(record, key, str | int, place))


def _metadata(record: dict[str, Any], place: str) -> Mapping[str, object]:
    return _take({"metadata": {}} | record, "metadata", dict, place)  # type: ignore[no-any-return]


def _optional(record: Mapping[str, object], key: str) -> str | None:
    value = record.get(key)
    return str(value) if isinstance(value, str | int) else None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
