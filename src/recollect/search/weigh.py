"""Named factors that weigh a candidate, each a pure function of a memory, the profile and the time; and the floors."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NamedTuple, cast

from msgspec.structs import replace

from recollect.decay import age_days, effective_confidence, half_life_decay
from recollect.lazy import cache_short
from recollect.profile import DateBoost, Factor, Floor, Profile, Weigh
from recollect.records import Fact, Traits, Usage
from recollect.search.candidates import Candidates, Drop, Factors
from recollect.search.dialogue import REPLY
from recollect.search.speakers import Role, asked_speaker, roles_of
from recollect.search.state import Outlined, State
from recollect.text.analyser import informative_words
from recollect.text.dates import DateMatch, TimeSpan, file_date, find_dates, step
from recollect.trust import capped

UNUSED: Final = Usage()
DAY: Final = timedelta(days=1)
MAX_DATE_CHARS: Final = 4000
"""Dates are searched in this many characters of a memory."""
DATE_TOP: Final = 10
"""The hit that is best without the date boost stays among this many."""


class Subject(NamedTuple):
    """A candidate to weigh: a memory, its facts, its usage, and the boost of the lens."""

    memory: Traits | Outlined
    facts: tuple[Fact, ...] = ()
    usage: Usage = UNUSED
    lens: float = 1.0
    least: float = 0.0
    """Lower bound of its factor `informativeness`."""
    asked: bool = True
    """Whether the query may ask for what its speaker said."""

    @property
    def text(self) -> Outlined:
        """The memory with its text, for the factors that read it."""
        return cast("Outlined", self.memory)


Weigher = Callable[[Subject, Weigh, datetime], float]
TEXT_FACTORS: Final[frozenset[Factor]] = frozenset({"dated", "importance"})
"""The factors that need more than the traits of every memory; `informativeness` only reads turns."""


def weigh(state: State, *, rules: Weigh, replies: float = 0.0) -> State:
    """Multiply the loaded candidates by their factors, best first, ties by id.

    *replies* is the lower bound of the factor `informativeness` for a reply.
    """
    candidates, known = state.candidates, state.known
    if not known.keys() >= set(candidates.ids):
        candidates = candidates.picked([at for at, row in enumerate(candidates.ids) if row in known])
    memories = {row: known[row] for row in candidates.ids}
    roles = roles_of(state.outlines) if "speaker" in rules.factors else {}
    asked = asked_speaker(state.query.text) if roles else None
    of = partial(_subject, candidates=candidates, state=state, replies=replies, roles=roles, asked=asked)
    factors: Factors = {name: _column(name, memories, of, rules, state) for name in rules.factors}
    return replace(state, candidates=candidates.weighed(factors).by_score())


def reads_texts(state: State, profile: Profile) -> bool:
    """Return whether weighing reads the texts of all candidates; it always reads those of turns."""
    dated = profile.date_boost is not None and bool(state.query.dates)
    return dated or state.boost is not None or not TEXT_FACTORS.isdisjoint(profile.weigh.factors)


def _column(
    name: Factor, memories: Mapping[int, Traits | Outlined], of: Callable[[int], Subject], rules: Weigh, state: State
) -> dict[int, float]:
    """Return a factor for each of *memories*; 1 for all of them if nothing can change it."""
    if (name == "lens" and state.boost is None) or (name == "type_weight" and not rules.type_weights):
        return dict.fromkeys(memories, 1.0)
    if name == "prior":
        return _priors(memories, rules, state.now)
    weigher, now = FACTORS[name], state.now
    if name in ("informativeness", "speaker"):
        turns = [row for row, memory in memories.items() if memory.thread is not None]
        return dict.fromkeys(memories, 1.0) | {row: weigher(of(row), rules, now) for row in turns}
    return {row: weigher(of(row), rules, now) for row in memories}


def _priors(memories: Mapping[int, Traits | Outlined], rules: Weigh, now: datetime) -> dict[int, float]:
    """Return the factor `prior` of each of *memories*, computed once for equal ones."""
    known: dict[tuple[float, bool, datetime], float] = {}
    column: dict[int, float] = {}
    for row, memory in memories.items():
        key = _sure(memory), memory.pinned, memory.created_at
        factor = known.get(key)
        if factor is None:
            factor = known[key] = prior(Subject(memory), rules, now)
        column[row] = factor
    return column


def _subject(
    row: int, *, candidates: Candidates, state: State, replies: float, roles: Mapping[int, Role], asked: Role | None
) -> Subject:
    facts, loaded = state.facts.get(row, ()), state.outlines.get(row)
    memory = state.traits[row] if loaded is None else loaded
    lens = 1.0 if state.boost is None or loaded is None else state.boost(loaded, facts)
    answers = any(each.ranking == REPLY and row in each.points for each in candidates.given)
    role = roles.get(row)
    states = role == "person" and loaded is not None and not loaded.content.rstrip().endswith("?")
    least = 1.0 if states else replies if answers else 0.0  # short messages of a person state facts
    meant = asked is None or role in (None, asked)
    return Subject(memory, facts, state.usage.get(row, UNUSED), lens, least, meant)


# --- factors --------------------------------------------------------------------------------


def recency(subject: Subject, rules: Weigh, now: datetime) -> float:
    """Cortex: a little more for recent memories, 1 + w / (1 + days since import)."""
    return 1.0 + rules.recency_weight / (1.0 + age_days(subject.memory.created_at, now))


def half_life(subject: Subject, rules: Weigh, now: datetime) -> float:
    """Oro: half after each half-life since it was written; pinned memories do not age."""
    memory = subject.memory
    return 1.0 if memory.pinned else half_life_decay(age_days(memory.created_at, now), rules.half_life_days)


def dated(subject: Subject, rules: Weigh, now: datetime) -> float:
    """Boocode: a file named by its day ages from that day; any other file never does."""
    day = file_date(subject.text.source)
    if day is None or subject.memory.pinned:
        return 1.0
    begun = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return half_life_decay(age_days(begun, now), rules.half_life_days)


def confidence(subject: Subject, _: Weigh, __: datetime) -> float:
    """Oro: the confidence of the memory."""
    return _sure(subject.memory)


def _sure(memory: Traits | Outlined) -> float:
    """Return the confidence of a memory, capped by the trust in its writer; traits come capped from the store."""
    return memory.confidence if isinstance(memory, Traits) else capped(memory.confidence, memory.trust)


def fact_confidence(subject: Subject, _: Weigh, now: datetime) -> float:
    """Cortex: the mean current confidence of its facts; 1 if it states none."""
    return mean_confidence(subject.facts, now)


def type_weight(subject: Subject, rules: Weigh, _: datetime) -> float:
    """Return the weight of its type; 1 if not named."""
    return rules.type_weights.get(subject.memory.type, 1.0)


def lens(subject: Subject, _: Weigh, __: datetime) -> float:
    """Return the boost of the lens in use."""
    return subject.lens


def prior(subject: Subject, rules: Weigh, now: datetime) -> float:
    """Default: confident, fresh and pinned memories count a little more, within the bounds of the profile.

    Age counts from when a memory was written down, so a note about an old event is not old.
    """
    memory, (low, high) = subject.memory, rules.bounds
    sure = 1.0 + rules.confidence_shift * (_sure(memory) - 0.8)
    fresh = 1.0 - rules.age_shift * (1.0 - half_life(subject, rules, now))
    whole = sure * fresh * (1.0 + rules.pin_shift * memory.pinned)
    return low if whole < low else min(whole, high)


def informativeness(subject: Subject, rules: Weigh, _: datetime) -> float:
    """Default: a conversation turn that states little counts less; 1 for other memories."""
    if subject.memory.thread is None:
        return 1.0
    words = informative_words(subject.text.content)
    return max(subject.least, 1.0 - rules.informativeness_shift * math.exp(-words / rules.informativeness_words))


def speaker(subject: Subject, rules: Weigh, _: datetime) -> float:
    """Default: in talk with an assistant, words of the one who is not asked for count less."""
    return 1.0 if subject.asked else 1.0 - rules.speaker_shift


def importance(subject: Subject, rules: Weigh, now: datetime) -> float:
    """Engram: the weight of the type, halved with each half-life, plus feedback, concepts and use.

    The majority of the verdicts makes feedback good or bad; concepts are tags; each time shown is a retrieval.
    """
    of, memory, verdicts = rules.importance, subject.text, subject.usage.verdicts
    decay = half_life_decay(age_days(memory.created_at, now), of.half_life_days)
    votes = verdicts.get("used", 0) + verdicts.get("useful", 0) - verdicts.get("wrong", 0)
    learned = of.feedback_weight * max(-1, min(1, votes))
    learned += of.concept_weight * math.fsum(of.concepts.get(tag, 0.0) for tag in memory.tags)
    learned += of.retrieval_weight * math.log2(subject.usage.shown + 1)
    return max(of.minimum, of.type_weights.get(memory.type, 1.0) * decay + learned)


FACTORS: Final[Mapping[Factor, Weigher]] = {
    "prior": prior,
    "informativeness": informativeness,
    "speaker": speaker,
    "recency": recency,
    "half_life": half_life,
    "dated": dated,
    "confidence": confidence,
    "fact_confidence": fact_confidence,
    "type_weight": type_weight,
    "importance": importance,
    "lens": lens,
}


def mean_confidence(facts: Sequence[Fact], now: datetime) -> float:
    """Return the mean current confidence of a memory's active facts; 1 if there are none."""
    active = [effective_confidence(fact, now) for fact in facts if fact.state == "active"]
    return math.fsum(active) / len(active) if active else 1.0


