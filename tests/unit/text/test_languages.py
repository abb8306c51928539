"""The language of a text, and words by the stems of their language."""

import pytest

from recollect.records import Memory
from recollect.text.analyser import analyse
from recollect.text.languages import LANGUAGES, is_english, language_of, marker, stems_in
from recollect.text.tokenizer import WORDS

TOLD = {
    "german": ("Der Schlüssel liegt in der Schublade", "Die Häuser am Fluss wurden verkauft", "Schlüssel bei Müller"),
    "dutch": ("De sleutels van het huis liggen in de lade", "Ik woon in Utrecht", "Waar is mijn sleutel?"),
    "swedish": ("Nycklarna till huset ligger i lådan", "Var är mina nycklar?", "Jag bor i Malmö"),
    "danish": ("Hvor er mine nøgler?", "Jeg bor i Aarhus og arbejder hjemme", "Der er blevet noget til os"),
    "norwegian": ("Hvor er nøklene mine nå?", "Jeg har ikke noe å spise", "Hva skjer etter møtet, spør hun meg"),
    "finnish": ("Missä avaimet ovat?", "Minulla on koira ja kissa", "Hän ei ole täällä, koska sataa"),
    "french": ("Les clés de la maison sont dans le tiroir", "Où est la clé ?", "J'ai déménagé à Lyon en mars"),
    "spanish": ("Las llaves de la casa están en el cajón", "¿Dónde están las llaves?", "Reunión con María"),
    "italian": ("Le chiavi di casa sono nel cassetto", "Dove sono le chiavi?", "Non mangio più la carne"),
    "portuguese": ("As chaves da casa estão na gaveta", "Onde estão as chaves?", "Não gosto de café"),
    "russian": ("Ключи от дома лежат в ящике", "Где ключи?", "Я живу в Москве"),
    "polish": ("Klucze do domu są w szufladzie", "Gdzie są klucze?", "To nie jest mój samochód"),
}
ENGLISH = (
    "The keys of the house are in the drawer",
    "Rio de Janeiro",
    "I die on that hill",
    "El Capitan and La Jolla are in California",
    "Met Jürgen at the café",
    "Van Gogh and de Kooning",
    "sin deg cos var",
    "",
)
INFLECTED = {
    "german": (("Häuser", "Haus"), ("Bücher", "Buch"), ("Schluessel", "Schlüssel"), ("Straßen", "Strasse")),
    "dutch": (("afspraken", "afspraak"), ("huizen", "huis"), ("tafels", "tafel")),
    "swedish": (("bilarna", "bil"), ("nycklarna", "nycklar"), ("husets", "hus")),
    "danish": (("husene", "hus"), ("bilerne", "bil"), ("bøgerne", "bøger")),
    "norwegian": (("husene", "hus"), ("bilene", "bil"), ("nøklene", "nøkler")),
    "finnish": (("autossa", "auto"), ("talot", "talo"), ("kirjat", "kirja")),
    "french": (("nouvelles", "nouvelle"), ("mangerons", "manger"), ("médecins", "medecin")),
    "spanish": (("canciones", "canción"), ("médicos", "medico"), ("llaves", "llave")),
    "italian": (("ragazzi", "ragazzo"), ("riunioni", "riunione"), ("città", "citta")),
    "portuguese": (("ações", "ação"), ("chaves", "chave"), ("reunioes", "reunião")),
    "russian": (("ключами", "ключи"), ("московские", "московский"), ("ещё", "еще")),
    "polish": (("kluczami", "klucze"), ("domach", "domami"), ("książkami", "ksiazkami")),
}


def all_stems(word: str, language: str) -> set[str]:
    return {*WORDS[word].stems, *stems_in(word, language)}


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in TOLD.items() for text in texts])
def test_a_text_is_known_by_its_function_words(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", ENGLISH)
def test_english_with_foreign_names_in_it_is_english(text: str) -> None:
    assert language_of(text) == ""


@pytest.mark.parametrize(
    ("language", "one", "other"), [(name, *pair) for name, pairs in INFLECTED.items() for pair in pairs]
)
def test_two_forms_of_a_word_share_a_stem_in_its_language(language: str, one: str, other: str) -> None:
    assert all_stems(one, language) & all_stems(other, language)


def test_every_language_is_tested() -> None:
    assert set(LANGUAGES) == set(TOLD) == set(INFLECTED)


def test_a_memory_keeps_its_english_stems_and_has_those_of_its_language_beside_them() -> None:
    text = "Die Häuser wurden nicht verkauft"

    body = analyse(Memory(content=text), ()).stem["body"]

    assert body[:5] == tuple(stem for word in text.split() for stem in WORDS[word].stems)
    assert {marker("german"), "haus"} <= set(body[5:])


@pytest.mark.parametrize("text", ["The houses were not sold", "def area(die, das):\n    return die\n", "Haus"])
def test_english_and_code_have_the_stems_they_always_had(text: str) -> None:
    assert not any(stem.startswith("\u241e") for stem in analyse(Memory(content=text), ()).stem["body"])


@pytest.mark.parametrize("word", ["parseHtml", "a1", "データ", "der", "x_y", "½"])
def test_names_of_code_numbers_and_function_words_have_no_further_stems(word: str) -> None:
    assert stems_in(word, "german") == ()


@pytest.mark.parametrize(
    ("question", "english"), [("where are my keys", True), ("keys", False), ("wo ist der Schlüssel", False)]
)
def test_a_question_is_english_only_where_it_says_so(question: str, *, english: bool) -> None:
    assert is_english(question.lower().split()) is english
