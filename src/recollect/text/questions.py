"""What kind of value a question asks for, and whether a text holds one; and the names and numbers it gives.

The cues are everyday English with the commonest of German, French and Spanish. A question of which no cue is known asks
for nothing in particular, and every text may answer it.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from recollect.lazy import cache_short, regex


class ValueKind(Struct, frozen=True, kw_only=True):
    """A kind of value: what it is called, how a question asks for it, and how it is written."""

    name: str
    cue: re.Pattern[str]
    value: re.Pattern[str]
    dated: bool = False
    """Whether the date of a memory may be the value."""
    undated: bool = False
    """Whether the digits of dates, times and years are none."""


def _cues(*phrases: str) -> re.Pattern[str]:
    """Return a pattern for any of the words and phrases in *phrases*, separated by commas, as whole words."""
    listed = [phrase.strip() for each in phrases for phrase in each.split(",") if phrase.strip()]
    any_of = "|".join(phrase.replace(" ", r"\s+") for phrase in listed)
    return regex(rf"(?<!\w)(?:{any_of})(?!\w)", re.IGNORECASE)


_MONTH: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?"
    "|oct|nov|dec|januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août"
    "|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre"
    "|diciembre"
)
_DATES: Final = regex(
    rf"(?<!\w)(?:\d{{4}}-\d{{2}}(?:-\d{{2}})?|\d{{1,2}}[:.]\d{{2}}(?!\w|[.,]\d)|\d{{1,2}}\s?(?:a\.?m|p\.?m|h|uhr|o'clock)\.?"
    rf"(?:\s?\d{{2}})?|\d{{1,2}}(?:st|nd|rd|th|\.)?(?:\s?[-\u2013]\s?\d{{1,2}})?\s+(?:of\s+|de\s+)?(?:{_MONTH})(?:,?\s+\d{{4}})?"
    rf"|(?:{_MONTH})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?|(?:19|20)\d{{2}})(?!\w)",
    re.IGNORECASE,
)
"""Dates, times and years, whose digits are no amount, no count and no number of anything."""

_TENS: Final = (
    "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty"
    "|seventy|eighty|ninety|hundred|thousand|million|dozen|zehn|zwölf|zwanzig|dreißig|fünfzig|hundert|tausend|dix|douze"
    "|vingt|trente|quarante|cinquante|cent|mille|diez|doce|veinte|treinta|cuarenta|cincuenta|cien|mil"
)
_ONES: Final = (
    "one|two|three|four|five|six|seven|eight|nine|half|once|twice|both|couple|none|zero|no|every|single|nobody|nothing"
    "|all|only|never|daily|weekly|monthly|ein|eine|zwei|drei|vier|fünf|sechs|sieben|acht|neun|un|une|deux|trois|quatre"
    "|cinq|sept|huit|neuf|uno|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve"
)
_COUNT: Final = regex(rf"\d|(?<!\w)(?:{_TENS}|{_ONES})(?!\w)", re.IGNORECASE)
_AMOUNT: Final = regex(
    rf"\d[\d.,]*\s?[%€$£¥₹k]|[€$£¥₹]\s?\d|\d[\d.,]*\s(?:euros?|dollars?|pounds?|rupees?|zł|kr|rs|eur|usd|gbp)(?!\w)"
    rf"|(?<!\w)\d[\d.,]*\d|(?<!\w)(?:{_TENS}|free|gratis|nothing)(?!\w)",
    re.IGNORECASE,
)
_MOMENT: Final = regex(
    rf"\d|(?<!\w)(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|{_MONTH}|today|tomorrow|tonight|yesterday|noon|midnight"
    r"|mornings?|afternoons?|evenings?|nights?|weekends?|spring|summer|autumn|winter|christmas|easter|daily|weekly|monthly"
    r"|yearly|annually|(?:last|next|this|every)\s+\w+|ago|(?:a|an|one|two|three|four|five|six)\s+(?:hour|day|week|month"
    r"|year)s?|before|after|until|once|never|now|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|heute|morgen|gestern"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|hier|lunes|martes|miércoles|jueves|viernes|sábado"
    r"|domingo|hoy|mañana|ayer)(?!\w)",
    re.IGNORECASE,
)
_CODE: Final = regex(r"(?<!\w)(?=[\w./-]*\d)[\w./-]{2,}")
_NAME: Final = regex(r"(?<!\w)(?:(?!\d|_)[^\Wa-zß-öø-ÿ])[\w'-]+|(?<!\w)(?:I|we|ich|wir|je|nous|yo)(?!\w)|@\w+")
_STREET: Final = regex(
    r"(?<!\w)\d{1,4}[a-z]?,?\s+(?:[A-Z]\w+)|(?<!\w)[A-Z][\w.]+\s+\d{1,4}[a-z]?(?!\w|[:.]\d)|@\w"
    r"|(?<!\w)(?i:street|st\.|road|avenue|lane|\w*straße|\w*strasse|rue|calle|rúa|rua|avenida|plaza|flat|floor|apt)(?!\w)"
)

KINDS: Final = (
    ValueKind(
        name="a phone number",
        cue=_cues(
            "(?:tele)?phone(?: number)? (?:of|for), (?:phone|telephone|mobile|cell|fax)(?: number)?[?.!]*$, hotline",
            "telefon, telefonnummer, handynummer, téléphone, teléfono, telefone",
        ),
        value=regex(r"(?<![\w.])\+?\(?\d[\d ()/.-]{4,}\d(?!\w)"),
    ),
    ValueKind(
        name="an e-mail address",
        cue=_cues("e-?mail address, e-?mail of, mail address, e-?mail-adresse, adresse e-?mail, courriel, correo"),
        value=regex(r"[\w.+-]+@[\w-]+\.\w+"),
    ),
    ValueKind(
        name="a web address",
        cue=_cues(
            "(?:url|website|web page|link) (?:of|for|to), \\w+'s website, web address, webseite, site web, sitio web"
        ),
        value=regex(r"https?://|www\.|(?<![\w@.])[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}(?![\w.])", re.IGNORECASE),
    ),
    ValueKind(
        name="an amount",
        cue=_cues(
            "how much, price(?! lists?), prices, cost, costs, fee, fees, rent, salary, wage, budget, revenue, turnover",
            "day rate, hourly rate, wie viel, wieviel, kostet, kosten, preis, gehalt, combien, prix, loyer, coûte",
            "cuánto, cuanto, precio, cuesta, costó, alquiler, sueldo, quanto, preço, aluguel",
        ),
        value=_AMOUNT,
        undated=True,
    ),
    ValueKind(
        name="a number or code",
        cue=_cues(
            "(?!the|a|an|what|which|get|find|count|extract|detect|replace|return|non)\\w+ number",
            "(?:code|pin|id|password|passcode) (?:of|for|on|at)",
            "(?:access|area|booking|dialling|discount|door|entry|error|gate|lock|post|postal|zip) code, page size",
            "meter reading, which version, what version, iban, \\w+nummer, \\w+code, passwort, kennwort",
            "numéro de, número de",
        ),
        value=_CODE,
        undated=True,
    ),
    ValueKind(
        name="a number",
        cue=_cues(
            "how (?:many|long|far|old|tall|big|large|high|deep|heavy|often), wie (?:viele|lange|weit|alt|groß|oft)",
            "^number of, what number of, what percentage, anzahl, quel âge, cuántos, cuántas, qué edad",
        ),
        value=_COUNT,
        undated=True,
    ),
    ValueKind(
        name="a date or time",
        cue=_cues(
            "^when, (?:and|since|until) when, when (?:is|are|was|were|do|does|did|will|has|have|had|should|can)",
            "what time, what date, which date, what day, which day, what year, which year, what month, which month",
            "date of, birthday, deadline, wann, um wie viel uhr, datum, geburtstag, quand",
            "à quelle heure, anniversaire, cuándo, cuando, a qué hora, cumpleaños, fecha, quando",
        ),
        value=_MOMENT,
        dated=True,
    ),
    ValueKind(
        name="a name",
        cue=_cues(
            "^who, ^whose, ^whom, and who, name of, wer, wem, wen, wessen, qui, quién, quien, quiénes, nombre de, quem"
        ),
        value=_NAME,
    ),
    ValueKind(
        name="a street address",
        cue=_cues(
            "address of, address for, \\w+'s address, what address, which address, adresse de, adresse von, anschrift",
            "dirección de, endereço de",
        ),
        value=_STREET,
        undated=True,
    ),
)
"""The commonest kinds, the narrower ones first."""

_QUESTION_WORDS: Final = {
    "person": _cues("who, who's, whose, whom, wer, wem, wen, wessen, qui, quién, quiénes, quem"),
    "place": _cues("where, where's, wo, wohin, woher, où, dónde, adónde, onde"),
    "time": _cues("when, when's, what time, which day, what day, wann, um wie viel uhr, quand, cuándo, quando"),
    "number": _cues("how many, how much, wie viele?, wieviel, combien, cuánt[oa]s?, quant[oa]s?"),
    "reason": _cues("why, how come, warum, wieso, weshalb, pourquoi, por qué, por que"),
    "manner": _cues("how(?! many| much| come| about| long| old| far| often), wie(?! viel), comment, cómo"),
}
_DECLINES: Final = regex(
    r"^(?:[^\W\d]\w{0,30}:\s+)?\W*(?:no|not|nope|nobody|none of|sorry|no idea|(?:i )?(?:don't|do not|can't|cannot"
    r"|won't|couldn't) (?:know|remember|do|say|tell|make)|nein|nicht|niemand|keine ahnung|non|pas moi|personne|no sé"
    r"|nadie|não)(?!\w)",
    re.IGNORECASE,
)


@cache_short(4096)
def question_words(text: str) -> frozenset[str]:
    """Return what *text* asks for by its question words: a person, a place, a time, a number, a reason, a manner."""
    return frozenset(kind for kind, cue in _QUESTION_WORDS.items() if cue.search(text))


@cache_short(4096)
def declines(text: str) -> bool:
    """Return whether *text*, a turn with or without its speaker, opens with a refusal: "Not me", "No idea"."""
    return _DECLINES.match(text) is not None


LOOKS_BACK: Final = _cues("last, ago, yesterday, recently, earlier, letzte[nsmr]?, gestern, dernier, dernière, ayer")
"""A text with one of these may tell of the month or the year before its own."""
PAST: Final = _cues("did, was, were, had, has, have, last, ago, hat, wurde, war, haben, a, fue, hizo, ha, foi")
"""A question with one of these asks for something that has happened, which the date of a memory may tell."""
_PEOPLE: Final = regex(
    r"\w+(?:ish|ese)|french|german|italian|russian|indian|american|canadian|australian|brazilian|mexican|european|asian"
    r"|african|dutch|greek|swiss|czech|thai|korean|norwegian|ukrainian|latvian|lithuanian|romanian|hungarian|belgian",
    re.IGNORECASE,
)
"""Languages and peoples: a memory in French need not call itself so."""
SHORTEST: Final = 3
"""Shorter words with a capital are mostly no names: TV, US, OK."""
_SENTENCE: Final = regex(r"(?<=[.!?:])\s+|\n+")
_WORD: Final = regex(r"\w(?:[\w./-]*\w)?")
_ORDINAL: Final = regex(r"(?<=\d)(?:st|nd|rd|th)$")
_DAY: Final = regex(r"(?:\d{1,2}(?:st|nd|rd|th)?|(?:19|20)\d\d)")
_PLURAL: Final = regex(r"[a-z]{2,}s")
_YEAR: Final = regex(r"(?:19|20)\d\d")
_NEAR_DAY: Final = regex(_MONTH, re.IGNORECASE)
_PLAIN_CAPITALS: Final = regex(
    r"(?<!\w)(?:[Ww]ie|[Ww]er|[Ww]em|[Ww]ann|[Ww]arum|[Ww]elche[rsnm]?|[Ww]o|der|das|dem|ist|sind|und|mit|für)(?!\w)"
)
"""Words of German, where every noun has a capital and a capital tells nothing."""


@cache_short(1024)
def values_asked(question: str) -> tuple[ValueKind, ...]:
    """Return the kinds of value that *question* asks for; of cues in the same place the narrower kind counts."""
    found: list[tuple[ValueKind, int, int]] = []
    for kind in KINDS:
        cue = kind.cue.search(question)
        if cue is not None and not any(cue.start() < end and start < cue.end() for _, start, end in found):
            found.append((kind, cue.start(), cue.end()))
    return tuple(kind for kind, _, _ in found)


def holds_value(kind: ValueKind, text: str, *, question: str) -> bool:
    """Return whether *text* holds a value of *kind* that the question does not give itself."""
    given, told = question.casefold(), _DATES.sub(" ", text) if kind.undated else text
    return any(match.group().casefold() not in given for match in kind.value.finditer(told))


@cache_short(1024)
def names_given(question: str) -> tuple[str, ...]:
    """Return what *question* names: words with a digit, and words with a capital inside a sentence.

    A capital tells nothing where every word has one, nor in German. The day and the year of a date are no names.
    """
    found: list[str] = []
    telling = _PLAIN_CAPITALS.search(question) is None
    for sentence in _SENTENCE.split(question):
        words = _WORD.findall(sentence)
        capitals = telling and any(word[0].islower() for word in words)
        found += [word for at, word in enumerate(words) if _is_name(at, words, capitals=capitals)]
    return tuple(dict.fromkeys(_ORDINAL.sub("", name) for name in found))


def _is_name(at: int, words: Sequence[str], *, capitals: bool) -> bool:
    word = words[at]
    if any(map(str.isdigit, word)):
        if word.isdigit() and at + 1 < len(words) and _PLURAL.fullmatch(words[at + 1]):
            return False  # so many of something: 50 rows
        reach = 2 if _YEAR.fullmatch(word) else 1  # May 4, 2026
        beside = (*words[max(0, at - reach) : at], *words[at + 1 : at + 2])
        return _DAY.fullmatch(word) is None or not any(map(_NEAR_DAY.fullmatch, beside))
    return capitals and at > 0 and len(word) >= SHORTEST and word[0].isupper() and _PEOPLE.fullmatch(word) is None


def same_month(one: str, other: str) -> bool:
    """Return whether both name the same month, in full or cut short."""
    return one[:3].casefold() == other[:3].casefold() and all(_NEAR_DAY.fullmatch(each) for each in (one, other))
