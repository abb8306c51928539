"""What a task asks of memory, and when its answer is believed."""

import pytest

from recollect.recall.inject import task_query, trusted_as
from recollect.replies import Evidence, Outcome, Reply


def reply(query: str, outcome: Outcome, sure: float) -> Reply:
    evidence = Evidence(id=1, probability=sure, threshold=0.5)
    return Reply(query=query, mode="hybrid", profile="default", outcome=outcome, evidence=evidence)


@pytest.mark.req("O-19")
def test_a_task_is_asked_as_words_without_syntax() -> None:
    assert (
        task_query('fix: the "login"', description="NOT the -old one", tags=("web",))
        == "fix the login not the old one web"
    )


def test_a_weak_answer_is_believed_with_the_evidence_of_the_title() -> None:
    whole, title = reply("title and more", "weak", 0.3), reply("title", "answered", 0.8)

    believed = trusted_as(title, whole)

    assert (believed.query, believed.outcome, believed.evidence) == ("title and more", "answered", title.evidence)


@pytest.mark.parametrize(
    ("whole", "title"), [("weak", "weak"), ("weak", "none"), ("answered", "weak"), ("none", "answered")]
)
def test_any_other_answer_stays_as_it_is(whole: Outcome, title: Outcome) -> None:
    given = reply("title and more", whole, 0.4)

    assert trusted_as(reply("title", title, 0.9), given) is given
