"""Whatever is sealed, merged, killed half-way or damaged: the answers are those of the rows."""

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from kit import NOON, keywords, plain
from oracle import OracleStore
from recollect.errors import UnknownMemory
from recollect.records import (
    ALL_PROJECTS,
    AllOf,
    AndNot,
    AnyOf,
    Bigram,
    Filter,
    Forget,
    Insert,
    Memory,
    Merge,
    Phrase,
    Prefix,
    Restore,
    Revise,
    Scope,
    Word,
    Write,
)
from recollect.stores.contract import Store
from recollect.stores.sql import SqlStore
from recollect.stores.sql.index import answering, sealing
from recollect.stores.sqlite import open_sqlite

WORD = st.sampled_from(["cat", "cats", "dog", "fox", "c++", "it's", "数据", "ß", "a.b", "catalog"])
TEXT = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
LEAF = st.one_of(
    st.builds(Word, text=WORD, form=st.sampled_from(["stem", "exact"])),
    st.builds(Prefix, text=st.sampled_from(["c", "ca", "do", "数", "it'"])),
    st.builds(Phrase, texts=st.lists(WORD, min_size=1, max_size=3).map(tuple)),
    st.builds(Bigram, first=WORD, second=WORD),
)
EXPRESSION = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(AnyOf, parts=st.lists(inner, min_size=1, max_size=4).map(tuple)),
        st.builds(AllOf, parts=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AndNot, wanted=inner, unwanted=inner),
    ),
    max_leaves=6,
)
MEMORY = st.builds(
    Memory,
    content=TEXT,
    title=st.one_of(st.just(""), TEXT),
    project=st.sampled_from(["p", "q", "r"]),
    type=st.sampled_from(["note", "decision"]),
    kind=st.sampled_from(["memory", "turn"]),
    tags=st.lists(st.sampled_from(["x", "y"]), unique=True).map(tuple),
    source=st.sampled_from([None, "a/b.md", "a/c.md", "x/a/d.md"]),
    observed_at=st.sampled_from([None, NOON.replace(day=1), NOON.replace(day=9)]),
)
WHERE = st.builds(
    Filter,
    types=st.sampled_from([None, None, (), ("note",)]),
    kinds=st.sampled_from([None, None, ("turn",)]),
    tags=st.sampled_from([None, None, ("x",)]),
    sources=st.sampled_from([None, None, ("a",), ("c.md",), ("",), ("/",)]),
    since=st.sampled_from([None, NOON]),
    until=st.sampled_from([None, NOON.replace(day=8)]),
    include_superseded=st.booleans(),
    as_of=st.sampled_from([None, None, NOON, NOON.replace(minute=5), NOON.replace(minute=20)]),
)
SCOPE = st.sampled_from(
    [ALL_PROJECTS, *(Scope(projects=frozenset(names)) for names in ({"p"}, {"p", "r"}, {"q", "nobody"}, ()))]
)
ASKED = (
    AnyOf(parts=(Word(text="cat"), Word(text="ß"), Bigram(first="cat", second="dog"))),
    AndNot(wanted=Prefix(text="c"), unwanted=Phrase(texts=("cat", "fox"))),
)
SIZES = {"SEAL": 3, "FIRST": 3, "SLICE": 5, "CHUNK": 4, "FAN": 3, "INLINE": 40}
DAMAGE = st.sampled_from(["folder", "row", "array", "header", "half", "stray", "link"])


