"""Which lists a search asks, in which order, and how they complete each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from recollect.errors import ModelError, QueryError
from recollect.profile import Profile
from recollect.records import AnyOf, WordQuery
from recollect.replies import Degraded, Mode, Request
from recollect.search.build_query import Tier, ask
from recollect.search.expand import expand
from recollect.search.parse import Query
from recollect.search.ranking import Ranking
from recollect.search.retrieve import Desk, by_meaning, by_words, is_strong, mend, unwanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The lists that were asked, the mode they amount to, and what could not run."""

    mode: Mode
    rankings: tuple[Ranking, ...]
    tiers: tuple[Tier, ...]
    degraded: Degraded | None = None

    def ranking(self, name: str) -> Ranking:
        """Return the list *name*, empty if it was not asked."""
        return next((each for each in self.rankings if each.name == name), Ranking(name=name, found=()))


def gather(request: Request, query: Query, desk: Desk, profile: Profile, *, depth: int) -> Gathered:
    """Return the lists of candidates for *query*."""
    tiers = ask(query, profile.words)
    profile = profile if request.intent is None else _insisting(profile)
    mode, degraded = choose(request, query, desk, profile)
    try:
        rankings = GATHERERS[mode](query, tiers, desk, profile, depth)
    except ModelError:
        if request.without_model == "fail":
            raise
        mode, degraded = "keyword", "no_model"
        rankings = _keyword(query, tiers, desk, profile, depth)
    rankings += _further(mode, rankings, query, desk, profile, depth=depth)
    if degraded is None and any(ranking.missing for ranking in rankings):
        degraded = "vectors_pending"
    asked = next((ranking.asked for ranking in rankings if ranking.asked), tiers)
    return Gathered(mode=mode, rankings=rankings, tiers=asked, degraded=degraded)


def _insisting(profile: Profile) -> Profile:
    """Return *profile* as one for which no signal is strong: who says what they are after is searched for further."""
    return replace(profile, retrieve=replace(profile.retrieve, short_circuit=(0.0, 0.0)))


def _further(
    mode: Mode, rankings: Sequence[Ranking], query: Query, desk: Desk, profile: Profile, *, depth: int
) -> tuple[Ranking, ...]:
    """Return the lists of other ways to ask, unless meaning alone was asked for or the words are sure already."""
    normaliser = profile.fuse.normalise.get("words", "plain")
    if mode == "semantic" or is_strong(rankings[0], profile.retrieve, normaliser):
        return ()
    return expand(query, desk, profile, depth=depth)


MODES = ("keyword", "semantic", "hybrid")


def choose(request: Request, query: Query, desk: Desk, profile: Profile) -> tuple[Mode, Degraded | None]:
    """Return the mode that *request* amounts to here, and what is missing for the one it asked for."""
    if request.mode not in MODES:
        raise QueryError(f"no mode is called {request.mode!r}", hint=f"one of {', '.join(MODES)}")
    asked = _by_alpha(request)
    if asked == "keyword":
        return "keyword", None
    if desk.embedder is None:
        if request.without_model == "fail":
            raise ModelError("there is no embedding model", hint="run: recollect model install minilm")
        return "keyword", "no_model"
    if asked == "hybrid" and profile.retrieve.known_scripts and not desk.embedder.covers(query.text):
        return "keyword", None
    return asked, None


def _by_alpha(request: Request) -> Mode:
    """Return the mode asked for; a hybrid that gives one list no weight is the other list alone."""
    if request.mode == "hybrid" and request.alpha == 0.0:
        return "keyword"
    if request.mode == "hybrid" and request.alpha == 1.0:
        return "semantic"
    return request.mode


def _keyword(query: Query, tiers: Sequence[Tier], desk: Desk, _: Profile, depth: int) -> tuple[Ranking, ...]:
    return (by_words(tiers, desk, depth=depth, query=query),)


def _semantic(query: Query, tiers: Sequence[Tier], desk: Desk, profile: Profile, depth: int) -> tuple[Ranking, ...]:
    if query.tree is not None:
        matching = [entry.id for entry in by_words(tiers, desk, depth=depth).found]
        near = by_meaning(query.text, desk, depth=0, least=-1.0, score_ids=matching)
        found = tuple(sorted(near.by_id.values(), key=lambda entry: (-entry.score, entry.id)))
        return (replace(near, found=found, by_id={}),)
    near = by_meaning(query.text, desk, depth=depth, least=profile.retrieve.min_similarity)
    return (_spared(near, query, desk, profile),)


def _hybrid(query: Query, tiers: Sequence[Tier], desk: Desk, profile: Profile, depth: int) -> tuple[Ranking, ...]:
    """Ask both lists; in the end each may know the exact score of every candidate of the other."""
    rules = profile.retrieve
    if query.tree is not None:
        words = by_words(tiers, desk, depth=depth)
        near = by_meaning(query.text, desk, depth=0, least=-1.0, score_ids=[entry.id for entry in words.found])
        return words, near
    if rules.short_circuit[0] > 0:
        words = by_words(tiers, desk, depth=depth, query=query)
        if is_strong(words, rules, profile.fuse.normalise.get("words", "plain")):
            return (words,)
    near = _spared(by_meaning(query.text, desk, depth=depth, least=rules.min_similarity), query, desk, profile)
    others = [entry.id for entry in near.found] if rules.complete else []
    words = by_words(tiers, desk, depth=depth, score_ids=others, query=query)
    meant = mend(query, words, desk)
    if meant != query.text:
        near = by_meaning(query.text, desk, depth=depth, least=rules.min_similarity, meant=meant)
        near = _spared(near, query, desk, profile)
        others = [entry.id for entry in near.found] if rules.complete else []
        words = replace(
            by_words(words.asked, desk, depth=depth, score_ids=others), document_frequencies=words.document_frequencies
        )
    if rules.complete:
        unranked = {entry.id for entry in words.found} - {entry.id for entry in near.found}
        exact = by_meaning(query.text, desk, depth=0, least=-1.0, score_ids=sorted(unranked), meant=meant)
        near = replace(near, by_id=exact.by_id)
    return words, near


def _spared(near: Ranking, query: Query, desk: Desk, profile: Profile) -> Ranking:
    """Return *near* without what the query excludes."""
    weights = WordQuery(expression=AnyOf(parts=()), weights=profile.words.fields)
    out = unwanted(query, desk, [entry.id for entry in near.found], weights)
    return replace(near, found=tuple(entry for entry in near.found if entry.id not in out)) if out else near


GATHERERS = {"keyword": _keyword, "semantic": _semantic, "hybrid": _hybrid}
