"""Decide what a new memory is to those the store already holds.

identical   the same words, whatever the case, spacing and punctuation
restates    the same thing in slightly other words: nothing that carries meaning is left over on either side
updates     the same slot of the same subject holds another value now, or the new text states a change of it
conflicts   one says what the other denies, or another source says otherwise
distinct    everything else; the nearest one, if any, is proposed: the two are linked

Only *identical* and *restates* lead to a merge, so both are refused when in doubt: a word that only one text has,
another order of the words, a question against a statement.

How trust and pins change a decision is a table: `OUTCOMES`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from recollect.records import NEVER, NOTHING, Decision, Memory, Trust
from recollect.text.claims import change
from recollect.text.differences import differences
from recollect.text.wording import same_words, says_the_same, similarity, word_jaccard
from recollect.trust import against, may_change, outranks

MERGED: Final = ("identical", "restates")
"""The decisions after which a draft does not become a memory of its own."""
RESTATED: Final = 0.7
"""The share of words that a restatement has in common with what it restates."""
NEAR: Final = 0.5
"""The least share of words with which two memories are linked."""
COSINE: Final = 0.85
"""The cosine above which two memories are linked; to profile `oro` they are duplicates."""
BM25: Final = 0.7
"""The normalized BM25 above which two memories are duplicates to profile `oro`."""


class Existing(Struct, frozen=True):
    """A stored memory."""

    id: int


class InBatch(Struct, frozen=True):
    """An earlier draft of the same batch, which may have no id yet."""

    place: int


Target = Existing | InBatch
"""What a new memory is compared with."""


def row_of(target: Target | None) -> int | None:
    """Return the id of a stored memory; None for anything else."""
    return target.id if isinstance(target, Existing) else None


class DuplicateCandidate(Struct, frozen=True, kw_only=True):
    """A memory that may say the same as a new one, with its variants and how near it is, where that is known."""

    memory: Memory
    variants: tuple[str, ...] = ()
    cosine: float | None = None
    bm25: float | None = None
    """The normalized BM25 of the new memory's own words."""
    place: int | None = None
    """Its place in the batch, if it is a draft."""

    @property
    def target(self) -> Target:
        """Return the stored memory or the draft that it is."""
        return Existing(self.memory.id) if self.place is None else InBatch(self.place)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return its content and the variants merged into it."""
        return (self.memory.content, *self.variants)


class DedupResult(Struct, frozen=True, kw_only=True):
    """What a new memory is, to which one, and why."""

    decision: Decision
    of: Target | None = None
    evidence: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    proposes: Target | None = None
    """The nearest one, to be linked, where it is distinct."""
    supersedes: tuple[Target, ...] = ()
    """What else it takes the place of."""


DISTINCT: Final = DedupResult(decision="distinct")


MAX_COMPARED_CHARACTERS: Final = 100_000
"""A longer memory is known by its digest only."""


def is_comparable(memory: Memory) -> bool:
    """Return whether *memory* is short enough to be compared word for word."""
    return len(memory.content) <= MAX_COMPARED_CHARACTERS


def is_standalone(memory: Memory) -> bool:
    """Return whether *memory* is never merged: a record with its own id, or a turn of a conversation."""
    return memory.external_id is not None or memory.thread is not None


def decide(new: Memory, candidates: Sequence[DuplicateCandidate], *, read: bool = True) -> DedupResult:
    """Return what *new* is to the *candidates*: the strongest decision wins, then the nearest words, then the id.

    A cosine only proposes a link. A memory with an external id is always distinct. To *read* texts as statements, which
    may change or deny each other in other words, takes longer; bulk does without.
    """
    compared = (_compare(new, candidate, read=read) for candidate in _closest(new, candidates))
    return min((result for result in compared if result is not None), key=_rank, default=DISTINCT)


def decide_oro(_: Memory, candidates: Sequence[DuplicateCandidate]) -> DedupResult:
    """Decide as profile `oro` does: a duplicate of the nearest by cosine, else by BM25, if it is near enough."""
    by_cosine = max(candidates, key=lambda each: (each.cosine or 0.0, -each.memory.id), default=None)
    by_words = max(candidates, key=lambda each: (each.bm25 or 0.0, -each.memory.id), default=None)
    if by_cosine is None or by_words is None:
        return DISTINCT
    evidence = {"bm25": by_words.bm25, "cosine": by_cosine.cosine}
    near = by_cosine if (by_cosine.cosine or 0.0) > COSINE else by_words if (by_words.bm25 or 0.0) > BM25 else None
    return DedupResult(decision="restates" if near else "distinct", of=near.target if near else None, evidence=evidence)


Decide = Callable[[Memory, Sequence[DuplicateCandidate]], DedupResult]
DECIDE: Final[Mapping[str, Decide]] = {"words": decide, "bm25": decide_oro}
"""How a profile decides, by the name in its settings."""
IN_BULK: Final[Mapping[str, Decide]] = {**DECIDE, "words": partial(decide, read=False)}
"""How it decides on many drafts at once."""


# --- who may change what ---------------------------------------------------------------------

Standing = Literal["peer", "lesser", "pinned", "protected"]
"""How a memory stands to a writer: of the same trust, trusted less, pinned by the writer itself, or out of reach."""

OUTCOMES: Final[Mapping[Standing, Mapping[Decision, Decision]]] = {
    "peer": {},
    "lesser": {"identical": "updates", "restates": "updates"},
    "pinned": {"updates": "conflicts"},
    "protected": {"restates": "distinct", "updates": "conflicts"},
}
"""What a decision becomes by the standing of the memory it is about; decisions that are not listed stay.

