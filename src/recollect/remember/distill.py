"""Turn a recorded session into statements worth keeping: rules, decisions, preferences, gotchas, facts, procedures.

No language model is needed. Each sentence of a turn gets points from the cues in `CUES`; what reaches `THRESHOLD` is
kept in the speaker's own words. The position in the dialogue counts too: an agent that acknowledges what the person
said, a person who accepts what the agent proposed, an agent that explains an error.
Pasted text, questions, jokes, hypotheticals and what is taken back in the same session are not kept.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.remember.capture import capture
from recollect.text.code import fenced_blocks
from recollect.text.dates import DateMatch, find_dates
from recollect.text.wording import stems_of

StatementType = Literal["decision", "preference", "gotcha", "procedure", "fact"]
MARKED_TYPES: Final[Mapping[str, StatementType]] = {each: each for each in get_args(StatementType)}
"""The types that an agent may mark what it wants to keep with; another one is a fact."""
THRESHOLD: Final = 2.0
"""How many points a sentence needs."""
MIN_WORDS: Final = 3
MAX_STATEMENT_CHARACTERS: Final = 600
MAX_JOINED_CHARACTERS: Final = 160
"""How long a statement may be before another sentence is no longer joined to it."""
MAX_TOPIC_CHARACTERS: Final = 120
MAX_TERSE_WORDS: Final = 8
"""A statement with at most so many longer words is terse: what was spoken about before it is its topic."""
MAX_REFERRED_WORDS: Final = 20
"""How long a sentence may be that the next one refers to ("it", "them")."""
MAX_TYPED_CHARACTERS: Final = 1_200
"""Longer paragraphs were pasted, not typed."""
MAX_ECHO_CHARACTERS: Final = 160
"""How long an agent's reply may be that counts as a repetition of what the person said."""
DAYS_WITHOUT_AN_END: Final = 30
"""How long a temporary statement holds that does not say until when."""


class SpokenTurn(Struct, frozen=True, kw_only=True):
    """A turn of a session: who spoke (the person or the agent), the words, when, and the id of the turn."""

    by_person: bool
    words: str
    at: datetime | None = None
    id: str | None = None
    line: int | None = None


class Statement(Struct, frozen=True, kw_only=True):
    """Something worth keeping, in the words of the session."""

    content: str
    type: StatementType
    turn: int
    """The position of its turn in the session."""
    owner: bool
    """Whether the person typed all of it."""
    confidence: float = 0.8
    until: datetime | None = None
    """When it stops to hold, if it is temporary."""
    topic: str = ""
    """What it answers, where its own words do not say: a complaint, or what was spoken about."""
    everywhere: bool = False
    """Whether it is meant for all of the person's projects."""


class Cue(Struct, frozen=True):
    """Words that make a sentence more or less worth keeping, and the type of statement they suggest."""

    points: float
    type: StatementType | None
    pattern: re.Pattern[str]
    name: str = ""


def _words(*alternatives: str) -> re.Pattern[str]:
    return regex(r"(?<![\w-])(?:" + "|".join(alternatives) + r")(?![\w-])", re.IGNORECASE)


_TABLE: Final = tomllib.loads(files("recollect.remember").joinpath("cues.toml").read_text("utf-8"))
CUES: Final = tuple(
    Cue(each["points"], each.get("type"), _words(*each["words"]), each.get("name", "")) for each in _TABLE["cue"]
)
"""What makes a sentence more or less worth keeping; each cue counts once."""
_TASK: Final = next(each for each in CUES if each.name == "task").pattern


class Vocabulary(Struct, frozen=True, kw_only=True):
    """The other tables of `cues.toml`, by their names there."""

    joke: re.Pattern[str]
    hypothetical: re.Pattern[str]
    retraction: re.Pattern[str]
    reported: re.Pattern[str]
    everywhere: re.Pattern[str]
    temporary: re.Pattern[str]
    lasting: re.Pattern[str]
    one_time: re.Pattern[str]
    complaint: re.Pattern[str]
    cause: re.Pattern[str]
    remedy: re.Pattern[str]
    named_cause: re.Pattern[str]
    decided: re.Pattern[str]
    about_project: re.Pattern[str]
    seen_in_project: re.Pattern[str]
    proposal: re.Pattern[str]
    asks_choice: re.Pattern[str]
    acknowledges: re.Pattern[str]
    accepts: re.Pattern[str]