# --- a date in a plain query ----------------------------------------------------------------


def boost_dates(state: State, *, rules: DateBoost) -> State:
    """Multiply the candidates of a date in the query by the factor `date_boost`, best first, ties by id.

    The factor is 1 + the boost for a memory within the date or that mentions one within it, and less with each day
    between them. It is bounded so that the candidate that was best stays among the first ten.
    """
    found, dates = state.candidates, state.query.dates
    if not dates or not found:
        return state
    spans = tuple(span for date in dates for span in occurrences(date))
    near = {row: nearness(state.outlines[row], spans, rules) for row in found.ids}
    boost = min(rules.boost * _rarity(near.values()), _bound(found, near))
    boosts = {row: factor for row in found.ids if (factor := 1.0 + boost * near[row]) > 1.0}
    return replace(state, candidates=found.weighed({**found.factors, "date_boost": boosts}).by_score())


def _rarity(near: Collection[float]) -> float:
    """Return how many halvings of the candidates leave about as many as are of the time."""
    return max(0.0, math.log2(len(near) / max(1.0, math.fsum(near))))


def occurrences(found: DateMatch) -> tuple[TimeSpan, ...]:
    """Return the span of a date, and that of the next year if it names no year."""
    if not found.repeats:
        return (found.span,)
    return found.span, TimeSpan(start=step(found.span.start, "year", 1), end=step(found.span.end, "year", 1))


