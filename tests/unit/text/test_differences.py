import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.differences import KINDS, Said, differences, said, singular


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("keep three copies", "keep 3 copies"),
        ("keep twenty five copies", "keep 25 copies"),
        ("keep twenty-five copies", "keep 25 copies"),
        ("a queue of 10k jobs", "a queue of 10,000 jobs"),
        ("a queue of two hundred thousand jobs", "a queue of 200000 jobs"),
        ("1.5 million rows", "1500000 rows"),
        ("the 2nd attempt", "the second attempt"),
        ("wait 5 minutes", "wait 5min"),
        ("wait 40 ms", "wait 40ms"),
        ("it costs $5", "it costs 5 dollars"),
        ("about 10%", "about 10 percent"),
        ("due on March 5, 2026", "due on 2026-03-05"),
        ("due on 5th of March 2026", "due on Mar 5 2026"),
        ("at 3pm", "at 15:00"),
        ("on Mondays", "on Monday"),
        ("on Tues", "on Tuesday"),
        ("it isn't safe", "it is not safe"),
        ("Run `make all` first", "Run make all first"),
        ("we use Postgres", "we use PostgreSQL"),
        ("Use Redis", "Prefer Redis"),
        ("The tests are green", "tests are green"),
        ("set `dry_run` here", "set dry_run here"),
    ],
)
def test_two_spellings_of_one_value_are_no_difference(a: str, b: str) -> None:
    assert differences(a, b) == ()


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("limit is 3", "limit is 5", "number"),
        ("limit is 1.10", "limit is 1.1", "number"),
        ("limit is -5", "limit is 5", "number"),
        ("limit is 20 5", "limit is 25", "number"),
        ("4 of 6", "6 of 4", "number"),
        ("a dozen cats", "ten cats", "number"),
        ("id 12345678901234567890", "id 12345678901234567891", "number"),
        ("the first try", "the third try", "number"),
        ("大小是 20", "大小是 50", "number"),
        ("三个节点", "五个节点", "number"),
        ("on 2026-03-05", "on 2026-03-06", "date"),
        ("in May", "in June", "date"),
        ("on Monday", "on Tuesday", "date"),
        ("at 9:30 am", "at 9:30 pm", "date"),
        ("since 2019", "since 2020", "date"),
        ("last week", "next week", "date"),
        ("last Monday", "last Friday", "date"),
        ("yesterday", "today", "date"),
        ("needs Python 3.11", "needs Python 3.12", "version"),
        ("since v2.4.1", "since v2.4.2", "version"),
        ("pin 1.0.21", "pin 1.0.12", "version"),
        ("release 2.10", "release 2.1", "version"),
        ("over HTTP/2", "over HTTP/3", "version"),
        ("wait 5 s", "wait 5 min", "unit"),
        ("wait 1.5 s", "wait 1.5 h", "unit"),
        ("100 Mb", "100 MB", "unit"),
        ("rotated weekly", "rotated monthly", "unit"),
        ("每30分钟", "每30小时", "unit"),
        ("it works", "it never works", "negation"),
        ("it is on", "it is off", "negation"),
        ("enable it", "disable it", "negation"),
        ("allowed here", "denied here", "negation"),
        ("before lunch", "after lunch", "negation"),
        ("it increases", "it decreases", "negation"),
        ("supported", "unsupported", "negation"),
        ("with locks", "without locks", "negation"),
        ("可以访问", "不可以访问", "negation"),
        ("使える", "使えない", "negation"),
        ("사용한다", "사용하지 않는다", "negation"),
        ("ask Ann", "ask Ben", "name"),
        ("Ann knows", "Ben knows", "name"),
        ("William knows", "Williams knows", "name"),
        ("ship to US", "ship to us", "name"),
        ("in JavaScript", "in TypeScript", "name"),
        ("call parseHeader", "call parseFooter", "code"),
        ("it becomes SomeVar", "it becomes someVar", "code"),
        ("in settings.toml", "in secrets.toml", "code"),
        ("set `Foo`", "set `foo`", "code"),
        ("when a == b", "when a != b", "code"),
        ("use --no-cache", "use --no-color", "code"),
        ("see https://example.com/a", "see https://example.com/b", "code"),
        ("code E1042", "code E1024", "code"),
    ],
)
def test_another_value_is_a_difference_of_its_kind(a: str, b: str, kind: str) -> None:
    assert kind in differences(a, b)


@pytest.mark.parametrize("a", ["Deploy on time", "Always deploy on time", "Please deploy on time", "We deploy on time"])
def test_an_ordinary_word_that_opens_a_sentence_is_nobodys_name(a: str) -> None:
    assert differences(a, "deploy on time") == ()


def test_the_kinds_come_in_a_fixed_order() -> None:
    found = differences("Ann has 3 cats in May", "Ben has no 4 cats in June")

    assert found == ("number", "date", "negation", "name")
    assert list(found) == sorted(found, key=KINDS.index)


def test_a_text_is_read_word_by_word_with_its_values_named() -> None:
    assert said("Ann waits 5s on Mar 5, 2026") == (
        Said("name", "ann"),
        Said("word", "waits"),
        Said("number", "5"),
        Said("unit", "second"),
        Said("word", "on"),
        Said("date", "2026-03-05"),
    )


@pytest.mark.parametrize(
    ("word", "one"), [("files", "file"), ("boxes", "box"), ("entries", "entry"), ("status", "status"), ("bus", "bus")]
)
def test_a_plural_has_its_singular(word: str, one: str) -> None:
    assert singular(word) == one


_TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("0123456789 .,:/-`'$%不ない Aa")), max_size=80)


@given(_TEXTS)
def test_a_text_never_differs_from_itself(text: str) -> None:
    assert differences(text, text) == ()


@given(_TEXTS, _TEXTS)
def test_differing_is_mutual(a: str, b: str) -> None:
    assert differences(a, b) == differences(b, a)


@given(st.integers(0, 10**18), st.integers(0, 10**18), st.sampled_from(["port {}", "{} jobs", "it is {}.", "a {} b"]))
def test_two_numbers_in_one_place_always_differ(one: int, other: int, frame: str) -> None:
    assert (differences(frame.format(one), frame.format(other)) == ()) == (one == other)
