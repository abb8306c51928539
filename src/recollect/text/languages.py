"""Find the language of a text by its function words, and stem a word as that language does.

English is what everything else is told from, and stays as `recollect.text.tokenizer` stems it: stems of other
languages stand beside those. What is found depends on the text alone, so that an index made anew finds the same. A
question that is not plainly English is stemmed by every language that the store holds, which the index tells by one
marker in each memory of another language than English.
"""

# ruff: noqa: RUF001  (Cyrillic letters are meant)

import threading
from collections.abc import Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import Stemmer  # type: ignore[import-not-found]  # the wheel brings no types

from recollect.lazy import regex
from recollect.text.normalise import compiled, fold
from recollect.text.tokenizer import LONGEST, STOPWORDS, WORDS, analyse_text, segment

_WORDS: Final = {
    "german": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen und oder aber denn weil wenn dass
        ob ich du er sie es wir ihr mich mir dich dir ihm ihn ihnen uns euch mein meine meinen meiner dein sein seine
        ihre ihren unser unsere wer was wo wann wie warum welche welcher welches wohin woher ist sind war waren bin
        bist wird werden wurde wurden hat haben habe hatte kann muss soll will in im an am auf aus bei beim mit nach
        von vom vor zu zum zur um durch gegen ohne unter nicht auch noch nur schon sehr hier dort jetzt immer als so
        man dieser diese dieses diesem liegt steht gibt zwischen seit bis
    """,
    "dutch": """
        de het een en of maar want omdat als dat dit deze die ik jij je hij zij ze wij we jullie mijn jouw zijn haar
        ons onze hun wie wat waar wanneer waarom hoe welke is was waren ben bent wordt worden werd heeft hebben heb
        had kan moet zal wil in op aan uit bij met naar van voor te tot om door tegen zonder onder over niet ook nog
        alleen al zeer hier daar nu altijd er geen dan ligt staat tussen sinds
    """,
    "swedish": """
        den det de en ett och eller men att som om jag du han hon vi ni mig dig honom henne oss min mitt mina din ditt
        sin sitt sina vem vad var varför när hur vilken vilket vilka är blir blev har hade kan måste ska skall vill i
        på av från till med utan för genom mot under över inte också bara redan mycket här där nu alltid så än detta
        denna dessa ligger finns mellan
    """,
    "danish": """
        den det de en et og eller men at som hvis jeg du han hun vi mig dig ham hende os min mit mine din dit sin sit
        hvem hvad hvor hvorfor hvornår hvordan hvilken hvilket hvilke er var bliver blev har havde kan skal vil i på
        af fra til med uden for gennem mod under over ikke også kun allerede meget her der nu altid så end dette denne
        disse ligger findes mellem efter blevet noget nogle
    """,
    "norwegian": """
        den det de en et ei og eller men å at som hvis jeg du han hun vi dere meg deg ham henne oss min mitt mine din
        ditt sin sitt hvem hva hvor hvorfor når hvordan hvilken hvilket hvilke er var blir ble har hadde kan skal vil
        i på av fra til med uten for gjennom mot under over ikke også bare allerede mye her der nå alltid så enn dette
        denne disse ligger finnes mellom etter blitt noe noen
    """,
    "finnish": """
        ja tai mutta koska jos että kun kuin minä sinä hän me te he minun sinun hänen meidän teidän heidän minulla
        sinulla hänellä kuka mikä mitä missä mistä mihin milloin miksi miten on ovat oli olivat olen olisi olet ole ei
        en eivät ollut voi pitää tämä tuo se nämä ne joka jotka myös vain jo hyvin täällä siellä nyt aina kanssa ilman
        ennen jälkeen välillä sitten mukaan
    """,
    "french": """
        le la les un une des du de et ou mais car que qui quoi où quand comment pourquoi quel quelle quels quelles je
        tu il elle nous vous ils elles me te se lui leur mon ma mes ton ta tes son sa ses notre votre nos vos ce cet
        cette ces est sont était étaient suis sera été a ai as ont avait avoir être peut doit fait dans sur sous avec
        sans pour par chez vers entre ne pas plus aussi très ici là au aux en y depuis si comme dont
    """,
    "spanish": """
        el la los las un una unos unas y o pero porque que quien quién qué cuál cuando cuándo donde dónde cómo como yo
        tú él ella nosotros ellos ellas me te se le les lo mi mis tu tus su sus nuestro nuestra este esta estos estas
        ese esa es son era eran soy está están fue ser estar ha han he hay tiene tener puede debe de del al a en con
        sin por para sobre entre hasta desde hacia no también más muy ya aquí allí ahora siempre si
    """,
    "italian": """
        il lo la i gli le un uno una e o ma perché che chi cosa dove quando come quale quali io tu lui lei noi voi
        loro mi ti si ci vi mio mia miei mie tuo tua suo sua nostro nostra questo questa questi queste quello quella è
        sono era erano sei siamo essere stato stata ha hanno ho aveva avere può deve di del della dello dei degli delle
        al alla allo ai alle da dal dalla in nel nella nei sul sulla con senza per tra fra non anche più molto già qui
        ora sempre se
    """,
    "portuguese": """
        o a os as um uma uns umas e ou mas porque que quem qual quais quando onde como eu tu ele ela nós eles elas
        você vocês me te se lhe meu minha meus minhas teu tua seu sua seus suas nosso nossa este esta isto esse essa
        isso é são era eram sou está estão foi ser estar há tem têm ter tinha pode deve de do da dos das ao à aos às
        em no na nos nas num numa com sem por para pelo pela sobre entre até desde não também mais muito já aqui ali
        agora sempre
    """,
    "russian": """
        и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только её мне было вот от меня
        ещё нет о из ему когда даже ну ли если уже или ни быть был него до вас нибудь опять вам ведь там потом себя
        ничего ей может они тут где есть надо ней для мы тебя их чем была сам чтоб без чего раз тоже себе под будет
        кто этот того потому этого какой ним здесь этом один мой почему через эти при это наш моя куда зачем сколько
    """,
    "polish": """
        i w we z ze na do nie że się o to jest są był była było były jak ale lub albo co kto gdzie kiedy dlaczego
        który która które którzy ja ty on ona ono my wy oni one mój moja moje twój jego jej ich nasz ten ta te tego
        tej tym tych od po za przez przy dla pod nad bez między czy już tylko też także bardzo tu tam teraz zawsze
        mnie mi mu ma mam mają może jestem
    """,
}
LANGUAGES: Final = tuple(_WORDS)
"""The languages beside English that are told apart, by Snowball's names."""

COMPOUNDING: Final = frozenset({"german", "dutch", "swedish", "danish", "norwegian", "finnish"})
"""The languages that write several nouns as one word."""

# What English text holds as well, though none of these is one of its stop words.
_LOOKALIKES: Final = """
    die den des dem war bin man hat per pour son sur ton ten plus car dove come fra mine de la le en el os al van min
    ham vi mod del par et ne sin deg dig var mig din te tu mi ti
"""
FUNCTION_WORDS: Final = MappingProxyType(
    {language: frozenset(fold(words).split()) for language, words in _WORDS.items()}
)
"""The folded function words of each language."""

_ENGLISH: Final = STOPWORDS.union(_LOOKALIKES.split())
_TELLING: Final = {
    language: frozenset(word for word in words - _ENGLISH if len(word) > 1 or not word.isascii())
    for language, words in FUNCTION_WORDS.items()
}
_ANY: Final = frozenset[str]().union(*_TELLING.values())
_ONLY_ENGLISH: Final = STOPWORDS.difference(*FUNCTION_WORDS.values())
_LETTERS: Final = {
    "german": "äöüß", "swedish": "åäö", "danish": "æøå", "norwegian": "æøå", "finnish": "äö", "french": "àâçèéêëîïôùûœ",
    "spanish": "ñáéíóú¿¡", "italian": "àèéìòù", "portuguese": "ãõáâàçéêíóôú", "polish": "ąćęłńóśźż",
    "russian": "аеиоуыэюя",
}  # fmt: skip
_DISTINCT: Final = 2
_LEAST: Final = 2
_SHORT: Final = 2000


def language_of(text: str) -> str:
    """Return the language of *text* by Snowball's name; blank for English, for others, and where it is not sure."""
    return _kept_language(text) if len(text) <= _SHORT else find_language(text, analyse_text(text).tokens)


@lru_cache(maxsize=4096)
def _kept_language(text: str) -> str:
    return find_language(text, [token for word in segment(text) for token in WORDS[word].tokens])


def find_language(text: str, tokens: Sequence[str]) -> str:
    """Return the language of *text*, whose folded words are *tokens*.

    Two different function words that English has not, and more of them than of English ones; one is enough where
    nothing is English, beside another that English looks like or a letter of that language.
    """
    distinct = _ANY.intersection(tokens)
    # Nearly all English text ends here, and imports are mostly that.
    if not distinct or sum(map(_ONLY_ENGLISH.__contains__, tokens)) >= sum(map(distinct.__contains__, tokens)):
        return ""
    counts = {language: _evidence(language, distinct, text, tokens) for language in LANGUAGES}
    best = max(LANGUAGES, key=lambda language: counts[language])
    return best if counts[best] > 0 else ""


def _evidence(language: str, distinct: frozenset[str], text: str, tokens: Sequence[str]) -> int:
    """Return how many more words of *tokens* are of *language* than of English; 0 where it is not sure."""
    words = FUNCTION_WORDS[language]
    telling = distinct & _TELLING[language]
    english = sum(token in STOPWORDS and token not in words for token in tokens)
    if len(telling) < _DISTINCT and (english or not telling):
        return 0
    if len(telling) < _DISTINCT and len(words.intersection(tokens)) < _DISTINCT and not _has_letter(language, text):
        return 0
    sure = sum(token in telling for token in tokens)
    # What both have tells languages apart once English is out of question.
    return sure + sum(token in words for token in tokens) if sure > english else 0


def _has_letter(language: str, text: str) -> bool:
    return any(letter in text.lower() for letter in _LETTERS.get(language, ""))


# --- stems ----------------------------------------------------------------------------------

_STEMMERS: Final[dict[str, Stemmer.Stemmer]] = {}
# A stemmer works in one buffer of its own, which two threads must not share.
_LOCK: Final = threading.Lock()
_PIECE: Final = "[^\\W\\d_]+"
_JOINED: Final = regex("[^\\W\\d_]+(?:['’\\-‐‑][^\\W\\d_]+)*")
# What Snowball leaves to the writer: the dots that Russians leave out, a plural that changes its vowel.
_SPELT: Final = {"russian": ("ё", "е"), "portuguese": ("[oõ]es$", "ão")}


def _stem(word: str, language: str) -> str:
    with _LOCK:
        stemmer = _STEMMERS.get(language) or _STEMMERS.setdefault(language, Stemmer.Stemmer(language, 0))
        return str(stemmer.stemWord(word)) or word


@lru_cache(maxsize=1 << 16)
def stems_in(word: str, language: str) -> tuple[str, ...]:
    """Return the stems that *word*, as `segment` found it, has in *language* and not in every text.

    With the accents as typed and without any. Function words, names of code, numbers and CJK runs have none.
    """
    analysis, pieces = WORDS[word], compiled(_PIECE).findall(word)
    plain = not analysis.cjk and _JOINED.fullmatch(word) and len(analysis.tokens) == len(pieces)
    if not plain or (len(pieces) == 1 and len(analysis.stems) > 1):
        return ()
    telling = (piece for piece in pieces if fold(piece) not in FUNCTION_WORDS[language])
    stems = dict.fromkeys(stem for piece in telling for stem in _variants(piece, language))
    return tuple(stem for stem in stems if len(stem) >= _LEAST and stem not in analysis.stems)


def _variants(piece: str, language: str) -> tuple[str, ...]:
    pattern, replacement = _SPELT.get(language, ("$", ""))
    lowered, plain = (compiled(pattern).sub(replacement, each) for each in (piece.lower(), fold(piece)))
    typed = fold(_stem(lowered, language))
    # Without its marks a letter of Russian is another letter; elsewhere people leave accents out.
    both = (typed,) if lowered == plain or language == "russian" else (typed, fold(_stem(plain, language)))
    return tuple(dict.fromkeys(each[:LONGEST] for each in both))


def further_stems(text: str, language: str) -> tuple[str, ...]:
    """Return the marker of *language*, and what its stems add to those that *text* has in every text."""
    return (marker(language), *(stem for word in segment(text) for stem in stems_in(word, language)))


def marker(language: str) -> str:
    """Return the stem that marks a memory of *language* in the index; no text holds it."""
    return f"\u241e{language}"


# --- questions ------------------------------------------------------------------------------


def is_english(tokens: Sequence[str]) -> bool:
    """Tell whether a question of these folded words is plainly English: it holds words that only English has."""
    return any(token in STOPWORDS for token in tokens) and _ANY.isdisjoint(tokens)