def nearness(memory: Outlined, spans: Sequence[TimeSpan], rules: DateBoost) -> float:
    """Return 1 for a memory of the time or one that mentions a date within it; less with each day between.

    A memory that is both counts a little more.
    """
    written = max(_fading(memory.when, span, rules) for span in spans)
    if not names_date(memory, spans):
        return written
    return 1.0 + rules.both * written


def names_date(memory: Outlined, spans: Sequence[TimeSpan]) -> bool:
    """Return whether *memory* mentions a date that begins within one of *spans* and is not much longer."""
    return any(
        span.start <= each.start < span.end and each.end - each.start <= 2 * (span.end - span.start)
        for each in _named(memory.content, memory.when)
        for span in spans
    )


@cache_short(4096)
def _named(text: str, when: datetime) -> tuple[TimeSpan, ...]:
    """Return the dates that *text* mentions, read as of *when*."""
    return tuple(span for found in find_dates(text[:MAX_DATE_CHARS], now=when) for span in occurrences(found))


def _fading(moment: datetime, span: TimeSpan, rules: DateBoost) -> float:
    apart = max(span.start - moment, moment - span.end, timedelta())
    margin = rules.margin_days + rules.margin_share * (span.end - span.start) / DAY
    return rules.around * math.exp(-(apart / DAY) / margin) if apart or moment == span.end else 1.0


def _bound(candidates: Candidates, near: Mapping[int, float]) -> float:
    """Return the largest boost that lets fewer than ten overtake the best."""
    (first, *others), (best, *scores) = candidates.ids, candidates.scores
    ahead = ((score * near[row] - best * near[first], score) for row, score in zip(others, scores, strict=True))
    needed = sorted((best - score) / gain for gain, score in ahead if gain > 0)
    return max(0.0, math.nextafter(needed[DATE_TOP - 1], 0.0)) if len(needed) >= DATE_TOP else math.inf


# --- floors ---------------------------------------------------------------------------------


def apply_floor(state: State, *, rules: Floor) -> State:
    """Drop the candidates that score too low, and those whose facts have too little confidence.

    A ranking that answered alone has the floor of its own kind: its scores are on another scale than fused ones.
    """
    alone = state.answering_alone
    mode = state.mode if not alone else "semantic" if alone == "vector" else "keyword"
    least = {"keyword": rules.keyword, "semantic": rules.semantic, "hybrid": rules.hybrid}[mode]
    # A share of the best cuts the long tail of vectors, never a match by words.
    relative = 0.0 if state.mode == "keyword" or state.query.tree is not None else rules.relative
    candidates = state.candidates
    fused = relative * max(candidates.fused, default=0.0)
    low = Drop(code="floor", surfaces_if=f"the floor is at most {{score:.4g}} (it is {least:.4g})")
    far = Drop(code="floor", surfaces_if=f"the floor is at most {{fused:.4g}} before the factors (it is {fused:.4g})")
    every = zip(candidates.ids, candidates.scores, candidates.fused, strict=True)
    drops = {row: low if score < least else far for row, score, own in every if score < least or own < fused}
    if rules.min_confidence > 0:
        worths = {row: mean_confidence(state.facts.get(row, ()), state.now) for row in candidates.ids}
        drops = {**_unsure(worths, rules.min_confidence), **drops}
    return replace(state, candidates=candidates.dropped(drops)) if drops else state


def _unsure(worths: Mapping[int, float], sure: float) -> dict[int, Drop]:
    return {
        row: Drop(code="confidence", surfaces_if=f"min_confidence is at most {worth:.4g} (it is {sure:.4g})")
        for row, worth in worths.items()
        if worth < sure
    }
