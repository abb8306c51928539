"""Turns become statements: what lasts is kept in the speaker's words, everything else stays a turn."""

from datetime import UTC, datetime

import pytest

from recollect.remember.distill import SpokenTurn, Statement, distill, typed_words

AT = datetime(2026, 5, 6, 9, 0, tzinfo=UTC)


def person(words: str) -> SpokenTurn:
    return SpokenTurn(by_person=True, words=words, at=AT)


def agent(words: str) -> SpokenTurn:
    return SpokenTurn(by_person=False, words=words, at=AT)


def kept(*turns: SpokenTurn) -> list[Statement]:
    return distill(turns)


@pytest.mark.parametrize(
    "said",
    [
        "Always run the linter before you open a merge request.",
        "never log the customer's e-mail address",
        "Please don't ever push to the release branch.",
        "we use bun in this repo, not yarn",
        "Indentation is four spaces here, not tabs.",
        "I prefer small functions over clever ones",
        "From now on the nightly build runs at 03:00 UTC.",
        "The staging database lives on db-stage-3, port 6433.",
        "Marta owns the billing service, ask her about invoices",
        "let's use Postgres for the queue",
    ],
)
def test_rules_preferences_and_facts_of_a_person_are_kept_as_the_owners_words(said: str) -> None:
    (statement,) = kept(person(said))

    assert statement.owner
    assert statement.content.rstrip(".") in said
    assert statement.until is None


@pytest.mark.parametrize(
    "said",
    [
        "ok thanks",
        "run the tests",
        "can you always sort the imports?",
        "what if we never cached anything",
        "sure, let's always deploy blindfolded lol",
        "maybe we should use Kafka some day",
        "push it and open the merge request",
        "it works on my machine, great",
        "i never understood that part",
    ],
)
def test_tasks_questions_jokes_and_hypotheticals_are_not_kept(said: str) -> None:
    assert kept(person(said)) == []


def test_pasted_text_makes_no_rules() -> None:
    ticket = "the ticket says:\n\n> Always use two-factor login.\n> Never store passwords.\n\nwhat do you think?"
    manual = 'from the manual: "You must always flush the buffer. Never call close() twice in a row."'
    code = "look at this\n```\n# always call init first\nnever()\n```"

    assert kept(person(ticket), person(manual), person(code)) == []


def test_what_is_taken_back_in_the_next_turn_is_dropped() -> None:
    turns = (
        person("use tabs everywhere from now on"),
        agent("Tabs, then."),
        person("no wait, forget that, spaces stay"),
    )

    assert not any("tabs" in each.content for each in kept(*turns))


def test_a_picked_option_is_a_decision_with_the_words_of_the_option() -> None:
    options = "Two ways:\n\n1. a cron job on the host\n2. a queue with retries\n\nWhich one?"

    (decision,) = kept(agent(options), person("lets do 2"))

    assert (decision.type, decision.owner) == ("decision", False)
    assert "queue with retries" in decision.content


def test_a_temporary_exception_says_until_when() -> None:
    (by_date,) = kept(person("until the fair is over (May 20) nothing in the ticket shop gets changed"))
    (by_week,) = kept(person("this week only: ask me before you merge anything to main"))

    assert by_date.until is not None
    assert by_date.until.date().isoformat() == "2026-05-21"
    assert by_week.until is not None
    assert by_week.until > AT


def test_what_holds_in_all_projects_says_so() -> None:
    (statement,) = kept(person("in all my repos: never commit without running the formatter"))

    assert statement.everywhere


def test_cause_and_remedy_that_the_agent_found_are_a_gotcha_about_the_complaint() -> None:
    found = (
        "Found it: the worker loses its connection because the proxy closes idle sockets after 60 s. "
        "Fix: set `keepalive = 30` in `worker.toml`."
    )

    (gotcha,) = kept(person("why does the worker hang every night"), agent(found))

    assert (gotcha.type, gotcha.owner) == ("gotcha", False)
    assert "keepalive" in gotcha.content
    assert "hang" in gotcha.topic


def test_steps_of_a_procedure_stay_together() -> None:
    (statement,) = kept(person("the release goes like this: 1. bump the version 2. tag it 3. wait for the pipeline"))

    assert statement.type == "procedure"
    assert "bump" in statement.content
    assert "pipeline" in statement.content


def test_logs_below_a_prompt_are_not_what_a_person_typed() -> None:
    said = "look at this:\n\nERROR always retry\nERROR never give up\nERROR must restart"

    assert "retry" not in typed_words(said)
