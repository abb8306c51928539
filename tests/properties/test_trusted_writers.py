"""No sequence of writes lets a lower writer, or a machine, change what is trusted further or pinned."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kit import NOON
from oracle import OracleStore
from recollect import Memory, Recollection
from recollect.profile import load_profile
from recollect.records import Filter
from recollect.text.analyser import analyse
from recollect.trust import CONFIDENCE_CAPS, TRUST_LEVELS

TRUST = st.sampled_from(TRUST_LEVELS)
TEXT = st.sampled_from(
    [
        *(f"The API rate limit is {number} requests per minute" for number in (100, 200, 5000)),
        *(f"the api rate limit is now {number} requests per minute." for number in (100, 5000)),
        "THE API RATE LIMIT IS 100 REQUESTS PER MINUTE",
        "always run ruff before pyright for linting",
        "always run ruff before pyright for the linting",
        "we never run ruff before pyright for linting",
        "Port: 5432",
        "Port: 5433",
        "The docs say\n\nPort: 5432",
    ]
)
DRAFT = st.builds(
    Memory,
    content=TEXT,
    trust=TRUST,
    confidence=st.sampled_from([0.1, 0.8, 1.0]),
    tags=st.sampled_from([(), ("x",), ("y",)]),
    external_id=st.sampled_from([None, None, None, "t-1", "agent:t-1"]),
    pinned=st.sampled_from([False, False, True]),
)
LEVEL = {trust: level for level, trust in enumerate(TRUST_LEVELS)}


class Writers(RuleBasedStateMachine):
    @initialize(profile=st.sampled_from(["default", "oro"]))
    def open(self, profile: str) -> None:
        self.db = Recollection(store=OracleStore(analyse), profile=load_profile(profile), clock=lambda: NOON)
        self.rows: list[int] = []

    def teardown(self) -> None:
        self.db.close()

    def guarded(self, writer: str) -> dict[int, Any]:
        """Return all of what *writer* may not change."""
        shown = {row: self.db.show(row) for row in self.rows}
        return {
            row: (each.memory, each.wordings, each.facts)
            for row, each in shown.items()
            if each.memory.pinned or LEVEL[each.memory.trust] > LEVEL[writer]
        }

    def add(self, *drafts: Memory) -> None:
        highest = max((draft.trust for draft in drafts), key=LEVEL.__getitem__)
        before = self.guarded(highest) if highest != "owner" else {}
        results = self.db.add_all(drafts)
        self.rows = sorted({*self.rows, *(each.id for each in results)})
        after = self.guarded(highest) if highest != "owner" else {}
        assert {row: after[row] for row in before} == before

    @rule(draft=DRAFT)
    def one(self, draft: Memory) -> None:
        self.add(draft)

    @rule(drafts=st.lists(DRAFT, min_size=2, max_size=4))
    def several(self, drafts: list[Memory]) -> None:
        self.add(*drafts)

    @rule(texts=st.lists(TEXT, min_size=1, max_size=3), trust=st.sampled_from(["agent", "untrusted"]))
    def capture(self, texts: list[str], trust: Any) -> None:
        before = self.guarded(trust)
        said = (f"[MEMORY] type=decision confidence=1.0: {text.splitlines()[-1]}" for text in texts)
        results = self.db.capture("\n".join(said), trust=trust)
        self.rows = sorted({*self.rows, *(each.id for each in results)})
        after = self.guarded(trust)
        assert {row: after[row] for row in before} == before

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def pin(self, data: st.DataObject) -> None:
        self.db.pin(data.draw(st.sampled_from(self.rows)))

    @rule(floor=st.sampled_from([0.0, 0.3]))
    def consolidate(self, floor: float) -> None:
        before = self.facts_by_level()
        self.db.consolidate(apply=True, floor=floor)
        assert all(self.facts_by_level().get(key, level) >= level for key, level in before.items())

    def facts_by_level(self) -> dict[tuple[str, str, str], int]:
        """Return the highest trust that stands behind each active fact of a memory that is in force."""
        live = {memory.id: memory for memory in self.db.list(limit=999).memories}
        found: dict[tuple[str, str, str], int] = {}
        for fact in self.db.facts(limit=9999):
            if fact.state == "active" and fact.memory_id in live:
                key = (fact.subject, fact.predicate, fact.object)
                found[key] = max(LEVEL[live[fact.memory_id].trust], found.get(key, 0))
        return found

    @precondition(lambda self: self.db.facts(limit=1))
    @rule(data=st.data())
    def reinforce(self, data: st.DataObject) -> None:
        self.db.reinforce(data.draw(st.sampled_from([fact.id for fact in self.db.facts()])))

    @invariant()
    def only_equals_and_betters_supersede(self) -> None:
        everything = self.db.list(where=Filter(include_superseded=True), limit=999).memories
        memories = {memory.id: memory for memory in everything}
        for memory in memories.values():
            if memory.superseded_by in memories:
                assert LEVEL[memories[memory.superseded_by].trust] >= LEVEL[memory.trust]

    @invariant()
    def no_fact_is_surer_than_the_trust_of_its_writer_allows(self) -> None:
        shown = [self.db.show(row) for row in self.rows]
        for each in shown:
            most = CONFIDENCE_CAPS[each.memory.trust]
            assert all(fact.confidence <= most for fact in each.facts)

    @invariant()
    def what_is_pinned_stays(self) -> None:
        self.pinned: dict[int, bool] = getattr(self, "pinned", {})
        memories = {row: self.db.show(row).memory for row in self.rows}
        hidden = {row: bool(each.superseded_by or each.deleted_at) for row, each in memories.items() if each.pinned}
        assert all(not hidden[row] for row in hidden if not self.pinned.get(row, True))
        self.pinned = hidden | {row: True for row in self.pinned if row not in hidden}


Writers.TestCase.settings = settings(max_examples=40, stateful_step_count=12)
test_no_writer_changes_what_is_trusted_further_or_pinned = Writers.TestCase
