from typing import Any

import pytest
from msgspec.structs import replace

from kit import NOON
from recollect import Hit, Memory, Reason, Reply
from recollect.operations.tokens import token_line
from recollect.records import Event, Fact
from recollect.remember.ingest import IngestResult
from recollect.remember.redact import FoundSecret
from recollect.render.layout import Piece, plain
from recollect.render.pages import reply_page, shown_page
from recollect.render.text import HINTS, ingest_text
from recollect.replies import Evidence, Outcome, Shown
from recollect.upkeep.tokens import Token

MEMORY = Memory(id=3, content="We ship", source="/n/a.md", line=2, created_at=NOON)
HIT = Hit(rank=1, memory=MEMORY, score=1.5, match_type="bm25", snippet="We [ship]", marks=((3, 9),))
SECRET = FoundSecret(field="content", kind="github", memory_id=7)
REPLY = Reply(query="ship", mode="hybrid", profile="default", outcome="answered", hits=(HIT,), total=1)


def reply_text(reply: Reply, **more: Any) -> str:
    return plain(reply_page(reply, **more))


def shown_text(shown: Shown) -> str:
    return plain(shown_page(shown))


def test_a_hit_says_what_it_is_where_it_stands_and_why_it_was_found() -> None:
    told = " 1. We ship\n    strong · #3 · note · 2026-05-04 · /n/a.md:2"
    more = " · found by words · confidence 0.8\n    score 1.5"

    assert reply_text(REPLY) == told
    assert reply_text(REPLY, explain=True) == told + more


def test_what_was_found_is_marked_by_a_style_and_brackets_of_the_text_stay() -> None:
    hit = replace(HIT, snippet="- [x] We [ship] it", marks=((9, 15),))

    found = reply_page(replace(REPLY, hits=(hit,)))[0]

    assert found.pieces[1:] == (Piece("- [x] We "), Piece("ship", "mark"), Piece(" it"))


@pytest.mark.parametrize(
    ("outcome", "chance", "score", "word"),
    [
        ("answered", 0.9, 1.5, "strong"),
        ("answered", 0.9, 1.0, "strong"),
        ("answered", 0.9, 0.7, "fair"),
        ("answered", 0.5, 1.5, "fair"),
        ("answered", 0.9, 0.3, "weak"),
        ("weak", 0.3, 1.5, "weak"),
    ],
)
def test_how_well_a_hit_answers_is_said_in_a_word(outcome: Outcome, chance: float, score: float, word: str) -> None:
    evidence = Evidence(id=3, probability=chance, threshold=0.4)
    second = replace(HIT, rank=2, score=score)

    reply = replace(REPLY, outcome=outcome, hits=(HIT, second), evidence=evidence)

    assert reply_text(reply).splitlines()[-1].startswith(f"    {word} · ")


def test_a_brief_answer_counts_what_falls_far_below_the_first() -> None:
    hits = tuple(replace(HIT, rank=rank, score=score) for rank, score in enumerate((1.5, 0.8, 0.7, 0.1), start=1))

    told = reply_text(replace(REPLY, hits=hits, total=40), brief=True)

    assert told.count("We ship") == 2
    assert told.endswith("… 38 more (see them with --all)")


@pytest.mark.req("C-22")
def test_a_hit_says_how_sure_its_facts_still_are_or_else_how_sure_the_memory_is() -> None:
    fact = Fact(subject="ship", predicate="leaves", object="Tuesday", type="temporal", confidence=0.9, decay_rate=0.1)
    stating = replace(HIT, facts=(fact,), effective_confidence=0.546)

    doubted = replace(HIT, memory=replace(MEMORY, confidence=0.4))

    assert " · confidence 0.55\n" in reply_text(replace(REPLY, hits=(stating,)), explain=True)
    assert " · confidence 0.8\n" in reply_text(REPLY, explain=True)
    assert reply_text(replace(REPLY, hits=(doubted,))).endswith(" · unsure")
    assert "unsure" not in reply_text(REPLY)


@pytest.mark.parametrize(
    ("root", "place"), [("/n", "a.md:2"), ("/", "n/a.md:2"), ("/m", "/n/a.md:2"), ("/n/a", "/n/a.md:2")]
)
def test_a_source_is_written_from_the_folder_one_looks_from(root: str, place: str) -> None:
    assert reply_text(REPLY, root=root).endswith(f" · {place}")


def test_the_short_values_of_the_metadata_that_are_not_shown_yet_stand_below_the_text() -> None:
    metadata = {"by": "ship", "dock": "12", "crew": 8, "log": "all is well " * 9, "crates": ["tea"], "cook": "\x1b[2J"}
    marks, memory = ((3, 9), (18, 22)), replace(MEMORY, metadata=metadata)
    shipping = replace(HIT, snippet="We [ship] · dock: [12]", marks=marks, memory=memory)

    lines = reply_text(replace(REPLY, hits=(shipping,))).splitlines()

    assert lines[:2] == [" 1. We ship · dock: 12", "    crew: 8 · cook: \\u001b[2J"]


