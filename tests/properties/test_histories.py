"""Any history of writes leaves every store with the same answers as the oracle."""

import tempfile
from datetime import timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from kit import NOON, STORES, asking, in_text, keywords, plain
from recollect.records import (
    ALL_PROJECTS,
    AllOf,
    AndNot,
    AnyOf,
    EmbeddedMemory,
    Fact,
    FactQuery,
    Feedback,
    Filter,
    Forget,
    Generation,
    Insert,
    Memory,
    Merge,
    Passage,
    Phrase,
    Piece,
    Prefix,
    Recall,
    Recalled,
    ReinforceFact,
    Restore,
    Revise,
    Scope,
    Source,
    Word,
    Write,
)
from recollect.vectors import pack

WORD = st.sampled_from(["cat", "cats", "dog", "fox", "c++", "it's", "数据", "ß", "a.b"])
TEXT = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
PROJECT = st.sampled_from(["p", "q"])
LEAF = st.one_of(
    st.builds(Word, text=WORD, form=st.sampled_from(["stem", "exact"])),
    st.builds(Prefix, text=st.sampled_from(["c", "ca", "do", "数", "it'"])),
    st.builds(Phrase, texts=st.lists(WORD, min_size=1, max_size=3).map(tuple)),
)
EXPRESSION = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.builds(AnyOf, parts=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AllOf, parts=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AndNot, wanted=inner, unwanted=inner),
    ),
    max_leaves=5,
)
DAYS = st.one_of(st.none(), st.integers(-9, 9).map(lambda days: NOON + timedelta(days=days)))
FACTS = st.lists(
    st.builds(
        Fact,
        subject=st.sampled_from(["Cat", "cat", "Straße"]),
        predicate=st.just("is"),
        object=st.sampled_from(["a", "b"]),
        type=st.sampled_from(["kv", "state"]),
        confidence=st.sampled_from([0.5, 0.9]),
        decay_rate=st.just(0.01),
    ),
    max_size=3,
).map(tuple)
MEMORY = st.builds(
    Memory,
    content=TEXT,
    title=st.one_of(st.just(""), TEXT),
    project=PROJECT,
    type=st.sampled_from(["note", "decision"]),
    tags=st.lists(st.sampled_from(["x", "y"]), unique=True).map(tuple),
    source=st.sampled_from([None, "a/b.md", "a/c.md"]),
    observed_at=DAYS,
    valid_from=DAYS,
    valid_until=DAYS,
    thread=st.sampled_from([None, "t", "u"]),
    turn=st.sampled_from([None, 0, 1, 2]),
)
VECTOR = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3).map(pack)
WEIGHTS = st.sampled_from([None, None, (), (0.5, 0.25), (0.5, 0.25, 0.125, 0.0625)])
WHERE = st.builds(
    Filter,
    types=st.sampled_from([None, (), ("note",), ("note", "decision")]),
    tags=st.sampled_from([None, ("x",), ("x", "y")]),
    sources=st.sampled_from([None, ("a",), ("c.md",)]),
    since=st.sampled_from([None, NOON]),
    include_superseded=st.booleans(),
    fact_types=st.sampled_from([None, None, (), ("kv",), ("kv", "state")]),
    as_of=st.one_of(st.none(), st.integers(0, 25).map(lambda minutes: NOON + timedelta(minutes=minutes))),
)
SCOPE = st.sampled_from([ALL_PROJECTS, Scope(projects=frozenset({"p"})), Scope(projects=frozenset({"p", "q"}))])


