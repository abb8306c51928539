"""Every script is searched: Chinese, Japanese and Korean by any part of a word, others by their words."""

import pytest

from recollect import Memory, Recollection
from recollect.profile import BUILT_IN

ZH = "人工智能教程"
TEXTS = {
    "zh": "这里介绍 vector 数据库和关键词检索。",
    "ja": "この文書は検索品質とトークン化について説明します。",
    "ko": "이 문서는 검색 품질과 토큰화 문제를 설명합니다.",
}
NOISE = ("a bird", "the cow", "天気がいい", "오늘은 날씨가 좋다", "明天下雨", "many bees")
# A part of each text: one, two and three characters long, then longer; then ASCII glued to it.
SHORT = {
    "zh": ("据", "检索", "数据库", "关键词检索"),
    "ja": ("書", "検索", "検索品", "トークン化", "について"),
    "ko": ("색", "검색", "토큰화", "검색 품질", "설명합니다"),
}


def found(db: Recollection, query: str, *, profile: str = "default") -> list[int]:
    return [hit.id for hit in db.search(query, profile=profile).hits]


@pytest.mark.req("B-07")
@pytest.mark.case(67)
@pytest.mark.parametrize("profile", BUILT_IN)
@pytest.mark.parametrize("query", ["人工智能", "智能", "教程", "人"])
def test_any_part_of_a_chinese_text_finds_it_before_and_after_an_update(
    db: Recollection, query: str, profile: str
) -> None:
    crowd = (f"entry {n} of the ledger, written by hand on paper and signed" for n in range(60))
    db.add_all([Memory(content=text, external_id=text) for text in crowd])
    row = db.add(ZH, external_id="book").id

    before = found(db, query, profile=profile)
    updated = db.add(f"{ZH} 第二版", external_id="book")

    assert (updated.id, updated.decision) == (row, "identical")
    assert before == found(db, query, profile=profile) == [row]
    assert found(db, "第二版", profile=profile) == [row]


@pytest.mark.case(68)
@pytest.mark.parametrize(("language", "query"), [(name, query) for name, parts in SHORT.items() for query in parts])
def test_one_two_and_three_characters_find_their_text(db: Recollection, language: str, query: str) -> None:
    rows = {name: db.add(text, external_id=name).id for name, text in TEXTS.items()}
    db.add_all([Memory(content=text) for text in NOISE])

    first = found(db, query)
    db.add(f"{TEXTS[language]} ok", external_id=language)

    assert first[0] == found(db, query)[0] == rows[language]


@pytest.mark.case(68)
@pytest.mark.parametrize("profile", ["default", "boocode"])
def test_words_of_two_scripts_are_found_together(db: Recollection, profile: str) -> None:
    row = db.add(TEXTS["zh"]).id
    db.add("另一个数据库")

    assert found(db, "vector 关键词", profile=profile)[0] == row


@pytest.mark.parametrize("profile", BUILT_IN)
@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("Redis的版本至少要7.2", ("Redis", "7.2", "版本")),
        ("我们用Python写服务", ("python", "用Python写")),
        ("質問は#addressチャンネルへ", ("address", "チャンネル")),
        ("오늘은 API서버를 고쳤다", ("api", "서버")),
    ],
)
def test_ascii_glued_to_other_characters_is_found(
    db: Recollection, text: str, queries: tuple[str, ...], profile: str
) -> None:
    row = db.add(text, external_id="x").id
    db.add_all([Memory(content=f"{noise} {n}", external_id=f"{n}{noise}") for n in range(3) for noise in NOISE])

    before = [found(db, query, profile=profile)[:1] for query in queries]
    db.add(f"{text}!", external_id="x")
    after = [found(db, query, profile=profile)[:1] for query in queries]

    assert before == after == [[row]] * len(queries)


@pytest.mark.case(69)
def test_a_chinese_question_without_spaces_is_a_question(db: Recollection) -> None:
    row = db.add("今天的金银价格上涨").id
    db.add("今天的天气")

    assert found(db, "金银价格") == [row]


@pytest.mark.case(70)
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("ภาษาไทยเป็นภาษาที่มีวรรณยุกต์", "ภาษาไทยเป็นภาษาที่มีวรรณยุกต์"),
        ("قواعد البيانات سريعة", "البيانات"),
        ("हिन्दी में लिखा हुआ", "हिन्दी"),
        ("ΣΟΦΌΣ ΛΌΓΟΣ", "λόγος"),
        ("λόγος και έργο", "ΛΟΓΟΣ"),
        ("Москва не сразу строилась", "москва"),
        ("שלום לכולם", "שלום"),
        ("Straße nach Köln", "strasse"),
    ],
)
def test_other_scripts_are_found_by_their_words(db: Recollection, text: str, query: str) -> None:
    row = db.add(text).id
    db.add_all([Memory(content=noise) for noise in NOISE])

    assert found(db, query) == [row]


def test_a_phrase_of_characters_is_exactly_that_substring(db: Recollection) -> None:
    row = db.add("数据库检索很快").id
    db.add("检索数据。库存很多")

    assert found(db, '"数据库检索"') == [row]
    assert found(db, "数据库 AND 很快") == [row]


def test_a_snippet_marks_a_run_of_characters_as_one(db: Recollection) -> None:
    db.add(TEXTS["zh"])

    (hit,) = db.search("关键词检索").hits

    assert "和[关键词检索]。" in hit.snippet


# --- boocode's tiers ------------------------------------------------------------------------


@pytest.mark.req("B-06")
def test_boocode_asks_words_first_and_maps_their_scores_into_zero_to_one(db: Recollection) -> None:
    db.add_all([Memory(content=f"cat {'dog ' * n}", external_id=str(n)) for n in range(1, 6)])
    db.add_all([Memory(content=text) for text in NOISE])

    hits = db.search("cat dog", profile="boocode").hits

    assert len(hits) == 5
    assert all(0.0 <= hit.score < 1.0 for hit in hits)
    assert len({hit.score for hit in hits}) > 1


@pytest.mark.req("B-07")
def test_boocode_joins_runs_and_words_of_a_chinese_question_with_and(db: Recollection) -> None:
    both = db.add("用 vector 做关键词检索").id
    db.add("关键词检索的历史")
    db.add("the vector of a plane")

    assert found(db, "vector 关键词", profile="boocode") == [both]


@pytest.mark.req("B-08")
def test_boocode_looks_into_the_text_itself_when_the_index_finds_nothing(db: Recollection) -> None:
    inside = db.add("The hyperparameters were tuned").id
    some = db.add("历史上的今天").id

    assert found(db, "parameter", profile="boocode") == [inside]
    assert found(db, "昨天历史 今日", profile="boocode") == []
    assert found(db, "历史 昨天", profile="boocode") == [some]
    assert found(db, "yp", profile="boocode") == []


@pytest.mark.req("B-08")
@pytest.mark.case(71)
def test_in_the_text_itself_each_term_that_stands_there_counts(db: Recollection) -> None:
    texts = ("alphabet", "alphabet betamax", "alphabet betamax gammaray", "alphabet betamax gammaray deltawing")
    rows = [db.add(text, external_id=text).id for text in texts]

    hits = db.search("lphab etama ammar eltawi", profile="boocode").hits

    assert [hit.id for hit in hits] == rows[::-1]
    assert [hit.score for hit in hits] == pytest.approx([0.85, 0.75, 0.60, 0.45])