def test_a_section_or_a_title_stands_above_the_text() -> None:
    titled = replace(HIT, memory=replace(MEMORY, title="Ships"))
    both = replace(HIT, memory=replace(MEMORY, title="Ships", section="A > Ships"))

    assert reply_text(replace(REPLY, hits=(titled,))).startswith(" 1. Ships\n    We ship\n")
    assert reply_text(replace(REPLY, hits=(both,))).startswith(" 1. A > Ships\n    We ship\n")


def test_a_weak_answer_and_a_missing_model_are_never_hidden() -> None:
    weak = replace(REPLY, outcome="weak", degraded="no_model")

    assert reply_text(weak).splitlines()[:2] == [
        "(answered by words alone: no embedding model is installed; get one with: recollect model install)",
        "No clear answer; the nearest memories:",
    ]
    assert "embedding" not in reply_text(replace(weak, mode="keyword"))


def test_what_an_outcome_stands_on_is_told_to_those_who_ask() -> None:
    both = Evidence(id=3, probability=0.8125, threshold=0.5, coverage=0.6, cosine=0.25)
    words = replace(REPLY, evidence=replace(both, cosine=None))

    told = reply_text(replace(REPLY, evidence=both), explain=True).splitlines()[-1]

    needed = "probability that #3 answers: 81%, at least 50% is needed"
    assert told == f"{needed}; it holds 60% of the query's words by weight, its cosine is 0.25"
    assert reply_text(words, explain=True).endswith("; it holds 60% of the query's words by weight")
    assert reply_text(words) == reply_text(REPLY)


def test_more_than_is_shown_is_counted() -> None:
    assert reply_text(replace(REPLY, total=4)).endswith("\n… 3 more (see them with --all)")


@pytest.mark.parametrize("code", HINTS)
def test_every_reason_for_no_answer_comes_with_what_to_do(code: str) -> None:
    reason = Reason(code=code, message="it is so")  # type: ignore[arg-type]

    text = reply_text(replace(REPLY, hits=(), total=0, outcome="none", reason=reason))

    assert text == f"Nothing found: it is so; {HINTS[code]}."


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (IngestResult(id=7, decision="distinct"), "#7 remembered"),
        (IngestResult(id=7, decision="identical", of=7), "#7 known already; nothing changed"),
        (
            IngestResult(id=7, decision="identical", of=7, evidence={"by": "external_id"}),
            "#7 updated: the memory with this external id says this now",
        ),
        (
            IngestResult(id=7, decision="identical", of=7, evidence={"by": "external_id"}, written=False),
            "#7 known already; nothing changed",
        ),
        (IngestResult(id=7, decision="restates", of=7), "#7 known already in other words; this wording is kept too"),
        (IngestResult(id=8, decision="updates", of=7), "#8 remembered; it supersedes #7"),
        (IngestResult(id=8, decision="conflicts", of=7), "#8 remembered; it conflicts with #7"),
        (
            IngestResult(id=7, decision="distinct", secrets=(SECRET, replace(SECRET, field="title", source="/n/a.md"))),
            "#7 remembered; redacted 2 secrets: github in content of #7, github in title of #7 (/n/a.md)",
        ),
        (
            IngestResult(id=7, decision="distinct", secrets=(SECRET,) * 7),
            f"#7 remembered; redacted 7 secrets: {'github in content of #7, ' * 5}and 2 more",
        ),
    ],
)
def test_what_became_of_a_text_is_one_line(kept: IngestResult, text: str) -> None:
    assert ingest_text(kept) == text


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Event(memory_id=3, verb="add", at=NOON), "2026-05-04 12:00 add"),
        (
            Event(memory_id=3, verb="add", at=NOON, detail={"decision": "updates", "of": 2, "differs": ["number"]}),
            "2026-05-04 12:00 add: updates #2, differs in number",
        ),
        (
            Event(memory_id=3, verb="add", at=NOON, detail={"decision": "distinct", "of": None, "proposes": 1}),
            "2026-05-04 12:00 add: distinct, perhaps the same as #1",
        ),
        (
            Event(memory_id=3, verb="add", at=NOON, detail={"decision": "distinct", "proposes": 1, "related": True}),
            "2026-05-04 12:00 add: distinct, related to #1",
        ),
        (
            Event(memory_id=3, verb="supersede", at=NOON, detail={"by": 4, "content": "We ship"}),
            "2026-05-04 12:00 supersede: by #4",
        ),
        (
            Event(memory_id=3, verb="update", at=NOON, detail={"content": "We  shipped"}),
            "2026-05-04 12:00 update: it said “We shipped”",
        ),
        (
            Event(memory_id=3, verb="forget", at=NOON, detail={"reason": "gone from its source", "source": "a.md"}),
            "2026-05-04 12:00 forget: gone from its source, from a.md",
        ),
    ],
)
def test_an_event_says_what_happened_and_why(event: Event, line: str) -> None:
    text = shown_text(Shown(memory=MEMORY, wordings=("It ships",), events=(event,)))

    assert text.splitlines()[-1] == line
    assert "other wording: It ships" in text


def test_a_token_says_what_it_may_do_and_when_it_expires() -> None:
    reader = Token(name="ida", project="atlas", read_only=True, created_at=NOON, expires_at=NOON)
    writer = Token(name="bot", created_at=NOON)

    assert token_line(reader) == "ida  atlas  read-only  expires 2026-05-04 12:00 UTC"
    assert token_line(writer) == "bot  all projects  read and write as agent  never expires"
