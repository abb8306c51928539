"""Honest silence: how many questions with an answer are answered, and how many without one are recognised.

usage: python benchmarks/silence.py [--modes hybrid,keyword,semantic] [--groups masked] [--most 300] [--fit]
A question of one collection asked of another has no answer there. In conversations it is also asked with the
speakers' names taken out of the question (the turns stay as they are), as otherwise the names alone give it
away. The questions of `everyday` that have no answer are about the same things as the others; its other questions
are also asked of another of its small stores. The sets lie in ../shared/data; --fit prints the profile's
[answerability] anew, from the dev half.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
from msgspec.structs import fields, replace

from common import DATA, cached_embedder, print_table, watched
from recollect.embedders.contract import Embedder
from recollect.evaluate.corpus import UNDATED, Corpus, EvalResources, imported
from recollect.evaluate.datasets import Dataset, EvalQuery, read_dataset
from recollect.profile import Answerability, Profile, VectorModel, load_profile
from recollect.records import Scope
from recollect.replies import Mode, Request
from recollect.search.answerability import length_adjusted, log_odds, stretch
from recollect.search.parse import parse, query_length
from recollect.text.questions import names_given

FOREIGN = ("scifact", "cranfield", "code_cosqa")
"""Sets whose questions have no answer in each other."""
SMALL = "small stores"
"""Questions of one small store asked of another."""
SAME = "everyday"
"""Questions of small stores, those that have no answer there being about the same things."""
FITTED = ("masked", "with chatter", "abstracts", SMALL, *FOREIGN)
"""What the lines are fitted on, each group alike; what names and values count is fitted on SAME."""
GONE = "without answers"
"""A set from which every document that answers any of its questions is taken out."""
GROUPS = (*FITTED, SAME, "as asked", f"locomo {GONE}", f"scifact {GONE}")
"""Not fitted: questions that their names give away, and questions about what a store does speak of."""
ANSWERABLE = 5 / 6
"""How many questions have an answer, as far as the chance that is fitted is concerned."""
KEPT = 0.95
CHATTER = (
    "Good morning, I hope the week has been kind to you so far.",
    "I was turning this over on the train home last night and could not recall it for the life of me.",
    "Forgive me if it came up before, there is so much going on that my own notes are no help at all.",
    "No hurry with it, whenever you find a quiet minute will be early enough, and many thanks.",
    "We covered several subjects lately and I would like to have the details right before I pass them on.",
)


# --- pairs of a question and where it is asked ---------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A question asked of one project of one set, where it has an answer or has none."""

    group: str
    id: str
    text: str
    place: str
    project: str
    answerable: bool

    @property
    def dev(self) -> bool:
        """Whether it belongs to the half that numbers may be chosen on."""
        return crc32(self.id.encode()) % 2 == 0


@cache
def dataset(name: str) -> Dataset:
    """Return the set *name*, or a set without answers."""
    if not name.endswith(GONE):
        return read_dataset(DATA / name)
    whole = dataset(name.removesuffix(f" {GONE}"))
    answers = {answer for judged in whole.judgements.values() for answer in judged}
    return replace(whole, documents=tuple(each for each in whole.documents if each.id not in answers))


def probes(*, most: int = 0) -> list[Probe]:
    """Return every probe of every group, or the first *most* questions of each set."""
    made = [*_conversations(most), *_small_stores(most), *_abstracts(most)]
    made += [*_answerless("locomo", most), *_answerless("scifact", most)]
    for name in FOREIGN:
        for query in _some(dataset(name), most):
            made += [_probe(name, query.id, query.text, at, at, answerable=at == name) for at in FOREIGN]
    return made


def _probe(group: str, name: str, text: str, place: str, project: str, *, answerable: bool) -> Probe:
    return Probe(group=group, id=name, text=text, place=place, project=project, answerable=answerable)


