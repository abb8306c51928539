"""Choose the statements that a prompt of a coding session should be told; most prompts need none.

A prompt that only acknowledges, chats, points at the screen or asks what any textbook answers gets nothing. Otherwise
each current statement of the project is scored by meaning, by the words it shares with the prompt, and by the kind of
work that the prompt starts: a rule about tests governs "run the tests", whatever words it uses.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from typing import Final

from msgspec import Struct

from recollect.embedders.contract import Embedder
from recollect.errors import ModelError
from recollect.lazy import regex
from recollect.recall import hook_log, ledger
from recollect.recall.inject import Rendered, count_tokens_mixed, render, task_query
from recollect.records import DISTILLED, STATEMENT_TYPES, Filter, Memory, Scope
from recollect.replies import Hit, Reply
from recollect.stores.contract import Store
from recollect.text.wording import stems_of, word_table
from recollect.vectors import matrix, pack

MAX_STATEMENTS: Final = 2_000
"""How many statements of a project are scored, the newest first."""
MIN_SCORE: Final = 0.4
"""The score below which a statement is not told."""
MIN_SCORE_BY_WORDS: Final = 0.28
"""The same without a model, where only words count."""
MAX_BEHIND: Final = 0.3
"""How far behind the best one a statement may be."""
MAX_TOLD: Final = 3
"""How many statements a prompt is told."""
MAX_TURNS: Final = 1
"""How many turns of conversations are told where there is no statement."""
WORD_WEIGHT: Final = 0.5
"""What it is worth to share all words of the prompt, next to a cosine of one."""
GOVERNED: Final = 0.3
"""What it is worth that a statement governs the kind of work that the prompt starts."""
GOVERNING_TYPES: Final = frozenset({"preference", "procedure", "decision", "rule", "fact"})
"""The types that tell how work is to be done; a gotcha has to fit the prompt itself."""
ANSWERING: Final = 0.12
"""What it is worth that a statement holds the kind of thing a question asks for: a day, a person, a port."""
MIN_BEST_SCORE: Final = 0.36
"""The score below which not even the best statement is told."""
MIN_TELLING_STEMS: Final = 3
"""A prompt with fewer significant words is read together with the turn before it."""
RECENT_PENALTY: Final = 0.1
"""How much less the words of that turn count than those of the prompt."""
MAX_RECENT_CHARACTERS: Final = 200
GENERAL_PENALTY: Final = 0.3
"""How much better a statement must fit a question that any textbook answers."""


def _words(alternatives: Sequence[str]) -> re.Pattern[str]:
    return regex(r"(?<![\w-])(?:" + "|".join(alternatives) + r")(?![\w-])", re.IGNORECASE)


_TABLE: Final = tomllib.loads(files("recollect.recall").joinpath("topics.toml").read_text("utf-8"))
TOPICS: Final = tuple((_words(each["prompt"]), _words(each["statement"])) for each in _TABLE["topic"])
"""Kinds of work: how prompts start them, and how the statements that govern them speak."""
ANSWERS: Final = tuple((_words(each["question"]), _words(each["holds"])) for each in _TABLE["answer"])
"""What questions ask for, and how statements that hold it look."""
_ACKNOWLEDGEMENTS: Final = word_table(
    """
    a ack again agreed ah ahead all alright and are as at awesome back be bit brb bye careful cheers congrats
    continue cool correct do does done enough evening exactly excellent fair fine for further get go gone
    good got great ha haha hang hello hey hi hm hmm hold how i im in interesting is it its job just k keep
    kidding kk later left let lets lgtm like lol looks lovely made make makes me mind minute more morning
    much my need never next nice night no nope not nothing nvm of off oh ok okay on one ooh oops other ouch
    out please pls perfect ping proceed push pushing really resume retry right roger run same second sec see
    sense ship shit so some sorry sounds start stop super sure take tea test thank thanks that thats the then
    there thing think this thx time today tomorrow try ty u ugh undo up wait was well what whatever wonderful
    work working works wow yay yea yeah yep yes yo you your yup 👍 🎉 🙏 ❤️ ☕ about lunch brilliant weekend
    """
)
_PICKS: Final = regex(
    r"\W*(?:sounds good|ok(?:ay)?|yes|sure|fine)?[\s,.]*(?:do|take|go with|use"
    r"|try)?\s*(?:option |number )?\d(?:\s*(?:,|and|&|\+)\s*\d)*\W*",
    re.IGNORECASE,
)
_PROJECT_WORDS: Final = regex(
    r"(?<!\w)(?:we|our|ours|us|here|this (?:repo|project|codebase|service)|the (?:repo|project|codebase)"
    r"|my (?:repo|project)|again|still|in prod|on prod|staging|last time|did we|do we|were we)(?!\w)",
    re.IGNORECASE,
)
_GENERAL: Final = regex(
    r"^\W*(?:(?:ok|so|hey|quick question|btw)[,:]? )?(?:"
    r"what(?:'s|s| is| are) (?:an? |the (?:difference|best|meaning|time|capital|point|purpose)|good |some )"
    r"|what does .{1,60} (?:mean|do|stand for)"
    r"|explain|define|describe|(?:whats|what's) the difference|how (?:do|does|can|would) (?:i|one|you"
    r"|we)? ?\w+.{0,80}(?: in (?:python|rust|go|java|javascript|typescript|bash|sql|css|html|git|vim|c\+\+|ruby"
    r"|php|kotlin|swift))?$"
    r"|how many|how (?:old|tall|far)|what time|who (?:invented|wrote|is the)|translate|spell|summari[sz]e (?:the"
    r"|this) (?:article|text)|write (?:me )?(?:a|an) (?:haiku|poem|joke|limerick|song|story)|tell me (?:a|about)"
    r"|(?:sqrt|square root|\d+ ?[-+*/^] ?\d+)|convert \d|format this|rephrase|reword|can you make (?:that"
    r"|this) (?:sentence|text|paragraph)|give me (?:a synonym|another word)|what(?:'s| is|s) (?:a )?good"
    r")",
    re.IGNORECASE,
)
_ON_SCREEN: Final = regex(
    r"(?<!\w)(?:you (?:just|did|wrote|made|edited|sent|said|changed)|i (?:just )?sent|just now|the screenshot"
    r"|the (?:output|file|diff|message) (?:again|you|above)|the second (?:file|one)|the (?:first|last"
    r"|other) (?:file|one)|above|zoom in|scroll|same (?:for|with|in) the)(?!\w)",
    re.IGNORECASE,
)
_ASKS_WHAT_WAS_SAID: Final = regex(
    r"(?<!\w)(?:where (?:were|did) we|last time|what did (?:i|we|you)|did (?:i|we|you) (?:say|decide|try|agree)"
    r"|remember|remind me|(?:we|i|you) (?:said|talked|discussed)|pick (?:it )?up|last word"
    r"|why (?:is|are|was|were|do|did)|earlier|yesterday|before)(?!\w)",
    re.IGNORECASE,
)
_ASKS_IF_STILL: Final = regex(
    r"(?<!\w)(?:still|yet|any ?more|any longer|or (?:is|are|do|does)|is (?:it|that) over|already (?:over|allowed"
    r"|open)|can (?:i|we) .{0,60} again)(?!\w)",
    re.IGNORECASE,
)
_WORDS: Final = regex(r"[\w'\u2019]+|[^\w\s]")


def needs_nothing(prompt: str) -> bool:
    """Return whether a prompt is an acknowledgement, a nudge, or about what is on the screen."""
    words = [word.casefold().replace("'", "").replace("\u2019", "") for word in _WORDS.findall(prompt)]
    spoken = [word for word in words if word[:1].isalnum()]
    if not spoken or _PICKS.fullmatch(prompt):
        return True
    if len(spoken) <= 8 and all(word in _ACKNOWLEDGEMENTS for word in spoken):
        return not _TEST_RUN.search(prompt)
    return bool(_ON_SCREEN.search(prompt)) and len(spoken) <= 14 and not _PROJECT_WORDS.search(prompt)


_TEST_RUN: Final = regex(r"\btests?\b", re.IGNORECASE)


def is_general(prompt: str) -> bool:
    """Return whether a prompt asks what any textbook answers: nothing in it points at the project."""
    return bool(_GENERAL.search(prompt)) and not _PROJECT_WORDS.search(prompt)


def current_statements(store: Store, *, scope: Scope, now: datetime, expired: bool = False) -> list[Memory]:
    """Return the statements that hold now, the newest first, and with *expired* those that held for a time.

    Turns of conversations and superseded memories are none of them.
    """
    ids = store.browse(scope=scope, where=Filter(types=STATEMENT_TYPES), limit=MAX_STATEMENTS).ids
    held = store.load(ids, scope=scope)
    memories = [held[row] for row in ids if row in held]
    kept = [
        each
        for each in memories
        if each.thread is None and each.trust != "untrusted" and (expired or not is_expired(each, now))
    ]
    return sorted(kept, key=lambda each: (each.when, each.id), reverse=True)


def is_expired(memory: Memory, now: datetime) -> bool:
    """Return whether a memory held for a time that is over."""
    return memory.valid_until is not None and memory.valid_until <= now


class Fit(Struct, frozen=True, kw_only=True):
    """How well a statement fits a prompt, in parts."""

    meaning: float = 0.0
    words: float = 0.0
    work: float = 0.0
    """What it is worth that it governs the kind of work."""
    answer: float = 0.0
    """What it is worth that it holds the kind of thing the prompt asks for."""

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.meaning + self.words + self.work + self.answer

    def __str__(self) -> str:
        """Return the parts that count, for people."""
        parts = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return ", ".join(f"{name} {value:.2f}" for name, value in parts if value)


def choose_statements(
    prompt: str,
    statements: Sequence[Memory],
    *,
    now: datetime,
    cosines: Mapping[int, float] | None = None,
    recent: Sequence[str] = (),
) -> dict[int, Fit]:
    """Return the ids of the statements to inject for *prompt*, the best first, each with how well it fits.

    *cosines* are those of the prompt with the statements; without a model words alone decide. *recent* are the last
    turns of the session: what they say already is not repeated, and their words count a little.
    """
    asks_if_still = bool(_ASKS_IF_STILL.search(prompt))
    candidates = [each for each in statements if asks_if_still or not is_expired(each, now)]
    fits = _fits(prompt, candidates, cosines=cosines)
    if (longer := _with_recent(prompt, recent)) != prompt:
        around = _fits(longer, candidates, cosines=cosines)
        fits |= {row: fit for row, fit in around.items() if fit.total - RECENT_PENALTY > fits[row].total}
    least = MIN_SCORE if cosines is not None else MIN_SCORE_BY_WORDS
    least += GENERAL_PENALTY if is_general(prompt) else 0.0
    said = [stems_of(text) for text in recent]
    ranked = sorted(candidates, key=lambda each: -fits[each.id].total)
    best = fits[ranked[0].id].total if ranked else 0.0
    first = MIN_SCORE - MIN_BEST_SCORE if cosines is not None else 0.0
    kept = [
        each.id
        for place, each in enumerate(ranked)
        if fits[each.id].total >= max(least - (0.0 if place else first), best - MAX_BEHIND) and not _is_said(each, said)
    ]
    return {row: fits[row] for row in kept[:MAX_TOLD]}


def _with_recent(prompt: str, recent: Sequence[str]) -> str:
    """Return a short prompt together with the turn before it, which says what it is about."""
    if not recent or len(stems_of(prompt)) >= MIN_TELLING_STEMS:
        return prompt
    return f"{prompt} {recent[0][:MAX_RECENT_CHARACTERS]}"


def _fits(prompt: str, statements: Sequence[Memory], *, cosines: Mapping[int, float] | None) -> dict[int, Fit]:
    asked = stems_of(prompt)
    stems = {each.id: stems_of(f"{each.title} {each.content}") for each in statements}
    frequencies = Counter(stem for each in stems.values() for stem in each)
    rarity = {stem: math.log(1 + (len(stems) + 0.5) / (frequencies[stem] + 0.5)) for stem in asked}
    whole = sum(rarity.values()) or 1.0
    plain = prompt.replace("_", " ")
    started = [statement for task, statement in TOPICS if task.search(plain)]
    answers = [answer for question, answer in ANSWERS if question.search(prompt)]
    weight = 1.0 if cosines is None else WORD_WEIGHT
    return {
        each.id: Fit(
            meaning=max(0.0, (cosines or {}).get(each.id, 0.0)),
            words=weight * sum(rarity[stem] for stem in asked & stems[each.id]) / whole,
            work=GOVERNED if each.type in GOVERNING_TYPES and _is_about(each, started) else 0.0,
            answer=ANSWERING if _is_about(each, answers) else 0.0,
        )
        for each in statements
    }


def _is_about(statement: Memory, patterns: Sequence[re.Pattern[str]]) -> bool:
    return any(each.search(statement.content) for each in patterns)


def _is_said(statement: Memory, said: Sequence[frozenset[str]]) -> bool:
    """Return whether the last turns say nearly all words of a statement already."""
    words = stems_of(statement.content)
    return any(len(words & each) >= 0.8 * len(words) for each in said) if words else False


def remind(  # noqa: PLR0913  (each is a part of its own)
    prompt: str,
    *,
    store: Store,
    scope: Scope,
    now: datetime,
    embedder: Callable[[], Embedder | None],
    search: Callable[[str], Reply],
    recent: Sequence[str] = (),
    session: str | None = None,
    project: str = "",
    limit: int = MAX_TOLD,
    budget: int = 500,
) -> Rendered:
    """Return the block for a prompt, and note in the session's ledger what was told.

    Statements come first. Notes and documents of the project follow where the search is sure; turns of conversations
    only where there is nothing else.
    """
    if needs_nothing(prompt):
        hook_log.note(store, "the prompt needs nothing", session=session, project=project, at=now)
        return Rendered()
    statements = current_statements(store, scope=scope, now=now, expired=True)
    told = ledger.told(store, session, project=project)
    model = embedder()
    cosines = _cosines(prompt, statements, store, scope, model)
    fits = choose_statements(prompt, statements, now=now, cosines=cosines, recent=recent)
    chosen = [each for row in fits for each in statements if each.id == row]
    hits: Sequence[Hit] = ()
    if len(chosen) < limit and not is_general(prompt) and (model is not None or not chosen):
        reply = search(task_query(prompt))
        found = [hit for hit in reply.hits if reply.outcome == "answered" and _may_be_told(hit.memory, statements, now)]
        hits = _notes_or_turns(prompt, found, alone=not chosen)[: limit - len(chosen)]
        chosen += [hit.memory for hit in hits]
    new = [each for each in chosen if told.get(str(each.id)) != each.meaning.hex()]
    rendered = render(
        new,
        now=now,
        counter=count_tokens_mixed,
        limit=limit,
        budget=budget,
        exchanges={hit.id: [turn for turn in hit.exchange if turn.id is not None] for hit in hits if hit.memory.thread},
        labelled=scope.projects is None,
    )
    if session is not None and rendered.ids:
        ledger.note_told(store, session, [each for each in new if each.id in rendered.ids], project=project, at=now)
    reasons = {row: str(fits.get(row, "the search is sure of it")) for row in rendered.ids}
    silent = "all of it was injected before in this session" if chosen and not new else "no statement fits well enough"
    hook_log.note(store, reasons or silent, session=session, project=project, at=now)
    return rendered


def _notes_or_turns(prompt: str, found: Sequence[Hit], *, alone: bool) -> Sequence[Hit]:
    """Return the hits that are no turns; if there are none, and they stand *alone*, the turns the prompt asks for."""
    notes = [hit for hit in found if hit.memory.thread is None]
    return notes or (found[:MAX_TURNS] if alone and _ASKS_WHAT_WAS_SAID.search(prompt) else ())


def _may_be_told(memory: Memory, statements: Sequence[Memory], now: datetime) -> bool:
    """Return whether a hit of the search may be told: no statement, which had its chance, and nothing superseded."""
    known = {each.id for each in statements}
    return (
        memory.id not in known
        and memory.trust != "untrusted"
        and memory.superseded_by is None
        and not is_expired(memory, now)
    )


def _cosines(
    prompt: str, statements: Sequence[Memory], store: Store, scope: Scope, embedder: Embedder | None
) -> dict[int, float] | None:
    """Return the cosines of *prompt* with *statements*; None without a model, or where it fails."""
    if embedder is None or not statements:
        return None
    try:
        if not embedder.scale.tells:
            return None
        vector = pack(embedder.embed_queries([prompt])[0])
        ids = [each.id for each in statements]
        stored = store.vectors(embedder.fingerprint, ids, scope=scope)
    except ModelError:
        return None
    rows = [(row, passage.vector) for row, passages in stored.items() for passage in passages]
    products = matrix([each for _, each in rows], dimensions=embedder.dimensions).products(vector, range(len(rows)))
    found: dict[int, float] = {}
    for (row, _), cosine in zip(rows, embedder.scale.of_all(products), strict=True):
        found[row] = max(cosine, found.get(row, -1.0))
    return found


def is_statement(memory: Memory) -> bool:
    """Return whether a memory was distilled from a turn."""
    return DISTILLED in memory.metadata