class Histories(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.stores = {name: STORES[name](Path(self.folder.name), plain) for name in ("oracle", "sqlite")}
        self.rows: list[int] = []
        self.minutes = 0

    def teardown(self) -> None:
        for store in self.stores.values():
            store.close()
        self.folder.cleanup()

    def write(self, *writes: Write) -> tuple[int, ...]:
        self.minutes += 1
        at = NOON + timedelta(minutes=self.minutes)
        touched = {store.apply(writes, at=at) for store in self.stores.values()}
        assert len(touched) == 1
        return touched.pop()

    @rule(drafts=st.lists(st.tuples(MEMORY, FACTS), min_size=1, max_size=4))
    def add(self, drafts: list[tuple[Memory, tuple[Fact, ...]]]) -> None:
        self.rows += self.write(*(Insert(memory=memory, facts=facts) for memory, facts in drafts))

    @precondition(lambda self: self.rows)
    @rule(
        pick=st.randoms(use_true_random=False),
        memory=MEMORY,
        kind=st.sampled_from(["revise", "supersede"]),
        facts=st.one_of(st.none(), FACTS),
    )
    def revise(self, pick: object, memory: Memory, kind: str, facts: tuple[Fact, ...] | None) -> None:
        row = pick.choice(self.rows)  # type: ignore[attr-defined]
        other = pick.choice(self.rows) if kind == "supersede" else None  # type: ignore[attr-defined]
        self.write(Revise(memory=replace(memory, id=row, superseded_by=other), facts=facts))

    @rule(pick=st.randoms(use_true_random=False))
    def reinforce_fact(self, pick: object) -> None:
        facts = self.stores["oracle"].facts(FactQuery(limit=9), scope=ALL_PROJECTS)
        if facts:
            fact = pick.choice(facts)  # type: ignore[attr-defined]
            self.write(ReinforceFact(id=fact.id, confidence=1.0, last_reinforced=NOON))

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), verb=st.sampled_from([Forget, Restore]))
    def hide_or_show(self, pick: object, verb: type[Forget | Restore]) -> None:
        self.write(verb(id=pick.choice(self.rows)))  # type: ignore[attr-defined]

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), where=WHERE, scope=SCOPE, named=st.booleans())
    def erase(self, pick: object, where: Filter, scope: Scope, *, named: bool) -> None:
        rows = [pick.choice(self.rows)] if named else None  # type: ignore[attr-defined]
        if rows and not self.stores["oracle"].load(rows, scope=scope):
            return
        oracle, ours = (store.erase(ids=rows, where=where, scope=scope) for store in self.stores.values())
        assert replace(oracle, vectors=()) == replace(ours, vectors=(), tokens=())
        assert sorted(oracle.vectors) == sorted(ours.vectors)
        gone = {memory.id for memory in oracle.memories}
        self.rows = [row for row in self.rows if row not in gone]

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), wording=st.one_of(st.none(), TEXT))
    def merge(self, pick: object, wording: str | None) -> None:
        self.write(Merge(id=pick.choice(self.rows), confidence=0.9, wording=wording))  # type: ignore[attr-defined]

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), verdict=st.sampled_from(["used", "wrong"]))
    def judge(self, pick: object, verdict: str) -> None:
        self.write(Feedback(id=pick.choice(self.rows), verdict=verdict))  # type: ignore[attr-defined,arg-type]

    @rule(query=WORD, scope=SCOPE, rows=st.lists(st.integers(1, 9), max_size=3), shown=st.booleans())
    def log(self, query: str, scope: Scope, rows: list[int], *, shown: bool) -> None:
        hits = tuple(Recalled(memory_id=row, rank=1, score=0.5, shown=shown, fact_ids=(row,)) for row in rows)
        recall = Recall(query=query, mode="m", outcome="none", at=NOON, session=query, scope=scope, hits=hits)
        for store in self.stores.values():
            version = store.version()
            store.log_recall([recall])
            for project in scope.projects or ("",):
                store.put_note("ledger", query, {"rows": rows}, project=project)
            assert store.version() == version

    @rule(count=st.integers(0, 2), project=st.sampled_from(["p", "q"]), gone=st.booleans())
    def import_file(self, count: int, project: str, *, gone: bool) -> None:
        pieces = tuple(Piece(digest=b"d", memory_id=number, gone=gone) for number in range(count))
        for store in self.stores.values():
            store.record_source("a/b.md", Source(fingerprint=str(count), pieces=pieces), project=project)

    @precondition(lambda self: self.rows)
    @rule(pick=st.randoms(use_true_random=False), vectors=st.lists(VECTOR, min_size=1, max_size=4), weights=WEIGHTS)
    def embed(self, pick: object, vectors: list[bytes], weights: tuple[float, ...] | None) -> None:
        generation = Generation(fingerprint="f", dimensions=3, model="m", context_weights=weights)
        rows = [pick.choice(self.rows) for _ in vectors]  # type: ignore[attr-defined]
        held = self.stores["oracle"].load(rows, scope=ALL_PROJECTS)
        passages = tuple(Passage(start=at, stop=at + 1, vector=vector) for at, vector in enumerate(vectors))
        made = [EmbeddedMemory(memory_id=row, meaning=held[row].meaning, passages=passages) for row in set(rows)]
        assert len({store.put_vectors(generation, made) for store in self.stores.values()}) == 1

    @rule()
    def drop_vectors(self) -> None:
        assert len({store.drop_vectors("f") for store in self.stores.values()}) == 1

    @rule(vector=VECTOR, scope=SCOPE, where=WHERE, limit=st.integers(0, 3), in_context=st.booleans())
    def ask_for_vectors(self, vector: bytes, scope: Scope, where: Filter, limit: int, *, in_context: bool) -> None:
        how = {"scope": scope, "where": where, "limit": limit, "score_ids": self.rows}
        answers = [
            (
                store.nearest("f", vector, in_context=in_context, **how),  # type: ignore[arg-type]
                store.nearest("f", vector, exclude_generation="f", **how),  # type: ignore[arg-type]
                store.vectors("f", self.rows, scope=scope),
                store.generations(scope=scope),
                store.pending("f", after=1, limit=3),
            )
            for store in self.stores.values()
        ]

        assert answers.count(answers[0]) == len(answers)

    @rule()
    def rebuild(self) -> None:
        assert len({store.rebuild() for store in self.stores.values()}) == 1

    @rule(expression=EXPRESSION, scope=SCOPE, where=WHERE, limit=st.integers(1, 5))
    def ask(self, expression: Word, scope: Scope, where: Filter, limit: int) -> None:
        asked = keywords(expression, title=2.0, before=0.3)
        answers = [
            (
                store.match_words(asked, scope=scope, where=where, limit=limit, score_ids=self.rows),
                store.facets(query=asked, scope=scope, where=where),
            )
            for store in self.stores.values()
        ]

        assert answers.count(answers[0]) == len(answers)

    @rule(scope=SCOPE, where=WHERE)
    def ask_the_rest(self, scope: Scope, where: Filter) -> None:
        digests = [("memory", Memory(content=text).digest) for text in ("cat", "dog")]
        answers = [
            (
                store.browse(scope=scope, where=where, limit=9),
                in_text(store, ["cat", "数"], scope=scope, where=where),
                store.load(self.rows, scope=scope),
                store.wordings(self.rows, scope=scope),
                store.history(self.rows, scope=scope),
                store.facts(FactQuery(memory_ids=tuple(self.rows), include_superseded=True), scope=scope),
                store.facts(FactQuery(limit=9), scope=scope),
                store.facets(query=None, scope=scope, where=where),
                list(store.document_frequencies(scope=scope).items()),
                store.document_frequencies(words=["cat", "数据", "x"], scope=scope, form="stem"),
                store.facts(FactQuery(subject="STRASSE", types=where.fact_types, limit=2), scope=scope),
                store.known("p", digests=digests, minhashes=[plain(Memory(content="cat dog fox"), ()).minhash]),
                store.sources(below="a", project="p"),
                store.stats(scope=scope),
            )
            for store in self.stores.values()
        ]

        assert answers.count(answers[0]) == len(answers)

    @rule(scope=SCOPE, row=st.integers(1, 9))
    def ask_the_log(self, scope: Scope, row: int) -> None:
        answers = [
            (
                store.recalls(scope=scope),
                store.recalls(scope=scope, session="cat", memory_id=row, limit=2),
                store.recalls(scope=scope, fact_id=row),
                store.usage(scope=scope),
                store.unanswered(scope=scope, limit=3),
                store.notes("ledger"),
                store.notes("ledger", project="p"),
            )
            for store in self.stores.values()
        ]

        assert answers.count(answers[0]) == len(answers)

    @invariant()
    def all_is_well(self) -> None:
        for store in getattr(self, "stores", {}).values():
            # Random writes may supersede in a circle, which only the verbs refuse.
            assert [line for line in store.check(deep=True) if not line.startswith("a circle")] == []
            assert store.match_words(asking("cat"), scope=ALL_PROJECTS, where=Filter(), limit=3).total >= 0


Histories.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
test_any_history_leaves_every_store_with_the_same_answers = Histories.TestCase