class Segments(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.sizes = pytest.MonkeyPatch()
        for name, value in SIZES.items():
            self.sizes.setattr(sealing, name, value)
        for name in ("TINY", "SMALL"):
            self.sizes.setattr(answering, name, -1)
        self.oracle = OracleStore(plain)
        self.path = self.folder / "notes.db"
        self.long_open = open_sqlite(self.path, plain)
        self.writing = open_sqlite(self.path, plain)
        self.rows: list[int] = []
        self.minutes = 0

    def teardown(self) -> None:
        self.long_open.close()
        self.writing.close()
        self.sizes.undo()
        shutil.rmtree(self.folder)

    def write(self, *writes: Write) -> tuple[int, ...]:
        self.minutes += 1
        at = NOON.replace(minute=self.minutes % 60)
        touched = self.oracle.apply(writes, at=at)
        assert self.writing.apply(writes, at=at) == touched
        return touched

    @rule(memories=st.lists(MEMORY, min_size=1, max_size=9))
    def add(self, memories: list[Memory]) -> None:
        self.rows += self.write(*(Insert(memory=memory) for memory in memories))

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), memory=MEMORY, supersedes=st.booleans())
    def revise(self, pick: object, memory: Memory, *, supersedes: bool) -> None:
        row, other = (pick.choice(self.rows) for _ in range(2))  # type: ignore[attr-defined]
        self.write(Revise(memory=replace(memory, id=row, superseded_by=other if supersedes else None)))

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), verb=st.sampled_from([Forget, Restore]))
    def hide_or_show(self, pick: object, verb: type[Forget | Restore]) -> None:
        self.write(verb(id=pick.choice(self.rows)))  # type: ignore[attr-defined]

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), wording=TEXT)
    def merge(self, pick: object, wording: str) -> None:
        self.write(Merge(id=pick.choice(self.rows), confidence=0.9, wording=wording))  # type: ignore[attr-defined]

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), scrubs=st.booleans())
    def erase(self, pick: object, *, scrubs: bool) -> None:
        row = pick.choice(self.rows)  # type: ignore[attr-defined]
        for store in (self.oracle, self.writing):
            store.erase(ids=[row], scope=ALL_PROJECTS)
        self.rows.remove(row)
        if scrubs:
            assert self.writing.scrub() == ()

    @rule()
    def roll_back(self) -> None:
        with suppress(UnknownMemory), self.writing.transaction():
            self.writing.apply([Insert(memory=Memory(content="cat never was"))], at=NOON)
            assert self.writing.document_frequencies(words=["never"], scope=ALL_PROJECTS) == {"never": 1}
            self.writing.apply([Forget(id=-1)], at=NOON)

    @rule(whole=st.booleans())
    def seal(self, *, whole: bool) -> None:
        self.writing.words.settle(self.writing.engine, whole=whole)

    @rule()
    def rebuild(self) -> None:
        self.writing.rebuild()

    @rule()
    def come_back(self) -> None:
        self.writing.close()
        self.writing = open_sqlite(self.path, plain)

    @rule(kind=DAMAGE, pick=st.integers(0, 99))
    def damage(self, kind: str, pick: int) -> None:
        """Damage the oldest segment, or one made later: segments have random names, so the name must not choose."""
        beside = self.folder / "notes.db-segments"
        folders = sorted(
            (each for each in beside.glob("*") if each.is_dir() and not each.is_symlink()),
            key=lambda each: each.stat().st_mtime_ns,
        )
        if folders:
            damage(kind, folders[pick % len(folders)], self.path)

    @rule(expression=EXPRESSION, scope=SCOPE, where=WHERE, limit=st.integers(0, 5))
    def ask(self, expression: Word, scope: Scope, where: Filter, limit: int) -> None:
        fresh, bare = open_sqlite(self.path, plain), open_sqlite(self.path, plain)
        bare.words = type(bare.words)(bare.engine.rebuilding)

        def answers(store: Store) -> object:
            asked = keywords(expression, title=2.0, before=0.3)
            return (
                store.match_words(asked, scope=scope, where=where, limit=limit, score_ids=self.rows),
                store.facets(query=asked, scope=scope, where=where),
                list(store.document_frequencies(scope=scope).items()),
                store.document_frequencies(words=["cat", "数据", "x"], scope=scope, form="stem"),
                store.near_words({"cta": 2, "catalig": 2}, scope=scope, holding=["cat"]),
            )

        expected = answers(self.oracle)
        stores: list[SqlStore] = [self.writing, self.long_open, fresh, bare]
        found = [answers(store) for store in stores]

        fresh.close()
        bare.close()
        assert found == [expected] * len(stores)

    @invariant()
    def those_who_follow_see_it_at_once(self) -> None:
        for asked in ASKED if hasattr(self, "writing") else ():
            stores = (self.oracle, self.writing, self.long_open)
            found = [
                store.match_words(keywords(asked), scope=ALL_PROJECTS, where=Filter(), limit=9, score_ids=self.rows)
                for store in stores
            ]
            assert found == [found[0]] * len(stores)


def damage(kind: str, folder: Path, store: Path) -> None:
    """Do to a segment what a crash, a disk or a person might."""
    arrays, header = folder / "arrays", folder / "header"
    if kind == "folder":
        shutil.rmtree(folder)
    elif kind == "row":
        with apsw.Connection(str(store)) as db:
            db.execute("delete from segment where name = ?", (folder.name,))
    elif kind == "array" and arrays.exists():
        anew(arrays, bytes(255 - byte for byte in arrays.read_bytes()))
    elif kind == "header" and header.exists():
        anew(header, header.read_bytes()[:-9])
    elif kind == "half" and arrays.exists():
        shutil.copytree(folder, folder.with_name("f" * 32 + ".part"), dirs_exist_ok=True)
        anew(arrays, arrays.read_bytes()[: arrays.stat().st_size // 2])
    elif kind == "stray":
        shutil.copytree(folder, folder.with_name("0" * 32), dirs_exist_ok=True)
    elif kind == "link":
        aside = folder.parent.with_name("aside") / folder.name
        if not aside.exists():
            shutil.move(folder, aside)
            folder.symlink_to(aside, target_is_directory=True)


def anew(path: Path, held: bytes) -> None:
    """Put another file in the place of one; whoever has that one open reads on."""
    path.unlink()
    path.write_bytes(held)


Segments.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
test_segments_never_change_an_answer = Segments.TestCase