def _conversations(most: int) -> Iterator[Probe]:
    talks = dataset("locomo")
    names = sorted({document.group or "" for document in talks.documents})
    speakers = sorted({str(document.speaker) for document in talks.documents if document.speaker})
    spoken = re.compile(rf"\b(?:{'|'.join(map(re.escape, speakers))})(?:['\u2019]s?)?(?!\w)")
    for query in _some(talks, most):
        own = str(query.group)
        others = [name for name in names if name != own]
        other = others[crc32(query.id.encode()) // 2 % len(others)]
        bare = _tidy(spoken.sub(" ", query.text))
        texts = {"as asked": query.text, "masked": bare, "with chatter": _chatting(bare, query.id)}
        for group, text in texts.items():
            for project in (own, other):
                yield _probe(group, query.id, text, "locomo", project, answerable=project == own)


def _small_stores(most: int) -> Iterator[Probe]:
    stores = dataset("everyday")
    names = sorted({str(document.group) for document in stores.documents})
    for query in _some(stores, most):
        own = str(query.group)
        answerable = any(gain > 0 for gain in stores.judgements.get(query.id, {}).values())
        yield _probe(SAME, query.id, query.text, "everyday", own, answerable=answerable)
        if answerable:
            others = [name for name in names if name != own]
            other = others[crc32(query.id.encode()) // 2 % len(others)]
            yield _probe(SMALL, query.id, query.text, "everyday", own, answerable=True)
            yield _probe(SMALL, query.id, query.text, "everyday", other, answerable=False)


def _answerless(name: str, most: int) -> Iterator[Probe]:
    """Yield the questions of *name* asked of it and of what is left of it when every answer is taken out."""
    group, whole = f"{name} {GONE}", dataset(name)
    for query in _some(whole, most):
        for place in (name, group):
            project = whole.project_of(query.group)
            yield _probe(group, query.id, query.text, place, project, answerable=place == name)


def _some(whole: Dataset, most: int) -> Sequence[EvalQuery]:
    """Return *most* questions from all over *whole*, or all of them."""
    return whole.queries[:: max(1, len(whole.queries) // most)][:most] if most else whole.queries


def _tidy(text: str) -> str:
    return re.sub(r"\s+([?.,!])", r"\1", " ".join(text.split()))


def _chatting(text: str, name: str) -> str:
    """Return *text* between two sentences that have nothing to do with it."""
    drawn = crc32(name.encode()) // 2
    before, after = CHATTER[drawn % 5], CHATTER[(drawn // 5 + drawn) % 5]
    return f"{before} {text} {after}" if before != after else f"{before} {text}"


def _abstracts(most: int) -> Iterator[Probe]:
    """Yield the first two sentences of every seventh abstract, asked where it stands and where it does not."""
    for document in dataset("scifact").documents[::7][: most or None]:
        text = " ".join(re.split(r"(?<=[.!?])\s+", document.text)[:2])
        for place in ("scifact", "cranfield"):
            yield _probe("abstracts", document.id, text, place, place, answerable=place == "scifact")


# --- asking --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How likely an answer is taken to be for a probe, and what that stands on."""

    probe: Probe
    probability: float
    coverage: float = 0.0
    cosine: float = 0.0
    size: float = 0.0
    absent: float = 0.0
    lacking: float = 0.0


def ask_all(
    asked: Sequence[Probe], modes: Sequence[Mode], *, embedder: Embedder, profile: Profile, model: str
) -> dict[Mode, list[Judged]]:
    """Ask every probe in every mode, through the real write path and the real read path."""
    judged: dict[Mode, list[Judged]] = {mode: [] for mode in modes}
    for place in dict.fromkeys(probe.place for probe in asked):
        here = [probe for probe in asked if probe.place == place]
        with imported(dataset(place), EvalResources(embedder=embedder, model=model)) as corpus:
            for mode in modes:
                for probe in watched(here, of=len(here), what=f"{place}, {mode}"):
                    judged[mode].append(ask(probe, mode, corpus, profile))
    return judged


def _rules(profile: Profile) -> Answerability:
    if profile.answerability is None:
        sys.exit(f"the profile {profile.name} does not list [answerability]")
    return profile.answerability


def ask(probe: Probe, mode: Mode, corpus: Corpus, profile: Profile) -> Judged:
    """Return what is made of *probe*; where nothing at all is found an answer has no chance."""
    scope = Scope(projects=frozenset({probe.project}))
    request = Request(text=probe.text, mode=mode, scope=scope, include_facts=False, snippets=False)
    evidence = corpus.search(request, profile, now=UNDATED).evidence
    if evidence is None:
        return Judged(probe=probe, probability=0.0)
    rules, length = _rules(profile), query_length(parse(probe.text, now=UNDATED))
    given = max(1, len(names_given(probe.text)))
    return Judged(
        probe=probe,
        probability=evidence.probability,
        coverage=length_adjusted(evidence.coverage or 0.0, length=length, rules=rules),
        cosine=evidence.cosine or 0.0,
        size=math.log(max(1, evidence.searched)),
        absent=len(evidence.absent) / given / stretch(length, rules),
        lacking=float(evidence.lacks is not None) / stretch(length, rules),
    )


# --- what it comes to ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """How likely an answer is taken to be for questions that have one and for questions that have none."""

    true: np.ndarray
    cross: np.ndarray

    def kept(self, threshold: float) -> float:
        """Return the share of answerable questions that are answered at *threshold*."""
        return float((self.true >= threshold).mean())

    def recognised(self, threshold: float) -> float:
        """Return the share of unanswerable questions that are recognised at *threshold*."""
        return float((self.cross < threshold).mean())

    def threshold(self, kept: float) -> float:
        """Return the threshold at which the share *kept* of the answerable questions is answered."""
        return float(np.quantile(self.true, 1 - kept, method="lower"))

    def auc(self) -> float:
        """Return how often an answerable question gets more than an unanswerable one; equal ones count half."""
        order = np.sort(self.cross)
        below = np.searchsorted(order, self.true, side="left") + np.searchsorted(order, self.true, side="right")
        return float(below.mean() / (2 * len(order)))


def sides(judged: Sequence[Judged], group: str, *, dev: bool) -> Sides:
    """Return the answerable and the unanswerable ones of one half of *group*."""
    chosen = [each for each in judged if each.probe.group == group and each.probe.dev == dev]
    return Sides(
        true=np.array([each.probability for each in chosen if each.probe.answerable]),
        cross=np.array([each.probability for each in chosen if not each.probe.answerable]),
    )


def report(mode: Mode, judged: Sequence[Judged], *, threshold: float) -> None:
    """Print the table of the groups and the curve of the hardest one, on the test half."""
    print(f"\n## {mode}, threshold {threshold:g}, test half\n")
    found = figures(judged, threshold=threshold)
    print_table([{"group": group, **_written(each)} for group, each in found.items()])
    if "masked" not in found:
        return
    hard = {half: sides(judged, "masked", dev=half == "dev") for half in ("dev", "test")}
    areas = ", ".join(f"{half.auc():.3f} {name}" for name, half in hard.items())
    print(f"\nmasked: kept and recognised along the curve; AUC {areas}\n")
    print_table([_point(hard, share) for share in (0.99, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7)])
    print("\nmasked, test: how many of those this likely have an answer (five of six questions having one)\n")
    print_table(_reliability(hard["test"]))


def figures(judged: Sequence[Judged], *, threshold: float) -> dict[str, dict[str, float]]:
    """Return what each group comes to on the test half; precision as if both sides were equally many."""
    asked = {each.probe.group for each in judged}
    return {group: _figures(sides(judged, group, dev=False), threshold) for group in GROUPS if group in asked}


def _figures(half: Sides, threshold: float) -> dict[str, float]:
    kept, recognised = half.kept(threshold), half.recognised(threshold)
    return {
        "answerable": len(half.true),
        "unanswerable": len(half.cross),
        "AUC": half.auc(),
        "kept": kept,
        "recognised": recognised,
        "precision": kept / max(kept + 1 - recognised, 1e-9),
        "recognised at 95 % kept": half.recognised(half.threshold(KEPT)),
    }


def _written(values: Mapping[str, float]) -> Mapping[str, str]:
    return {name: str(value) if isinstance(value, int) else f"{value:.3f}" for name, value in values.items()}


def _point(hard: Mapping[str, Sides], share: float) -> Mapping[str, str]:
    threshold = hard["dev"].threshold(share)
    test = hard["test"]
    return {
        "kept of dev": f"{share:.2f}",
        "threshold": f"{threshold:.2f}",
        "recognised of dev": f"{hard['dev'].recognised(threshold):.3f}",
        "kept of test": f"{test.kept(threshold):.3f}",
        "recognised of test": f"{test.recognised(threshold):.3f}",
    }


def _reliability(half: Sides) -> Sequence[Mapping[str, str]]:
    rows = []
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01)):
        shares = [float(((side >= low) & (side < high)).mean()) for side in (half.true, half.cross)]
        true, cross = shares[0] * ANSWERABLE, shares[1] * (1 - ANSWERABLE)
        share = true / max(true + cross, 1e-9)
        rows.append({"probability": f"{low:.2f}-{min(high, 1):.2f}", "have one": f"{share:.2f}"})
    return rows


# --- fitting -------------------------------------------------------------------------------------


def fit(judged: Sequence[Judged], parts: Sequence[str]) -> VectorModel:
    """Return the logistic line through *parts* on the dev half: every group counts alike, and so do its two sides."""
    dev = [each for each in judged if each.probe.dev and each.probe.group in FITTED]
    found = _logistic(_columns(dev, parts), *_weighed(dev))
    *weights, intercept = (round(value, 2) for value in found)
    return VectorModel(intercept=intercept, **dict(zip(parts, weights, strict=True)))


def fit_details(judged: Sequence[Judged], model: VectorModel, ceiling: float) -> list[float]:
    """Return what absent names and a missing value take from the log odds of *model*, on the dev half of SAME."""
    dev = [each for each in judged if each.probe.dev and each.probe.group == SAME]
    about = (log_odds(model, coverage=each.coverage, cosine=each.cosine) + model.size * each.size for each in dev)
    known = np.array([min(ceiling, each) for each in about])
    absent, lacking, _ = _logistic(_columns(dev, ("absent", "lacking")), *_weighed(dev), known=known)
    return [round(-absent, 1), round(-lacking, 1)]


def _columns(judged: Sequence[Judged], parts: Sequence[str]) -> np.ndarray:
    return np.array([[getattr(each, part) for part in parts] for each in judged])


def _weighed(dev: Sequence[Judged]) -> tuple[np.ndarray, np.ndarray]:
    """Return which of *dev* have an answer, and what each counts."""
    sizes: dict[tuple[str, bool], int] = {}
    for each in dev:
        key = each.probe.group, each.probe.answerable
        sizes[key] = sizes.get(key, 0) + 1
    counts = np.array([1.0 / sizes[each.probe.group, each.probe.answerable] for each in dev])
    answers = np.array([float(each.probe.answerable) for each in dev])
    counts *= np.where(answers > 0, ANSWERABLE, 1 - ANSWERABLE)
    return answers, counts / counts.sum()


def _logistic(
    values: np.ndarray, answers: np.ndarray, counts: np.ndarray, *, known: np.ndarray | float = 0.0, ridge: float = 1e-4
) -> list[float]:
    """Return the weights and, last, the offset that make *answers* likeliest beside what is *known* (by Newton)."""
    rows = np.column_stack([values, np.ones(len(values))])
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-(rows @ weights + known)))
        slope = rows.T @ (counts * (likely - answers)) + ridge * weights
        bend = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return [float(weight) for weight in weights]


PARTS: Mapping[Mode, tuple[str, ...]] = {
    "keyword": ("coverage",),
    "hybrid": ("coverage", "cosine", "size"),
    "semantic": ("cosine", "size"),
}


def print_fit(judged: Mapping[Mode, Sequence[Judged]], *, ceiling: float) -> None:
    """Print what belongs into the profile."""
    print("\n# for [answerability] of the profile:")
    fitted = {mode: fit(each, PARTS[mode]) for mode, each in judged.items()}
    for mode, model in fitted.items():
        absent, lacking = fit_details(judged[mode], model, ceiling)
        print(f"# {mode}: absent = {absent:g}, lacking = {lacking:g}")
    if "keyword" in fitted:
        print(f"words = {_toml(fitted.pop('keyword'))}")
    for mode, model in fitted.items():
        print(f"{mode} = {_toml(model)}")


def _toml(model: VectorModel) -> str:
    parts = {each.name: getattr(model, each.name) for each in fields(model)}
    return "{ " + ", ".join(f"{name} = {value:g}" for name, value in parts.items() if value) + " }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="hybrid,keyword,semantic")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--most", type=int, default=0, help="about so many questions of each set")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--json", action="store_true", help="only the figures of the groups, for a program")
    parser.add_argument("--fit", action="store_true", help="print the [answerability] that the dev half makes")
    given = parser.parse_args()
    embedder, profile = cached_embedder(given.model), load_profile(given.profile)
    modes: list[Mode] = [mode for mode in PARTS if mode in given.modes.split(",")]
    asked = [probe for probe in probes(most=given.most) if probe.group in given.groups.split(",")]
    judged = ask_all(asked, modes, embedder=embedder, profile=profile, model=given.model)
    threshold = _rules(profile).threshold
    if given.json:
        print(json.dumps({mode: figures(each, threshold=threshold) for mode, each in judged.items()}))
        return
    for mode, each in judged.items():
        report(mode, each, threshold=threshold)
    if given.fit:
        print_fit(judged, ceiling=_rules(profile).ceiling)


if __name__ == "__main__":
    main()
