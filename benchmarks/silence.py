"""Honest silence: how many questions with an answer are answered, and how many without one are recognised.

usage: python benchmarks/silence.py [--modes hybrid,keyword,semantic] [--groups masked] [--most 300] [--fit]
A question of one collection asked of another has no answer there. In conversations it is also asked with the
speakers' names taken out of the question (the turns stay as they are), as otherwise the names alone give it
away. The sets lie in ../shared/data; --fit prints the profile's [judge] anew, from the dev half.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np

from common import DATA, ROOT, print_table, watched
from recollect.embedders.cached import CachedEmbedder
from recollect.embedders.contract import Embedder
from recollect.embedders.models import load
from recollect.evaluate.datasets import Dataset, Query, read_dataset
from recollect.evaluate.evaluate import KeptVectors, take_in
from recollect.profile import Calibration, Line, Profile, load_profile
from recollect.records import Scope
from recollect.replies import Mode, Request
from recollect.search import search
from recollect.search.answerability import calibration, length_of, lifted
from recollect.search.parse import parse
from recollect.settings import models_folder, read_settings
from recollect.stores.contract import Store
from recollect.stores.sqlite import open_sqlite
from recollect.text.analyser import analyse

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FOREIGN = ("scifact", "cranfield", "code_cosqa")
"""Sets whose questions have no answer in each other."""
FITTED = ("masked", "with chatter", "abstracts", *FOREIGN)
"""What the lines are fitted on, each group alike."""
GONE = "without answers"
"""A set from which every document that answers any of its questions is taken out."""
GROUPS = (*FITTED, "as asked", f"locomo {GONE}", f"scifact {GONE}")
"""Not fitted: questions that their names give away, and questions about what a store does speak of."""
ANSWERABLE = 5 / 6
"""How many questions have an answer, as far as the chance that is fitted is concerned."""
KEPT = 0.95
START = Calibration(hybrid=Line(words=7.0, meaning=13.0), semantic=Line(meaning=18.0))
"""Which of the first hits speaks while a model is fitted of which nothing is known yet."""
CHATTER = (
    "Good morning, I hope the week has been kind to you so far.",
    "I was turning this over on the train home last night and could not recall it for the life of me.",
    "Forgive me if it came up before, there is so much going on that my own notes are no help at all.",
    "No hurry with it, whenever you find a quiet minute will be early enough, and many thanks.",
    "We covered several subjects lately and I would like to have the details right before I pass them on.",
)


# --- pairs of a question and where it is asked ---------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
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


def pairs(*, most: int = 0) -> list[Pair]:
    """Return every pair of every group, or the first *most* questions of each set."""
    made = [*_conversations(most), *_abstracts(most), *_answerless("locomo", most), *_answerless("scifact", most)]
    for name in FOREIGN:
        for query in _some(dataset(name), most):
            made += [_pair(name, query.id, query.text, at, at, answerable=at == name) for at in FOREIGN]
    return made


def _pair(group: str, name: str, text: str, place: str, project: str, *, answerable: bool) -> Pair:
    return Pair(group=group, id=name, text=text, place=place, project=project, answerable=answerable)


def _conversations(most: int) -> Iterator[Pair]:
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
                yield _pair(group, query.id, text, "locomo", project, answerable=project == own)


def _answerless(name: str, most: int) -> Iterator[Pair]:
    """Yield the questions of *name* asked of it and of what is left of it when every answer is taken out."""
    group, whole = f"{name} {GONE}", dataset(name)
    for query in _some(whole, most):
        for place in (name, group):
            project = whole.project_of(query.group)
            yield _pair(group, query.id, query.text, place, project, answerable=place == name)


def _some(whole: Dataset, most: int) -> Sequence[Query]:
    """Return *most* questions from all over *whole*, or all of them."""
    return whole.queries[:: max(1, len(whole.queries) // most)][:most] if most else whole.queries


def _tidy(text: str) -> str:
    return re.sub(r"\s+([?.,!])", r"\1", " ".join(text.split()))


def _chatting(text: str, name: str) -> str:
    """Return *text* between two sentences that have nothing to do with it."""
    drawn = crc32(name.encode()) // 2
    before, after = CHATTER[drawn % 5], CHATTER[(drawn // 5 + drawn) % 5]
    return f"{before} {text} {after}" if before != after else f"{before} {text}"


def _abstracts(most: int) -> Iterator[Pair]:
    """Yield the first two sentences of every seventh abstract, asked where it stands and where it does not."""
    for document in dataset("scifact").documents[::7][: most or None]:
        text = " ".join(re.split(r"(?<=[.!?])\s+", document.text)[:2])
        for place in ("scifact", "cranfield"):
            yield _pair("abstracts", document.id, text, place, place, answerable=place == "scifact")


# --- asking --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the engine made of a pair: how sure it is, and what that stands on."""

    pair: Pair
    answered: bool
    sure: float
    held: float
    cosine: float


