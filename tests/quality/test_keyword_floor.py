"""Words alone find at least what FTS5 finds with its porter stemmer, on judged questions."""

from pathlib import Path

import pytest

from recollect.evaluate.corpus import EvalResources
from recollect.evaluate.evaluate import Plan, evaluate, read_sets
from recollect.profile import load_profile


@pytest.mark.parametrize(("collection", "floor"), [("scifact", 0.687), ("cranfield", 0.420), ("locomo", 0.439)])
@pytest.mark.req("C-07")
def test_the_words_of_a_question_find_at_least_what_fts5_finds(
    collection: str, floor: float, shared_data: Path
) -> None:
    sets = read_sets([shared_data / collection])
    plan = Plan(sets=sets, profiles={"default": load_profile("default")}, modes=("keyword",))

    (run,) = evaluate(plan, EvalResources()).runs

    assert run.measures["ndcg@10"] >= floor