The words of a trusted writer replace those of a lesser one even where both say the same: they are kept as given.
A pinned memory takes another wording but is never superseded. A protected one is left as it is.
"""


def standing(writer: Trust, held: Memory) -> Standing:
    """Return how *held* stands to a *writer*."""
    if not may_change(writer, held):
        return "protected"
    return "pinned" if held.pinned else "lesser" if outranks(writer, held) else "peer"


def decide_by_trust(
    new: Memory, candidates: Sequence[DuplicateCandidate], decide_freely: Decide, *, replaces: Existing | None = None
) -> DedupResult:
    """Return what *new* is to *candidates* with respect to who wrote them; *replaces* is a copy of lesser trust.

    A peer that says the same comes first, then one that must not be superseded, then what *new* supersedes.
    """
    current = [(each, standing(new.trust, each.memory)) for each in candidates]
    peers = [each for each, rank in current if rank == "peer"]
    current = [(each, rank) for each, rank in current if each.memory.superseded_by is None]
    lesser = [each for each, rank in current if rank == "lesser"]
    kept = [each for each, rank in current if rank in ("pinned", "protected")]
    free = decide_freely(new, peers)
    if free.decision in MERGED or not (kept or lesser or replaces):
        return free
    guarded = guard(decide(new, kept), new, kept)
    if guarded.decision in MERGED:
        return guarded
    below = decide_freely(new, lesser)
    below = replace(below, decision=OUTCOMES["lesser"].get(below.decision, below.decision))
    outdated = [each for each in (free, below) if each.decision == "updates"]
    targets = tuple(dict.fromkeys(each for each in (*(each.of for each in outdated), replaces) if each is not None))
    if guarded.decision == "conflicts":
        return replace(guarded, supersedes=targets)
    if targets:
        evidence = outdated[0].evidence if outdated else {"by": "content"}
        return DedupResult(decision="updates", of=targets[0], evidence=evidence, supersedes=targets[1:])
    found = [each for each in (free, below, guarded) if each.of is not None or each.proposes is not None]
    return min(found, key=lambda each: _STRENGTH.index(each.decision), default=free)


def guard(result: DedupResult, new: Memory, candidates: Sequence[DuplicateCandidate]) -> DedupResult:
    """Return *result* as it is where *new* may not supersede the one of *candidates* that it is about."""
    old = next((each.memory for each in candidates if each.target == result.of), None)
    rank = "peer" if old is None else standing(new.trust, old)
    if old is None or rank in ("peer", "lesser"):
        return result
    evidence = {**result.evidence, **against(new.trust, old)}
    decision = OUTCOMES[rank].get(result.decision, result.decision)
    if decision == "distinct":
        return DedupResult(decision=decision, evidence=evidence, proposes=result.of)
    return DedupResult(decision=decision, of=result.of, evidence=evidence)


# --- one candidate --------------------------------------------------------------------------

MAX_COMPARED: Final = 5
"""How many candidates with the most shared words are compared word by word."""
MAX_NEAR: Final = 3
"""How many of the nearest by vector are compared as well."""

_STRENGTH: Final = ("identical", "restates", "updates", "conflicts", "distinct")


def _closest(new: Memory, candidates: Sequence[DuplicateCandidate]) -> Iterable[DuplicateCandidate]:
    """Return the candidates above the cosine, and of the others the few that share most words or are nearest.

    Lines made from one pattern share most of their words: without a limit, each would be compared with all others.
    """
    others = [each for each in candidates if (each.cosine or 0.0) <= COSINE]
    if len(others) <= MAX_COMPARED:
        return candidates
    by_words = sorted(others, key=lambda each: -max(word_jaccard(new.content, text) for text in each.texts))
    by_vector = sorted((each for each in others if each.cosine is not None), key=lambda each: -(each.cosine or 0.0))
    kept = {each.target for each in (*by_words[:MAX_COMPARED], *by_vector[:MAX_NEAR])}
    return [each for each in candidates if (each.cosine or 0.0) > COSINE or each.target in kept]


def _rank(result: DedupResult) -> tuple[int, float, bool, int]:
    """Return a key that sorts by strength, then nearness by words and vector, then drafts, the last first, then id."""
    near = sum(float(str(result.evidence.get(name, 0.0))) for name in ("jaccard", "cosine"))
    target = result.of or result.proposes
    order = -target.place if isinstance(target, InBatch) else row_of(target) or 0
    return _STRENGTH.index(result.decision), -near, not isinstance(target, InBatch), order


def _compare(new: Memory, candidate: DuplicateCandidate, *, read: bool) -> DedupResult | None:
    """Return what *new* is to one candidate, or None when they have nothing to do with each other."""
    old, linked = candidate.memory, (candidate.cosine or 0.0) > COSINE
    # Below half of what a link takes, other spellings cannot make up for it.
    alike = linked or max(word_jaccard(new.content, text) for text in candidate.texts) >= NEAR / 2
    record = new.external_id is not None
    share = max(similarity(new.content, text) for text in candidate.texts)
    found = change(
        new.content,
        old.content,
        cosine=candidate.cosine,
        alike=alike and not record,
        close=share >= NEAR,
        before=NEVER < new.when < old.when,
        apart=record or new.section != old.section,
        in_full=read,
    )
    if not (alike or found):
        return None
    evidence: dict[str, object] = {"jaccard": round(share, 4), "differs": list(differences(new.content, old.content))}
    if candidate.cosine is not None:
        evidence["cosine"] = candidate.cosine
    decision: Decision | None = None if record else _same(new, candidate)
    if decision is None and found in ("updates", "conflicts"):
        decision = found
    if decision is not None:
        return DedupResult(decision=decision, of=candidate.target, evidence=evidence)
    if found:
        evidence["related"] = True
    if share >= NEAR or linked or found:
        return DedupResult(decision="distinct", evidence=evidence, proposes=candidate.target)
    return None


def _same(new: Memory, candidate: DuplicateCandidate) -> Literal["identical", "restates"] | None:
    """Return how *new* repeats a candidate or a variant merged into it; None where it does not."""
    if any(same_words(new.content, text) for text in candidate.texts):
        return "identical"
    if differences(new.content, candidate.memory.content):
        return None
    near = (text for text in candidate.texts if similarity(new.content, text) >= RESTATED)
    return "restates" if any(says_the_same(new.content, text) for text in near) else None