def ask_all(
    asked: Sequence[Pair], modes: Sequence[Mode], *, embedder: Embedder, profile: Profile, model: str
) -> dict[Mode, list[Heard]]:
    """Ask every pair in every mode, through the real write path and the real read path."""
    heard: dict[Mode, list[Heard]] = {mode: [] for mode in modes}
    for place in dict.fromkeys(pair.place for pair in asked):
        here = [pair for pair in asked if pair.place == place]
        with tempfile.TemporaryDirectory() as folder:
            store = open_sqlite(Path(folder) / "set.db", analyse)
            take_in(dataset(place), store=store, analyse=analyse, now=NOW, embedder=embedder, model=model)
            for mode in modes:
                for pair in watched(here, of=len(here), what=f"{place}, {mode}"):
                    heard[mode].append(ask(pair, mode, store=store, embedder=embedder, profile=profile))
            store.close()
    return heard


def ask(pair: Pair, mode: Mode, *, store: Store, embedder: Embedder, profile: Profile) -> Heard:
    """Return what the engine makes of *pair*; where it finds nothing at all it is sure that there is no answer."""
    scope = Scope(projects=frozenset({pair.project}))
    request = Request(text=pair.text, mode=mode, scope=scope, include_facts=False, snippets=False)
    reply = search(request, store=store, profile=profile, now=NOW, embedder=embedder)
    told = reply.evidence
    length = length_of(parse(pair.text, now=NOW))
    return Heard(
        pair=pair,
        answered=reply.outcome == "answered",
        sure=told.sure if told else 0.0,
        held=lifted(told.coverage or 0.0, length=length, rules=profile.judge) if told else 0.0,
        cosine=told.cosine or 0.0 if told else 0.0,
    )


# --- what it comes to ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """How sure the engine is of questions with an answer and of questions without."""

    true: np.ndarray
    cross: np.ndarray

    def kept(self, bar: float) -> float:
        """Return the share of answerable questions that are answered at *bar*."""
        return float((self.true >= bar).mean())

    def recognised(self, bar: float) -> float:
        """Return the share of unanswerable questions that are recognised at *bar*."""
        return float((self.cross < bar).mean())

    def bar(self, kept: float) -> float:
        """Return the bar at which the share *kept* of the answerable questions is answered."""
        return float(np.quantile(self.true, 1 - kept, method="lower"))

    def auc(self) -> float:
        """Return how often an answerable question gets more than an unanswerable one; equal ones count half."""
        order = np.sort(self.cross)
        below = np.searchsorted(order, self.true, side="left") + np.searchsorted(order, self.true, side="right")
        return float(below.mean() / (2 * len(order)))


def sides(heard: Sequence[Heard], group: str, *, dev: bool) -> Sides:
    """Return the answerable and the unanswerable ones of one half of *group*."""
    chosen = [each for each in heard if each.pair.group == group and each.pair.dev == dev]
    return Sides(
        true=np.array([each.sure for each in chosen if each.pair.answerable]),
        cross=np.array([each.sure for each in chosen if not each.pair.answerable]),
    )


def report(mode: Mode, heard: Sequence[Heard], *, bar: float) -> None:
    """Print the table of the groups and the curve of the hardest one, on the test half."""
    print(f"\n## {mode}, bar {bar:g}, test half\n")
    found = figures(heard, bar=bar)
    print_table([{"group": group, **_written(each)} for group, each in found.items()])
    if "masked" not in found:
        return
    hard = {half: sides(heard, "masked", dev=half == "dev") for half in ("dev", "test")}
    areas = ", ".join(f"{half.auc():.3f} {name}" for name, half in hard.items())
    print(f"\nmasked: kept and recognised along the curve; AUC {areas}\n")
    print_table([_point(hard, share) for share in (0.99, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7)])
    print("\nmasked, test: of those as sure as this, how many have an answer (five of six questions having one)\n")
    print_table(_reliability(hard["test"]))


def figures(heard: Sequence[Heard], *, bar: float) -> dict[str, dict[str, float]]:
    """Return what each group comes to on the test half; precision as if both sides were equally many."""
    asked = {each.pair.group for each in heard}
    return {group: _figures(sides(heard, group, dev=False), bar) for group in GROUPS if group in asked}


def _figures(half: Sides, bar: float) -> dict[str, float]:
    kept, recognised = half.kept(bar), half.recognised(bar)
    return {
        "answerable": len(half.true),
        "unanswerable": len(half.cross),
        "AUC": half.auc(),
        "kept": kept,
        "recognised": recognised,
        "precision": kept / max(kept + 1 - recognised, 1e-9),
        "recognised at 95 % kept": half.recognised(half.bar(KEPT)),
    }


def _written(values: Mapping[str, float]) -> Mapping[str, str]:
    return {name: str(value) if isinstance(value, int) else f"{value:.3f}" for name, value in values.items()}


