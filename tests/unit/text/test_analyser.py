import hashlib
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.records import FIELDS, Context, Memory
from recollect.text.analyser import ANALYSER, ENOUGH, SENTINEL, analyse, informative_words, telling_path
from recollect.text.tokenizer import read_words

USER = "ann"
TEXTS = st.text(st.characters())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8)


def test_every_part_of_a_memory_has_its_field() -> None:
    memory = Memory(
        content="body words",
        title="heading",
        tags=("red tag", "blue"),
        source="notes/file.md",
        section="Deploys > Monday",
        context=Context(before="earlier", after="later", around="further"),
        metadata={"name": "nickname", "path": "src/main.py", "colour": "green"},
        observed_at=datetime(2023, 5, 8, 23, 30, tzinfo=UTC),
    )

    exact = analyse(memory, ("another wording",)).exact

    assert exact == {
        "title": ("heading", "nickname"),
        "body": ("body", "words", "another", "wording"),
        "before": ("earlier",),
        "after": ("later",),
        "around": ("further",),
        "section": ("deploys", "monday"),
        "tags": ("red", "tag", "blue"),
        "path": (
            "notes",
            "file",
            "md",
            "src",
            "main",
            "py",
            SENTINEL,
            "notes/file.md",
            "file.md",
            "src/main.py",
            "main.py",
        ),
        "date": ("8", "may", "2023", "2023", "05", "08", SENTINEL, "2023-05-08"),
        "extra": ("green",),
    }
    assert set(exact) == set(FIELDS)


@pytest.mark.req("N-01")
@pytest.mark.parametrize(
    ("memory", "field"),
    [
        (Memory(content="needle"), "body"),
        (Memory(content="", title="needle"), "title"),
        *(
            (Memory(content="", metadata={key: "needle"}), field)
            for key, field in [
                ("text", "extra"),
                ("name", "title"),
                ("description", "extra"),
                ("path", "path"),
                ("workerRole", "extra"),
                ("worker_role", "extra"),
                ("requirements", "extra"),
            ]
        ),
    ],
)
def test_a_word_is_indexed_wherever_a_record_keeps_it(memory: Memory, field: str) -> None:
    terms = analyse(memory, ())

    assert terms.stem == {field: ("needl",)}
    assert terms.exact == {field: ("needle",)}


def test_a_field_without_words_is_absent() -> None:
    memory = Memory(content="...", title="!", tags=("", "-"), source="", section="", metadata={"a": None, "b": True})

    terms = analyse(memory, ("", "?"))

    assert (terms.stem, terms.exact, terms.minhash) == ({}, {}, ())


def test_only_the_date_a_memory_speaks_of_is_indexed() -> None:
    written_down = Memory(content="x", created_at=datetime(2023, 5, 8, tzinfo=UTC))

    assert "date" not in analyse(written_down, ()).exact


@pytest.mark.parametrize("question", ["8 May 2023", "2023-05-08", "May"])
def test_a_date_is_found_as_people_and_as_programs_write_it(question: str) -> None:
    terms = analyse(Memory(content="x", observed_at=datetime(2023, 5, 8, tzinfo=UTC)), ())

    wanted = {stem for word in read_words(question) for stem in word.stems}

    assert wanted <= set(terms.stem["date"])


def test_other_forms_stand_behind_the_sentinel_and_not_twice() -> None:
    terms = analyse(Memory(content="parseHTTP with foo-bar, then parse"), ())

    assert terms.exact["body"] == ("parsehttp", "with", "foo", "bar", "then", "parse", SENTINEL, "http", "foo-bar")
    assert terms.stem["body"] == ("parsehttp", "pars", "http", "with", "foo", "bar", "foo-bar", "then", "pars")


def test_no_question_holds_the_sentinel() -> None:
    assert read_words(SENTINEL) == ()
    assert [word.tokens for word in read_words(f"a{SENTINEL}b")] == [("a",), ("b",)]


def test_metadata_is_flattened_in_an_order_of_its_own() -> None:
    one = Memory(content="", metadata={"z": ["deep", {"b": 2, "a": "one"}], "c": 1.5, "text": "first"})
    other = Memory(content="", metadata={"text": "first", "c": 1.5, "z": ("deep", {"a": "one", "b": 2})})

    extra = analyse(one, ()).exact["extra"]

    assert extra == ("first", "1", "5", "deep", "one", "2", SENTINEL, "1.5")
    assert analyse(other, ()).exact["extra"] == extra


def test_metadata_that_holds_itself_or_no_end_of_digits_does_no_harm() -> None:
    circle: list[object] = ["once", 10**5000]
    circle.append(circle)

    terms = analyse(Memory(content="", metadata={"circle": circle, "again": circle}), ())

    assert terms.exact == {"extra": ("once", "once")}


def test_metadata_nested_deeper_than_python_calls_is_read() -> None:
    nest: object = "core"
    for _ in range(50_000):
        nest = [nest]

    terms = analyse(Memory(content="", metadata={"nest": nest}), ())

    assert terms.exact == {"extra": ("core",)}