WORDS: Final = Vocabulary(**{name: _words(*each) for name, each in _TABLE["words"].items()})
_QUESTION: Final = regex(
    r"\?\s*$|^(?:ok(?:ay)?[, ]+|and |but |so |hm+[, ]+|now[, ]+|also )*(?:what|whats|what's|who|whos"
    r"|where|wheres|when|why|how|hows|which|can (?:you|we|i)|could (?:you|we|i)"
    r"|would (?:you|it)|should (?:we|i)|shall (?:we|i)|do (?:we|you|i)|does|did|is (?:it|there|this|that|the)"
    r"|are (?:there|we|you|the)|any (?:idea|thoughts)|thoughts)\b",
    re.IGNORECASE,
)
_LABEL: Final = regex(
    r"^(?P<label>important|gotcha|decision|decided|rule|lesson|remember|caution|warning)\s*:\s*", re.IGNORECASE
)
_LABEL_TYPES: Final[Mapping[str, StatementType]] = {
    "decision": "decision",
    "decided": "decision",
    "rule": "preference",
    "remember": "fact",
}
_SERVES: Final = regex(
    r"(?:listen(?:s|ing)?|run(?:s|ning)?|is up|serv(?:es?|ing)|reachable|available|starts?) (?:on|at|under) (?:port )?(?:https?://\S+"
    r"|`?[\w.]*:?\d{2,5})",
    re.IGNORECASE,
)
_OPTION: Final = regex(
    r"(?:^\s*|[:;,]\s+(?:or )?)\(?(?P<key>\d|[a-d])[.)]\s+(?P<text>\S.*?)(?=$|[;,.] (?:or )?\(?[b-e2-9]\)|\. )",
    re.MULTILINE | re.IGNORECASE,
)
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
_ORDINAL: Final = regex(
    rf"(?:^|\b(?:the|take|use|prefer) )(?P<place>{'|'.join(ORDINALS)})(?: one| option)?"
    r"(?=[\s,.!]*(?:$|[,.!]|since\b|because\b|please\b))",
    re.IGNORECASE,
)
_CHOICE: Final = regex(
    r"(?<!\w)(?:(?:do|take|go (?:with|for)|use|pick|prefer|option|number|choose|want|ok|okay|yes,?|definitely) "
    r"|^)(?:option |number |no\.? )?(?P<key>\d|[a-d](?= |$|[.,]))(?![\w.%:/])",
    re.IGNORECASE,
)
_NUMBERED: Final = regex(
    r"(?:^|[\s:(])(?:1[.)]|first[,:])\s.+?[\s,(](?:2[.)]|second[,:]|then)\s.+?[\s,(](?:3[.)]|third[,:]|finally)\s",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED: Final = regex(r"[\"“”][^\"“”]{25,}[\"“”]")
_LOG_LINE: Final = regex(
    r"^\s*(?:\$ |>|#|at |File \"|\d{4}-\d\d-\d\d|\[?\d\d:\d\d|Traceback|Error:|ERROR|WARN|INFO|DEBUG|FATAL|\+"
    r"|-{3}|@@|\||[A-Za-z_.]+(?:Error|Exception)\b)|^\s{2,}\S|^\s*[-*•] "
)
_INTRODUCES: Final = regex(r":\s*$")
_SENTENCE_END: Final = regex(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\d\.)\s+(?=\S)|\n+|(?<=\w)\s*;\s+")
_CLAUSE: Final = regex(
    r"(?<=,)\s+(?=(?:everything|from now on|never|always)\b)|,?\s+(?:and|also)\s+(?=(?:also\s+)?(?:do ?n[o']?t ever"
    r"|do ?n[o']?t|never|always|please|no \w+ (?:in|on|for|to)|remember|use|the \w+ (?:is|are|goes|must)|before"
    r"|every|from now on)\b)",
    re.IGNORECASE,
)
_LEAD: Final = regex(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|right|good|great|nice|perfect|cool|super|fine|sure|no+|no no|hm+|ah+|oh|and"
    r"|also|so|but|btw|by the way|fyi|exactly|well|k|ahh?|one more thing|thanks|thx|beautiful|lovely"
    r"|👍)\b[\s,.!:;-]*)+",
    re.IGNORECASE,
)
_NEW_TOPIC: Final = regex(
    r"(?:and|also|btw|by the way|oh|second(?:ly)?|another|one more|next|fyi|plus|besides|separately)\b", re.IGNORECASE
)
_REFERS: Final = regex(r"(?:\w+ )?(?:it|its|them|they|he|she|that|this|those|there)\b", re.IGNORECASE)
_BACKTICKS: Final = regex(r"`[^`]*`")
_WORD: Final = regex(r"[\w'\u2019`./-]+")


def distill(turns: Sequence[SpokenTurn]) -> list[Statement]:
    """Return what is worth keeping of a session, in its order."""
    found: list[Statement] = []
    turns = [replace(each, words=each.words.replace("\u2019", "'")) for each in turns]
    for at, turn in enumerate(turns):
        if turn.by_person:
            if _takes_back(turn):
                _drop_last(found, at, turns)
            found += _of_person(turns, at)
        else:
            found += _of_agent(turns, at)
    return found


# --- what the person says ---------------------------------------------------------------------


def _of_person(turns: Sequence[SpokenTurn], at: int) -> Iterator[Statement]:
    turn = turns[at]
    typed = typed_words(turn.words)
    if not typed or (WORDS.joke.search(typed) and len(typed) < 300):
        return
    if _NUMBERED.search(typed) and len(typed) < MAX_TYPED_CHARACTERS:
        yield _statement(typed, "procedure", at, turn)
        return
    sentences = _sentences(typed)
    taken_back = max((place for place, each in enumerate(sentences) if WORDS.retraction.search(each)), default=-1)
    sentences = sentences[taken_back + 1 :]
    acknowledged = _is_acknowledged(turns, at, typed)
    answers = _answers_agent(turns, at)
    scored = [_score(each, acknowledged=acknowledged, answers=answers) for each in sentences]
    chosen = list(_chosen(turns, at, typed))
    if chosen:
        yield from chosen
        return
    groups = _groups(sentences, [points for points, _ in scored])
    for group in groups:
        best = max(group, key=lambda place: scored[place][0])
        content = _shortened(" ".join(sentences[place] for place in group))
        kind = _type(content, scored[best][1])
        content, owner = _with_context(content, turns, at)
        yield replace(_statement(content, kind, at, turn), owner=owner, topic=_topic(content, turns, at))


def typed_words(text: str) -> str:
    """Return what a person typed of *text*: without code blocks, quotations, logs, and what a colon introduces."""
    pieces, end = [], 0
    for begin, behind in fenced_blocks(text):
        pieces.append(text[end:begin])
        end = behind
    paragraphs = re.split(r"\n\s*\n", "\n".join((*pieces, text[end:])))
    kept: list[str] = []
    introduced = False
    for paragraph in paragraphs:
        lines = [line for line in paragraph.splitlines() if line.strip()]
        own = [line for line in lines if not _LOG_LINE.match(line)]
        pasted = introduced or len(paragraph) > MAX_TYPED_CHARACTERS or (len(lines) > 2 and len(own) < len(lines) / 2)
        introduced = bool(lines and _INTRODUCES.search(lines[-1]))
        if not pasted:
            kept.append("\n".join(own))
    if len(text) > 4 * MAX_TYPED_CHARACTERS:
        kept = kept[:1]
    return _QUOTED.sub("", "\n".join(kept)).strip()


def _sentences(typed: str) -> list[str]:
    """Return the sentences of *typed*; a fragment of one or two words belongs to the sentence before it."""
    found: list[str] = []
    for part in _SENTENCE_END.split(typed):
        whole = WORDS.reported.search(part) or WORDS.hypothetical.search(part)
        for clause in [part] if whole else _CLAUSE.split(part):
            if found and clause.strip() and len(clause.split()) <= 2 and not found[-1].endswith("?"):
                found[-1] = f"{found[-1]} {clause.strip()}"
            elif clause.strip():
                found.append(clause.strip())
    return found


def _score(sentence: str, *, acknowledged: bool, answers: bool) -> tuple[float, StatementType | None]:
    """Return the points of a sentence and the type that its strongest cue suggests."""
    text = _LEAD.sub("", sentence).strip()
    words = _WORD.findall(text)
    if (
        len(words) < (2 if answers else MIN_WORDS)
        or _QUESTION.search(text)
        or WORDS.hypothetical.search(text)
        or WORDS.joke.search(text)
        or WORDS.reported.search(text)
        or WORDS.one_time.search(text)
        or WORDS.retraction.search(text)
    ):
        return 0.0, None
    hits = [cue for cue in CUES if cue.pattern.search(sentence if cue.points > 0 else text)]
    rules = any(cue.points >= 2.5 for cue in hits)
    points = sum(cue.points / (3.0 if cue.points < 0 and rules else 1.0) for cue in hits)
    points += (1.0 if acknowledged else 0.0) + (1.0 if answers else 0.0) - (1.0 if len(words) < 4 else 0.0)
    typed = max((cue for cue in hits if cue.type), key=lambda cue: cue.points, default=None)
    return points, typed.type if typed else None


def _groups(sentences: Sequence[str], points: Sequence[float]) -> list[list[int]]:
    """Return the sentences that make a statement each: one that has enough points, with what stands around it."""
    groups: list[list[int]] = []
    for place, score in enumerate(points):
        joins = bool(groups) and groups[-1][-1] == place - 1
        length = sum(len(sentences[each]) for each in groups[-1]) if joins else 0
        if score >= THRESHOLD:
            if joins and length < MAX_JOINED_CHARACTERS and not _NEW_TOPIC.match(sentences[place]):
                groups[-1].append(place)
            else:
                leads = place and not joins and _introduces(sentences[place - 1], points[place - 1], sentences[place])
                before = [place - 1] if leads else []
                groups.append([*before, place])
        elif joins and score > -1 and length < MAX_JOINED_CHARACTERS and _elaborates(sentences[place]):
            groups[-1].append(place)
    return groups


def _elaborates(sentence: str) -> bool:
    """Return whether a sentence that is not worth keeping by itself says more about the one before it."""
    return not (_QUESTION.search(sentence) or WORDS.joke.search(sentence) or _TASK.search(_LEAD.sub("", sentence)))


def _introduces(sentence: str, points: float, following: str) -> bool:
    """Return whether a sentence names the topic of the next one: a short one, or one that the next refers to."""
    words = len(_WORD.findall(_LEAD.sub("", sentence)))
    longest = MAX_REFERRED_WORDS if _REFERS.match(_LEAD.sub("", following)) else MAX_TERSE_WORDS
    return (
        1 <= words <= longest and points < THRESHOLD and _elaborates(sentence) and not WORDS.retraction.search(sentence)
    )


def _type(content: str, suggested: StatementType | None) -> StatementType:
    """Return the type of a statement of a person."""
    if re.search(r"`[^`]+`|\b(?:run|tests?|release|deploy)\b", content) and re.search(
        r"\b(?:run|with|first|then|before|tests? (?:are|is|run)|use)\b.*`|\b(?:first|then)\b", content, re.IGNORECASE
    ):
        return "procedure"
    return suggested or "fact"


def _statement(content: str, kind: StatementType, at: int, turn: SpokenTurn, *, confidence: float = 0.8) -> Statement:
    content = _shortened(content)
    return Statement(
        content=content,
        type=kind,
        turn=at,
        owner=turn.by_person,
        confidence=confidence,
        until=_until(content, turn.at) if turn.by_person else None,
        everywhere=turn.by_person and bool(WORDS.everywhere.search(content)),
    )


def _shortened(text: str) -> str:
    """Return *text* on one line, without what opens a reply, and not too long."""
    flat = " ".join(text.split())
    bare = _LEAD.sub("", flat)
    bare = bare if len(_WORD.findall(bare)) >= MIN_WORDS and not re.match(r"no\b", flat, re.IGNORECASE) else flat
    if (
        re.match(r"no\W*(?:no\W*)*(?=\w+ (?!\w+ )|[!,.])", flat, re.IGNORECASE)
        and len(_WORD.findall(bare)) >= MIN_WORDS
    ):
        bare = (
            re.sub(r"^(?:no\W+)+", "", flat, flags=re.IGNORECASE)
            if re.match(r"no[!,. ]+no|no[!,.]", flat, re.IGNORECASE)
            else bare
        )
    if len(bare) > MAX_STATEMENT_CHARACTERS:
        bare = bare[:MAX_STATEMENT_CHARACTERS].rsplit(" ", 1)[0] + " …"
    return bare


def _until(content: str, at: datetime | None) -> datetime | None:
    """Return when a statement stops to hold; None where it is not temporary."""
    if at is None or not WORDS.temporary.search(_BACKTICKS.sub("", content)) or WORDS.lasting.search(content):
        return None
    ends = [
        end for each in find_dates(_BACKTICKS.sub("", content), now=at) if (end := _next_time(each, at)) is not None
    ]
    ordinal = re.findall(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b", content)
    if ordinal and not ends:
        ends = [_next_day(int(ordinal[-1]), at)]
    soon = [end for end in ends if timedelta(0) < end - at < timedelta(days=200)]
    if soon:
        return max(soon)
    days = re.search(
        r"(?:next|for) (?:the next )?(?P<n>\d+|two|three|four|six|a|one)? ?(?P<unit>day|week|month|sprint)",
        content,
        re.IGNORECASE,
    )
    if days:
        number = {"two": 2, "three": 3, "four": 4, "six": 6}.get((days["n"] or "1").lower()) or (
            int(days["n"]) if (days["n"] or "").isdigit() else 1
        )
        return at + timedelta(days=number * {"day": 1, "week": 7, "month": 31, "sprint": 14}[days["unit"].lower()])
    if re.search(r"this week", content, re.IGNORECASE):
        return at + timedelta(days=7)
    return at + timedelta(days=DAYS_WITHOUT_AN_END)


def _next_time(found: DateMatch, at: datetime) -> datetime | None:
    """Return the end of a date that lies ahead: a day without a year, or a weekday, is the next one."""
    end = found.span.end
    if end > at:
        return end
    if found.repeats:
        return end.replace(year=end.year + 1) if (end.month, end.day) != (2, 29) else None
    return end + timedelta(days=7) if timedelta(0) <= at - end < timedelta(days=7) else None


def _next_day(day: int, at: datetime) -> datetime:
    """Return the end of the next *day* of a month."""
    ahead = next((each for n in range(1, 62) if (each := at + timedelta(days=n)).day == day), at)
    return ahead + timedelta(days=1)


# --- the dialogue -----------------------------------------------------------------------------


def _before(turns: Sequence[SpokenTurn], at: int) -> SpokenTurn | None:
    """Return the agent's turn right before a turn of the person."""
    return turns[at - 1] if at and not turns[at - 1].by_person else None


def _is_acknowledged(turns: Sequence[SpokenTurn], at: int, typed: str) -> bool:
    """Return whether the agent's next turn accepts what the person said, or repeats it in a few words."""
    following = turns[at + 1] if at + 1 < len(turns) else None
    if following is None or following.by_person:
        return False
    reply = _sentences(following.words)[:2]
    if any(WORDS.acknowledges.search(each) for each in reply):
        return True
    repeated = stems_of(typed) & stems_of(" ".join(reply))
    return len(repeated) >= 2 and len(following.words) < MAX_ECHO_CHARACTERS


def _answers_agent(turns: Sequence[SpokenTurn], at: int) -> bool:
    """Return whether a turn follows a question or a proposal of the agent."""
    before = _before(turns, at)
    return before is not None and (before.words.rstrip().endswith("?") or bool(WORDS.proposal.search(before.words)))


def _chosen(turns: Sequence[SpokenTurn], at: int, typed: str) -> Iterator[Statement]:
    """Yield the decision of a turn that picks one of the agent's options, or accepts its proposal as it is."""
    before = _before(turns, at)
    if before is None or len(typed) > 200 or _QUESTION.search(typed):
        return
    options = {each["key"].lower(): each["text"].rstrip(" ,;.") for each in _OPTION.finditer(before.words)}
    if key := _picked(typed, list(options)):
        text = f"{options[key]} ({_shortened(typed)})"
        yield replace(_statement(text, "decision", at, turns[at]), owner=False)
    elif (
        len(typed.split()) <= MAX_TERSE_WORDS
        and WORDS.accepts.search(typed)
        and (asked := _last_words_of_person(turns, at))
        and WORDS.asks_choice.search(asked)
        and (proposed := _proposal(before.words) or _first_answer(before.words, asked))
    ):
        text = f"{proposed} (on: {_shortened(asked)[:MAX_TOPIC_CHARACTERS]})"
        yield replace(_statement(text, "decision", at, turns[at], confidence=0.7), owner=False)


def _first_answer(words: str, asked: str) -> str:
    """Return the sentence with which the agent answers a question of which of two to take; blank if it asks back."""
    first = (_sentences(words) or [""])[0]
    either = re.search(r"(?<!\w)or(?!\w)", asked)
    return first if either and _QUESTION.search(asked) and not words.rstrip().endswith("?") else ""


def _picked(typed: str, keys: Sequence[str]) -> str:
    """Return which one of the options named *keys* a person picks; blank if none, or several."""
    if len(keys) < 2 or re.search(r"\d\s*(?:and|,|\+|to)\s*\d", typed):
        return ""
    named, ordinal = _CHOICE.search(typed), _ORDINAL.search(typed)
    if named:
        return named["key"].lower() if named["key"].lower() in keys else ""
    place = ORDINALS.index(ordinal["place"].lower()) if ordinal else len(keys)
    return keys[place] if place < len(keys) else ""


def _proposal(words: str) -> str:
    """Return the sentence of the agent that proposes something."""
    return next((each for each in _sentences(words) if WORDS.proposal.search(each) and not each.endswith("?")), "")


_TELLING: Final = regex(r"[\w`./-]{4,}")


def _with_context(content: str, turns: Sequence[SpokenTurn], at: int) -> tuple[str, bool]:
    """Return a short answer together with what it answers, and whether all of it was typed by the person."""
    before = _before(turns, at)
    telling = [word for word in _TELLING.findall(content) if not WORDS.accepts.match(word)]
    if before is None or len(telling) > 8 or not _answers_agent(turns, at):
        return content, True
    asked = _proposal(before.words) or (_sentences(before.words) or [""])[-1]
    asked = " ".join(asked.split())
    earlier = next(
        (typed for turn in reversed(turns[:at]) if turn.by_person and (typed := typed_words(turn.words))), ""
    )
    if len(asked) > 240:
        asked = asked[:240].rsplit(" ", 1)[0] + " …"
    asks = next((each for each in _sentences(earlier) if _QUESTION.search(each)), "")
    if asks and len(_TELLING.findall(asked)) < 4:
        asked = f"{asks} {asked}"
    return (f"{content} (on: {asked})", False) if asked else (content, True)


def _topic(content: str, turns: Sequence[SpokenTurn], at: int) -> str:
    """Return what a terse statement is about, from the person's words before it in the session."""
    if len(_TELLING.findall(content)) > MAX_TERSE_WORDS // 2 or not at or turns[at - 1].by_person:
        return ""
    earlier = next(
        (typed for turn in reversed(turns[:at]) if turn.by_person and (typed := typed_words(turn.words))), ""
    )
    return _shortened(earlier)[:MAX_TOPIC_CHARACTERS] if len(_TELLING.findall(earlier)) > 2 else ""


def _complaint(asked: str) -> str:
    """Return what went wrong, in the person's words."""
    return " ".join(asked.split())[:MAX_TOPIC_CHARACTERS]


def _takes_back(turn: SpokenTurn) -> bool:
    """Return whether a turn opens by taking back what was said before it."""
    words = turn.words.strip()
    return bool(WORDS.retraction.match(words) or WORDS.retraction.match(_LEAD.sub("", words))) or bool(
        re.match(r"(?:yeah,? |yes,? )?(?:i )?was (?:just )?(?:joking|kidding)", turn.words.strip(), re.IGNORECASE)
    )


def _drop_last(found: list[Statement], at: int, turns: Sequence[SpokenTurn]) -> None:
    """Drop what the person said right before."""
    last = next((place for place in range(at - 1, -1, -1) if turns[place].by_person), None)
    found[:] = [each for each in found if last is None or each.turn < last]


# --- what the agent finds ---------------------------------------------------------------------


def _of_agent(turns: Sequence[SpokenTurn], at: int) -> Iterator[Statement]:
    turn = turns[at]
    said = typed_words(turn.words)
    asked = _last_words_of_person(turns, at)
    sentences = _sentences(said)
    for marked in capture(turn.words):
        if marked.source == "self_report":
            yield _statement(
                marked.content, MARKED_TYPES.get(marked.type, "fact"), at, turn, confidence=marked.confidence
            )
    labelled = [each for each in sentences if _LABEL.match(each)]
    if labelled and not WORDS.acknowledges.match(said):
        label = _LABEL.match(labelled[0])
        kind = _LABEL_TYPES.get(label["label"].lower() if label else "", "gotcha")
        content = " ".join(_LABEL.sub("", each) for each in labelled)
        yield _statement(content, kind, at, turn)
        return
    declared = [
        each
        for each in sentences
        if (WORDS.decided.search(each) or "from now on" in each.lower()) and not each.endswith("?")
    ]
    if declared:
        kind = "decision" if WORDS.decided.search(declared[0]) else "procedure"
        yield _statement(" ".join(declared), kind, at, turn, confidence=0.7)
        return
    explains = _explains(said, asked, sentences)
    if explains:
        yield replace(_statement(explains, "gotcha", at, turn, confidence=0.7), topic=_complaint(asked))
        return
    if (
        asked
        and WORDS.about_project.search(asked)
        and "?" in turns_question(asked)
        and WORDS.seen_in_project.search(said)
    ):
        plain = [each for each in sentences if not each.endswith("?")]
        if plain and len(said) < 400:
            yield _statement(" ".join(plain[:3]), "fact", at, turn, confidence=0.7)
        return
    for each in sentences:
        if _SERVES.search(each) and not each.endswith("?"):
            yield _statement(each, "fact", at, turn, confidence=0.7)


def turns_question(asked: str) -> str:
    """Return *asked* with a question mark where it is a question without one."""
    return asked if "?" in asked else f"{asked}?" if any(map(_QUESTION.search, _sentences(asked))) else asked


def _explains(said: str, asked: str, sentences: Sequence[str]) -> str:
    """Return the cause and the remedy of something that went wrong; blank where the agent explains nothing."""
    if len(said) < 60 or said.endswith("?") or _OPTION.search(said) or WORDS.acknowledges.match(said):
        return ""
    cause, remedy = WORDS.cause.search(said), WORDS.remedy.search(said)
    troubled = bool(asked and WORDS.complaint.search(asked))
    named = WORDS.named_cause.search(said)
    if not (named or (troubled and (cause or remedy))):
        return ""
    if not named and WORDS.proposal.search(said) and not remedy:
        return ""
    specific = re.search(r"`[^`]+`|\d|[a-z]_[a-z]|[A-Z]{2,}", said)
    kept = [each for each in sentences if len(_WORD.findall(each)) > 3]
    return " ".join(kept) if specific and kept and len(said) > 80 else ""


def _last_words_of_person(turns: Sequence[SpokenTurn], at: int) -> str:
    """Return the last words of the person before an agent's turn, pasted ones included; they may be some turns ago."""
    return next((turn.words for turn in reversed(turns[max(0, at - 6) : at]) if turn.by_person), "")
