import pytest

from kit import NOON
from recollect.profile import Words, load_profile
from recollect.records import AllOf, AndNot, AnyOf, Bigram, Expression, Phrase, Prefix, SubstringQuery, Word, WordQuery
from recollect.search.build_query import tiers_of
from recollect.search.limits import MAX_TERMS
from recollect.search.parse import parse


def tiers(text: str, *, profile: str = "default", **words: object) -> tuple[WordQuery | SubstringQuery, ...]:
    rules = Words(**words) if words else load_profile(profile).words  # type: ignore[arg-type]
    return tiers_of(parse(text, now=NOON), rules)


def expression(text: str, **options: object) -> Expression:
    (tier,) = tiers(text, **options)  # type: ignore[arg-type]
    assert isinstance(tier, WordQuery)
    return tier.expression


def exact(text: str) -> Word:
    return Word(text=text, form="exact")


@pytest.mark.req("O-01")
def test_plain_words_become_stems_joined_by_or_without_the_small_words() -> None:
    assert expression("how do we ship the boxes", join="or") == AnyOf(parts=(Word(text="ship"), Word(text="box")))


def test_two_words_that_follow_one_another_are_asked_together_too_whatever_small_words_stand_between() -> None:
    words = tuple(Word(text=text) for text in ("ship", "red", "box"))
    pairs = (Bigram(first="ship", second="red", weight=0.2), Bigram(first="red", second="box", weight=0.2))

    assert expression("how do we ship the red boxes") == AnyOf(parts=(*words, *pairs))
    assert expression("red OR boxes") == AnyOf(parts=(exact("red"), exact("boxes")))
    assert expression("retry retries") == AnyOf(parts=(Word(text="retri"),))


def test_small_words_are_asked_when_there_are_no_others_and_when_the_profile_says_so() -> None:
    assert expression("to be", join="or") == AnyOf(parts=(Word(text="to"), Word(text="be")))
    assert expression("the fox", join="or", drop_stopwords=False) == AnyOf(parts=(Word(text="the"), Word(text="fox")))


@pytest.mark.case(54)
def test_quotes_inside_words_are_removed_and_the_words_joined_by_or() -> None:
    assert expression('he"llo wo"rld', profile="oro") == AnyOf(parts=(Word(text="hello"), Word(text="world")))


@pytest.mark.req("C-02")
def test_cortex_joins_by_and() -> None:
    assert expression("memory Go", profile="cortex") == AllOf(parts=(Word(text="memori"), Word(text="go")))


@pytest.mark.case(49)
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("multi-agent", ("multi", "agent")),
        ("DEC-0054", ("dec", "0054")),
        ("gpt-4", ("gpt", "4")),
        ("foo-bar-baz", ("foo", "bar", "baz")),
    ],
)
def test_a_word_with_hyphens_is_a_phrase_where_every_word_must_match(text: str, parts: tuple[str, ...]) -> None:
    assert expression(text, profile="cortex") == AllOf(parts=(Phrase(texts=parts),))


def test_a_name_with_signs_is_asked_whole() -> None:
    assert expression("C++", profile="cortex") == AllOf(parts=(exact("c++"),))


def test_phrases_prefixes_and_exclusions_stand_beside_the_stems() -> None:
    wanted = AnyOf(parts=(Word(text="ship"), Phrase(texts=("red", "fox")), Prefix(text="de")))

    assert expression('ships "red fox" de* -cat') == AndNot(wanted=wanted, unwanted=AnyOf(parts=(exact("cat"),)))


@pytest.mark.parametrize("text", ["", "?!", "-cat", "type:note"])
@pytest.mark.parametrize("profile", ["default", "cortex", "boocode"])
def test_nothing_to_look_up_asks_nothing(text: str, profile: str) -> None:
    assert tiers(text, profile=profile) == ()


def test_a_very_long_question_asks_its_first_tokens() -> None:
    many = " ".join(f"w{n}" for n in range(999))
    plain, tree = expression(many), expression(many.replace(" ", " OR "))

    assert isinstance(plain, AnyOf)
    assert isinstance(tree, AnyOf)
    assert sum(isinstance(part, Word) for part in plain.parts) == MAX_TERMS
    assert sum(isinstance(part, Word) for part in tree.parts) == MAX_TERMS
    assert sum(isinstance(part, Bigram) for part in plain.parts) == MAX_TERMS
    assert plain.parts[0] == tree.parts[0] == Word(text="w0")


# --- boocode's cascade ----------------------------------------------------------------------


@pytest.mark.req("B-06", "B-08")
def test_the_cascade_asks_any_word_then_all_of_them_then_the_text() -> None:
    any_of, all_of, in_text = tiers("go fast Parsers", profile="boocode")

    assert isinstance(any_of, WordQuery)
    assert isinstance(all_of, WordQuery)
    leaves = (exact("go"), exact("fast"), exact("parsers"))
    assert (any_of.expression, all_of.expression) == (AnyOf(parts=leaves), AllOf(parts=leaves))
    assert in_text == SubstringQuery(needles=("fast", "parsers"))


@pytest.mark.req("B-07", "B-08")
@pytest.mark.case(69)
def test_a_chinese_question_asks_for_all_its_runs_then_for_the_text() -> None:
    all_of, in_text = tiers("vector 金银价格 人", profile="boocode")

    assert isinstance(all_of, WordQuery)
    assert all_of.expression == AllOf(parts=(exact("vector"), Phrase(texts=tuple("金银价格")), exact("人")))
    assert in_text == SubstringQuery(needles=("vector", "金银价格", "人"))