def _point(hard: Mapping[str, Sides], share: float) -> Mapping[str, str]:
    bar = hard["dev"].bar(share)
    test = hard["test"]
    return {
        "kept of dev": f"{share:.2f}",
        "bar": f"{bar:.2f}",
        "recognised of dev": f"{hard['dev'].recognised(bar):.3f}",
        "kept of test": f"{test.kept(bar):.3f}",
        "recognised of test": f"{test.recognised(bar):.3f}",
    }


def _reliability(half: Sides) -> Sequence[Mapping[str, str]]:
    rows = []
    for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01)):
        shares = [float(((side >= low) & (side < high)).mean()) for side in (half.true, half.cross)]
        true, cross = shares[0] * ANSWERABLE, shares[1] * (1 - ANSWERABLE)
        rows.append({"sure": f"{low:.2f}-{min(high, 1):.2f}", "have one": f"{true / max(true + cross, 1e-9):.2f}"})
    return rows


# --- fitting -------------------------------------------------------------------------------------


def fit(heard: Sequence[Heard], parts: Sequence[str]) -> Line:
    """Return the logistic line through *parts* on the dev half: every group counts alike, and so do its two sides."""
    dev = [each for each in heard if each.pair.dev and each.pair.group in FITTED]
    sizes: dict[tuple[str, bool], int] = {}
    for each in dev:
        key = each.pair.group, each.pair.answerable
        sizes[key] = sizes.get(key, 0) + 1
    counts = np.array([1.0 / sizes[each.pair.group, each.pair.answerable] for each in dev])
    answers = np.array([float(each.pair.answerable) for each in dev])
    counts *= np.where(answers > 0, ANSWERABLE, 1 - ANSWERABLE)
    columns = {"words": [each.held for each in dev], "meaning": [each.cosine for each in dev]}
    found = _logistic(np.array([columns[part] for part in parts]).T, answers, counts / counts.sum())
    return Line(offset=round(found[-1], 2), **dict(zip(parts, (round(value, 2) for value in found), strict=False)))


def _logistic(values: np.ndarray, answers: np.ndarray, counts: np.ndarray, *, ridge: float = 1e-4) -> list[float]:
    """Return the weights and, last, the offset that make *answers* likeliest (Newton's method)."""
    rows = np.column_stack([values, np.ones(len(values))])
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counts * (likely - answers)) + ridge * weights
        bend = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows + ridge * np.eye(len(weights))
        weights -= np.linalg.solve(bend, slope)
    return [float(weight) for weight in weights]


PARTS: Mapping[Mode, tuple[str, ...]] = {
    "keyword": ("words",),
    "hybrid": ("words", "meaning"),
    "semantic": ("meaning",),
}


def print_fit(heard: Mapping[Mode, Sequence[Heard]], fingerprint: str) -> None:
    """Print what belongs into the profile."""
    print("\n# for [judge] of the profile:")
    lines = {mode: fit(each, PARTS[mode]) for mode, each in heard.items()}
    if "keyword" in lines:
        print(f"words = {_toml(lines.pop('keyword'))}")
    print(f"\n[judge.models.{fingerprint.rsplit('-', 1)[0]}]")
    for mode, line in lines.items():
        print(f"{mode} = {_toml(line)}")


def _toml(line: Line) -> str:
    parts = {"offset": line.offset, "words": line.words, "meaning": line.meaning}
    return "{ " + ", ".join(f"{name} = {value:g}" for name, value in parts.items() if value) + " }"


def fitting(profile: Profile, fingerprint: str) -> Profile:
    """Return *profile* with something for the model to begin with, where nothing is known of it."""
    rules = profile.judge
    models = rules.models if calibration(fingerprint, rules) else {**rules.models, fingerprint: START}
    return replace(profile, judge=replace(rules, models=models))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="hybrid,keyword,semantic")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--profile", default="default")
    parser.add_argument("--most", type=int, default=0, help="about so many questions of each set")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--json", action="store_true", help="only the figures of the groups, for a program")
    parser.add_argument("--fit", action="store_true", help="print the [judge] that the dev half makes")
    given = parser.parse_args()
    inner = load(given.model, models_folder(read_settings()))
    embedder = CachedEmbedder(KeptVectors(inner, ROOT / "build" / "vectors"))
    profile = load_profile(given.profile)
    profile = fitting(profile, embedder.fingerprint) if given.fit else profile
    modes: list[Mode] = [mode for mode in PARTS if mode in given.modes.split(",")]
    asked = [pair for pair in pairs(most=given.most) if pair.group in given.groups.split(",")]
    heard = ask_all(asked, modes, embedder=embedder, profile=profile, model=given.model)
    if given.json:
        print(json.dumps({mode: figures(each, bar=profile.judge.bar) for mode, each in heard.items()}))
        return
    for mode, each in heard.items():
        report(mode, each, bar=profile.judge.bar)
    if given.fit:
        print_fit(heard, embedder.fingerprint)


if __name__ == "__main__":
    main()
