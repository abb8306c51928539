"""Tuning on every store, with real searches: what is better is adopted, kept, used and undone; chance is not."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kit import NOON, STORES
from recollect import InputError, Memory, Reply
from recollect.embedders.models import Models
from recollect.errors import FileError
from recollect.evaluate.compare import Interval
from recollect.evaluate.judgements import JudgedQuery, from_feedback, from_file
from recollect.evaluate.tune import Fitted
from recollect.evaluate.tuning import KIND, adopt
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.records import Scope
from recollect.text.analyser import analyse

WORDS = ("amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "indigo", "jasper", "kelp", "moss")
COUNT = 22
FIGURES = Interval(low=0.05, high=0.15)
MISLED = replace(load_profile("default"), cosines="raw")
"""A profile that trusts the cosines of a model that tells little, so that other weights are better."""
QUESTIONS = {f"right{number}": f"what happened to the unit x{number:02d}q" for number in range(COUNT)}


@pytest.fixture(params=sorted(STORES))
def units(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollection]:
    """A store where the rare word of a question is right, and the memory that sounds like the question is not."""
    store = STORES[request.param](tmp_path, analyse)
    chance = random.Random(1)
    memories = [
        Memory(content=f"The {' '.join(chance.sample(WORDS, 3))} device {code(name)} broke down", external_id=name)
        for name in QUESTIONS
    ]
    memories += [
        Memory(content=f"what happened to the {' '.join(chance.sample(WORDS, 2))} unit", external_id=f"decoy{number}")
        for number in range(COUNT)
    ]
    with Recollection(
        store=store, profile=load_profile("default"), clock=lambda: NOON, models=Models(name="hashing")
    ) as db:
        db.add_all(memories)
        yield db


def code(name: str) -> str:
    return QUESTIONS[name].rsplit(" ", 1)[-1]


def judged(folder: Path, relevant: dict[str, list[str]]) -> Path:
    path = folder / "judged.jsonl"
    lines = [json.dumps({"query": QUESTIONS[name], "relevant": names}) for name, names in relevant.items()]
    path.write_text("\n".join(lines))
    return path


def right(folder: Path) -> Path:
    return judged(folder, {name: [name] for name in QUESTIONS})


def asked(db: Recollection, query: str, **more: str) -> Reply:
    return replace(db.search(query, **more), timings_ms={}, version=0)


def turned(db: Recollection, **values: float) -> None:
    """Adopt these values as if they had been fitted."""
    fitted = Fitted(profile="default", questions=30, before=0.5, after=0.6, interval=FIGURES, values=values)
    adopt(db.profile, fitted, store=db.store, now=NOON, source="feedback")


def row(db: Recollection, name: str) -> int:
    return db.store.known("default", external_ids=[("memory", name)]).by_external_id["memory", name]


@pytest.mark.full
def test_what_is_truly_better_is_adopted_and_searches_rank_by_it(units: Recollection, tmp_path: Path) -> None:
    misled = Recollection(store=units.store, profile=MISLED, clock=lambda: NOON, models=units.models)
    first = [asked(misled, query).hits[0].memory.external_id for query in QUESTIONS.values()]

    done = misled.tune(right(tmp_path))
    then = [asked(misled, query).hits[0].memory.external_id for query in QUESTIONS.values()]
    tuning = misled.tuning()

    assert done.adopted
    assert done.fitted.questions == COUNT
    assert done.fitted.interval is not None
    assert done.fitted.interval.low > 0
    assert sum(map(str.startswith, first, ["right"] * COUNT)) < COUNT
    assert then == list(QUESTIONS)
    assert tuning is not None
    assert (tuning.profile, tuning.day, tuning.questions) == ("default", "2026-05-04", COUNT)
    assert tuning.values == done.fitted.values
    assert tuning.after > tuning.before


def test_a_tuning_stays_with_the_store_and_belongs_to_one_profile(units: Recollection) -> None:
    query = QUESTIONS["right3"]
    plain, others = asked(units, query), {name: asked(units, query, profile=name) for name in ("cortex", "oro")}
    turned(units, vector=0.3)

    again = Recollection(store=units.store, profile=load_profile("default"), clock=lambda: NOON, models=units.models)
    elsewhere = Recollection(store=units.store, profile=load_profile("oro"), clock=lambda: NOON, models=units.models)

    assert asked(units, query).hits != plain.hits
    assert asked(again, query) == asked(units, query)
    assert asked(again, query).profile == "default"
    assert asked(elsewhere, query, profile="default") == asked(units, query)
    assert {name: asked(units, query, profile=name) for name in others} == others
    assert elsewhere.tuning() is None
    scores = {hit.id: hit.score for hit in asked(units, query).hits}
    assert units.why(row(units, "right3"), query).score == pytest.approx(scores[row(units, "right3")])


def test_undoing_gives_the_same_replies_as_before_step_by_step(units: Recollection) -> None:
    queries = list(QUESTIONS.values())[:5]
    untuned = [repr(asked(units, query)) for query in queries]
    turned(units, vector=0.5)
    once, first = [repr(asked(units, query)) for query in queries], units.tuning()
    turned(units, vector=0.2, title=2.0)
    twice = [repr(asked(units, query)) for query in queries]

    units.untune()
    back, back_to = [repr(asked(units, query)) for query in queries], units.tuning()
    units.untune()

    assert len({tuple(untuned), tuple(once), tuple(twice)}) == 3
    assert (back, back_to) == (once, first)
    assert [repr(asked(units, query)) for query in queries] == untuned
    assert (units.tuning(), units.store.notes(KIND)) == (None, {})
    with pytest.raises(InputError, match="is not tuned here"):
        units.untune()


@pytest.mark.full
def test_judgements_by_chance_change_nothing(units: Recollection, tmp_path: Path) -> None:
    chance = random.Random(3)
    names = [*QUESTIONS, *(f"decoy{number}" for number in range(COUNT))]
    before = [asked(units, query) for query in QUESTIONS.values()]

    done = units.tune(judged(tmp_path, {name: chance.sample(names, 2) for name in QUESTIONS}))

    assert not done.adopted
    assert done.fitted.interval is not None
    assert units.tuning() is None
    assert [asked(units, query) for query in QUESTIONS.values()] == before


def test_a_tuning_rests_while_the_profile_has_other_numbers_than_it_was_fitted_from(units: Recollection) -> None:
    turned(units, vector=0.3)
    tuning, plain = units.tuning(), units.profile

    units.profile = replace(plain, fuse=replace(plain.fuse, weights={"words": 0.5, "vector": 0.5}))
    changed = units.tuning()
    units.profile = replace(plain, limit=7)

    assert changed is None
    assert tuning is not None
    assert units.tuning() == tuning


def test_what_another_release_kept_otherwise_harms_no_search(units: Recollection) -> None:
    plain = asked(units, QUESTIONS["right1"])
    turned(units, vector=0.3)
    (kept,) = units.store.notes(KIND)["default"]["kept"]
    tuned = asked(units, QUESTIONS["right1"])

    units.store.put_note(KIND, "default", {"kept": [{**kept, "more": 1}]})
    with_more = asked(units, QUESTIONS["right1"])
    units.store.put_note(KIND, "default", {"kept": [{**kept, "values": {"unheard": 1.0}, "base": {"unheard": [1.0]}}]})
    unheard = asked(units, QUESTIONS["right1"])
    units.store.put_note(KIND, "default", {"kept": [{"values": {"vector": 0.3}}]})
    with_less = asked(units, QUESTIONS["right1"])

    assert with_more == tuned != plain
    assert unheard == with_less == plain


def test_verdicts_become_questions_by_the_query_or_the_session_they_name(units: Recollection) -> None:
    first, other, bad = (row(units, name) for name in ("right1", "decoy1", "decoy2"))
    units.search(QUESTIONS["right1"], session="s", limit=60)
    units.flush()
    units.feedback(first, "used", session="s")
    units.feedback(other, "useful", session="s", query=QUESTIONS["right1"])
    units.feedback(bad, "useful", query="decoys?")
    units.feedback(bad, "wrong", query="decoys?")  # the last word counts
    units.feedback(bad, "wrong", session="s")
    units.feedback(first, "useful")
    units.feedback(first, "useful", session="another, in which nothing was recalled")

    found = from_feedback(units.store, scope=units.scope)

    (question,) = found.queries
    assert question == JudgedQuery(text=QUESTIONS["right1"], gains={first: 1, other: 1, bad: 0})
    assert found.left_out == {"verdicts without a query (give one: feedback --query, or --session)": 2}


def test_a_verdict_in_a_session_speaks_of_the_last_search_that_showed_the_memory(units: Recollection) -> None:
    for query in ("device x01q", "x01q broke", "device x02q"):
        units.search(query, session="s", limit=1, mode="keyword")
        units.flush()
    units.feedback(row(units, "right1"), "used", session="s")

    found = from_feedback(units.store, scope=units.scope)

    assert [question.text for question in found.queries] == ["x01q broke"]


def test_few_verdicts_are_too_few(units: Recollection) -> None:
    for name in list(QUESTIONS)[:12]:
        units.feedback(row(units, name), "useful", query=QUESTIONS[name])

    done = units.tune()

    assert (done.adopted, done.fitted.questions) == (False, 12)
    assert done.fitted.reason == "too few questions: 12, at least 20 are needed"


def test_a_file_names_memories_by_external_id_or_number_and_the_same_question_once(
    units: Recollection, tmp_path: Path
) -> None:
    one, two, three = (row(units, name) for name in ("right1", "right2", "right3"))
    table, lines = tmp_path / "judged.tsv", tmp_path / "judged.jsonl"
    table.write_text(f"query\tid\tgain\nfirst\tright1\t1\nsecond\tright2\t0\nfirst\t{three}\nthird\tnobody\t2\n")
    lines.write_text(
        json.dumps({"query": " first ", "relevant": {"right1": 1, str(three): 1.0}})
        + f'\n\n{{"query": "second", "relevant": [{two}, 999]}}\n'
    )

    by_table, by_lines = (from_file(path, units.store, scope=units.scope) for path in (table, lines))

    first = JudgedQuery(text="first", gains={one: 1, three: 1})
    assert by_table.queries == (first,)
    assert by_lines.queries == (first, JudgedQuery(text="second", gains={two: 1}))
    assert by_table.left_out == by_lines.left_out == {"ids that no memory here has": 1}


def test_a_project_is_judged_by_its_own_memories(units: Recollection, tmp_path: Path) -> None:
    other = Recollection(store=units.store, profile=units.profile, project="other", clock=lambda: NOON)

    done = other.tune(right(tmp_path))

    assert other.scope == Scope(projects=frozenset({"other"}))
    assert done.fitted.questions == 0
    assert done.left_out == {"ids that no memory here has": COUNT}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no tabs here", "judged.jsonl line 2 is no judgement: 'no tabs here'"),
        ("{", "judged.jsonl line 2 is not JSON"),
        ('{"relevant": ["a"]}', "judged.jsonl line 2 has no query"),
        ('{"query": "q"}', "judged.jsonl line 2 does not say what is relevant"),
        ('{"query": "q", "relevant": [null]}', "judged.jsonl line 2 names a memory by neither text nor number"),
        ('{"query": "q", "relevant": {"a": "much"}}', "judged.jsonl line 2: 'much' is no gain"),
        ("q\ta\t0.5", "judged.jsonl line 2: '0.5' is no gain"),
    ],
)
def test_a_bad_line_is_named_by_its_number(units: Recollection, tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(f'{{"query": "a fine line", "relevant": [1, "\\ud800", "x"]}}\n{line}\n')

    with pytest.raises(FileError) as error:
        units.tune(path)

    assert str(error.value).startswith(said)
    assert error.value.hint
