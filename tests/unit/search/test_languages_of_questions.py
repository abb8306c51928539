"""Questions in other languages than English: stems of the store's languages, compounds, accents, CJK words."""

import pytest

import recollect
from recollect.recollection import Recollection
from recollect.records import NearWord
from recollect.search.languages import compounds, split_compound

NOTES = (
    "Der Haustürschlüssel liegt in der Schublade im Flur",
    "Die Häuser am Fluss wurden alle verkauft",
    "Meine Krankenversicherung heißt Barmer",
    "Die Straßenbahn fährt nicht nach Mitternacht",
    "Les clés de la voiture sont dans le tiroir",
    "Nous avons mangé des gâteaux chez les voisins",
    "Los médicos cambiaron la receta de mi madre",
    "Ключи от дома лежат в ящике стола",
    "The keys of the car are on the table",
    "Our old platform has no notes on the houses it held",
)
VOCABULARY = dict.fromkeys(("haustur", "schlussel", "haus", "tur", "die", "mal", "versicherung", "nummer"), 2)


@pytest.fixture
def notes() -> Recollection:
    db = recollect.open(":memory:", model="none")
    for note in NOTES:
        db.add(note)
    return db


def found(db: Recollection, question: str) -> list[str]:
    return [hit.memory.content for hit in db.search(question).hits]


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Schlüssel", 0),
        ("Wo ist der Schluessel?", 0),
        ("Haustuerschluessel", 0),
        ("Haus", 1),
        ("Versicherung", 2),
        ("Strassenbahnen", 3),
        ("clé", 4),
        ("gateau", 5),
        ("médico", 6),
        ("ключами", 7),
        ("where are the keys", 8),
    ],
)
def test_a_memory_is_found_by_other_forms_of_its_words(notes: Recollection, question: str, place: int) -> None:
    assert found(notes, question)[:1] == [NOTES[place]]


def test_what_is_found_by_a_stem_of_its_language_is_marked(notes: Recollection) -> None:
    hit = notes.search("Haus").hits[0]

    assert "[Häuser]" in hit.snippet


def test_a_question_in_english_is_asked_as_if_the_store_were_english(notes: Recollection) -> None:
    english = recollect.open(":memory:", model="none")
    for note in NOTES[-2:]:
        english.add(note)

    both = [found(each, "what notes are on the platform") for each in (notes, english)]

    assert both == [[NOTES[9]], [NOTES[9]]]


def test_function_words_of_the_language_asked_in_find_nothing(notes: Recollection) -> None:
    assert found(notes, "Wo ist der Regenschirm, und wie?") == []


def test_only_languages_of_the_projects_searched_are_asked_for() -> None:
    db = recollect.open(":memory:", model="none")
    db.add("Die Häuser wurden nicht verkauft", project="de")
    db.add("haus rules", project="en")

    answers = [[hit.memory.project for hit in db.search("Häuser", project=name).hits] for name in ("de", "en")]

    assert answers == [["de"], []]


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("hausturschlussel", ("haustur", "schlussel")),
        ("versicherungsnummer", ("versicherung", "nummer")),
        ("diesmal", ()),
        ("nummer", ()),
    ],
)
def test_a_compound_is_split_where_the_store_knows_both_parts(word: str, parts: tuple[str, ...]) -> None:
    assert split_compound(word, VOCABULARY) == parts


@pytest.mark.parametrize(
    ("word", "is_compound"),
    [("hausturschlussel", True), ("schlusselbund", True), ("schlussels", False), ("aufschlusselung", False)],
)
def test_a_compound_begins_or_ends_with_its_part(word: str, *, is_compound: bool) -> None:
    holding = {"schlussel": [NearWord(text=word, distance=1, frequency=1)]}

    assert compounds(["schlussel"], holding) == ([word] if is_compound else [])


@pytest.mark.parametrize(
    ("note", "question", "is_found"),
    [
        ("데이터베이스를 어제 옮겼다", "데이터베이스는 어디에", True),
        ("돈은 통장에 있다", "돈을 어디에 두었나", True),
        ("나는 바다를 본다", "고양이는", False),
        ("新しいデータベースの移行", "データベース", True),
        ("ベータ版", "データ", True),
        ("すもも", "ももんが", True),
        ("すし", "しお", False),
        ("茶を飲む", "お茶", True),
    ],
)
def test_a_sound_by_itself_is_no_word_of_a_question(note: str, question: str, *, is_found: bool) -> None:
    db = recollect.open(":memory:", model="none")
    db.add(note)

    assert (found(db, question) == [note]) is is_found