@pytest.mark.req("N-10")
def test_plain_words_are_indexed_by_stem_and_by_form() -> None:
    terms = analyse(Memory(content="The kinases deployed"), ())

    assert terms.stem == {"body": ("the", "kinas", "deploy")}
    assert terms.exact == {"body": ("the", "kinases", "deployed")}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"/home/{USER}/vault/areas/money/rent.md", "areas/money/rent.md"),
        (f"/home/{USER}/rent.md", "rent.md"),
        (f"/Users/{USER}/money/rent.md", "money/rent.md"),
        (f"C:/Users/{USER}/money/rent.md", "money/rent.md"),
        ("/{}/rent.md".format("root"), "rent.md"),
        ("/rootless/rent.md", "rootless/rent.md"),
        ("/srv/data/teams/home/rent.md", "teams/home/rent.md"),
        ("a/b/c/d/rent.md", "a/b/c/d/rent.md"),
        ("https://example.com/a/b/c/rent", "https://example.com/a/b/c/rent"),
        ("", ""),
    ],
)
def test_of_a_path_the_file_and_two_folders_count_but_never_the_home_of_a_user(source: str, told: str) -> None:
    assert telling_path(source) == told


def test_near_duplicates_share_a_key_and_stop_words_do_not_count() -> None:
    one = analyse(Memory(content="always run ruff before pyright for linting"), ())
    other = analyse(Memory(content="You always run the ruff before pyright, for linting!"), ())

    assert one.minhash == other.minhash


def test_a_memory_of_stop_words_has_keys_as_well() -> None:
    assert analyse(Memory(content="to be or not to be"), ()).minhash


def test_the_keys_are_those_of_the_content_alone() -> None:
    bare = Memory(content="ruff before pyright")
    dressed = Memory(content="ruff before pyright", title="Linting", tags=("python",))

    assert analyse(dressed, ("a wording",)).minhash == analyse(bare, ()).minhash


SAMPLE = (
    "Deployments were running; the kinases don't.",
    "parseHTTPResponse in path/to/file.py, v1.0.21 by o'brien@example.com",
    "人工智能教程 検索品質について 검색 품질 ｶﾞ か\u3099",
    "CAFÉ Straße Łódź Οδυσσεύς नमस्ते 🎉 ½",
    "def area(width):\n    return width * 2\n",
    "Die Häuser am Fluss sind nicht verkauft; データベースを 데이터베이스에서는",
)


def test_what_changes_a_token_changes_the_version_of_the_analyser() -> None:
    about = Memory(
        content="",
        source=f"/home/{USER}/notes/work/deploys.md",
        observed_at=datetime(2023, 5, 8, tzinfo=UTC),
        context=Context(before="one two three four " * 20, around="日本 " * 200),
    )
    terms = [analyse(replace(about, content=text), ()) for text in SAMPLE]
    told = json.dumps([[each.stem, each.exact, each.minhash, each.code] for each in terms])

    digest = hashlib.sha256(told.encode()).hexdigest()[:16]

    assert (ANALYSER, digest) == (4, "2491effa692ff76a"), "other tokens: give ANALYSER the next number"


@given(TEXTS, TEXTS, st.lists(TEXTS), st.dictionaries(TEXTS, VALUES), st.none() | st.datetimes())
def test_no_memory_raises_and_both_forms_have_the_same_fields(
    content: str, title: str, texts: list[str], metadata: dict[str, object], observed: datetime | None
) -> None:
    memory = Memory(content=content, title=title, tags=tuple(texts), metadata=metadata, observed_at=observed)

    terms = analyse(memory, texts)

    assert terms.stem.keys() == terms.exact.keys()
    assert set(terms.stem) <= set(FIELDS)
    assert all(terms.stem.values())
    assert all(terms.exact.values())


@given(TEXTS)
def test_a_memory_is_found_by_each_of_its_words(content: str) -> None:
    terms = analyse(Memory(content=content), ())

    for word in read_words(content.replace('"', " ")):
        assert set(word.stems) <= set(terms.stem["body"])
        assert set(word.tokens) <= set(terms.exact["body"])


# --- informativeness ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("What now?", 0),
        ("Really?! Where was that?", 0),
        ("I moved to Leeds. And you?", 4),
        ("Did you? I moved to Leeds", 4),
        ("We use PostgreSQL 16 at work!", 6),
        ("one line\nanother line?\nthe third", 4),
        ("\u4f60\u597d\u3002\u4f60\u53eb\u4ec0\u4e48\uff1f", 1),
        ("?!?", 0),
    ],
)
def test_the_words_of_sentences_that_are_no_questions_are_counted(text: str, words: int) -> None:
    assert informative_words(text) == words


def test_a_long_text_tells_enough_without_being_counted() -> None:
    assert informative_words("Why? " * ENOUGH) == ENOUGH
