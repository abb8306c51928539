"""What has to hold: each bar with what was measured and whether it is reached; ratios are of one run."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from benchmarks.speed.results import Result

By = Literal["wall", "cpu"]
OURS = "recollect"
MANY = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A mark: *found* is at most it, or with *least* at least; None where it was not measured."""

    name: str
    unit: str
    mark: float
    found: float | None
    least: bool = False
    strict: bool = False
    note: str = ""
    noise: float = 0.0

    @property
    def verdict(self) -> str:
        """PASS, MISS, or "not measured"."""
        if self.found is None:
            return "not measured"
        held = (
            self.found >= self.mark
            if self.least
            else self.found < self.mark
            if self.strict
            else self.found <= self.mark
        )
        return "PASS" if held else "MISS"

    @property
    def demand(self) -> str:
        """The mark in words."""
        sign = "at least" if self.least else "under" if self.strict else "at most"
        return f"{sign} {_number(self.mark)}{self.unit}"


class Known:
    """What was measured, asked for by what it is; times by the clock or of computing."""

    def __init__(self, results: Sequence[Result], by: By = "wall") -> None:
        self._results = results
        self._by = by

    def one(
        self, section: str, row: str, engine: str = OURS, *, text: str = "zipf", size: int | None = None, **more: int
    ) -> Result | None:
        """Return the result, None where there is none."""
        return next(
            (
                each
                for each in self._results
                if (each.section, each.row, each.engine, each.text) == (section, row, engine, text)
                and size in (None, each.size)
                and not each.failed
                and all(getattr(each, name) == value for name, value in more.items())
            ),
            None,
        )

    def time(self, result: Result | None) -> float | None:
        """Return its median in milliseconds."""
        if result is None:
            return None
        return result.cpu_p50 if self._by == "cpu" and result.cpu_p50 is not None else result.p50

    def ratio(self, ours: Result | None, theirs: Result | None) -> float | None:
        """Return how many times as long the first took."""
        one, other = self.time(ours), self.time(theirs)
        return None if one is None or not other else one / other

    def engines(self, section: str, row: str, *, size: int, text: str = "zipf") -> list[Result]:
        """Return what everyone but us took for *row*."""
        return [
            each
            for each in self._results
            if (each.section, each.row, each.text, each.size) == (section, row, text, size)
            and each.engine != OURS
            and not each.failed
        ]


def noise(*results: Result | None) -> float:
    """Return how far the rounds are apart, as a share: what a ratio may move without a reason."""
    spread = 0.0
    for each in results:
        if each is not None and len(each.rounds) > 2:
            ordered = sorted(each.rounds)
            low, middle, high = (ordered[int(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75))
            spread += ((high - low) / middle / math.sqrt(len(ordered))) ** 2 if middle else 0.0
    return round(2 * math.sqrt(spread), 3)


def bars(results: Sequence[Result], by: By = "wall") -> list[Bar]:
    """Return every bar in the order of the table."""
    known = Known(results, by)
    parts: tuple[Callable[[Known], Iterator[Bar]], ...] = (
        _words,
        _vectors,
        _hybrid,
        _model,
        _growth,
        _load,
        _start,
        _add,
        _import,
        _memory,
        _stages,
        _answers,
    )
    return [bar for part in parts for bar in part(known)]


def _against(known: Known, name: str, ours: Result | None, theirs: Result | None, mark: float) -> Bar:
    return Bar(
        name=name,
        unit="x",
        mark=mark,
        found=known.ratio(ours, theirs),
        noise=noise(ours, theirs),
        note=_times(known, ours, theirs),
    )


def _times(known: Known, *results: Result | None) -> str:
    shown = [f"{_number(time)} ms" for each in results if (time := known.time(each)) is not None]
    return " : ".join(shown)


SIZES = {10_000: "10K", 100_000: "100K", MANY: "1M"}


def _words(known: Known) -> Iterator[Bar]:
    for row, name, marks in (
        ("words", "words, 8-word OR, top 10", (2.0, 0.5, 0.3)),
        ("question", "words, the default profile's whole question", (4.0, 1.0, 0.5)),
    ):
        for (size, short), mark in zip(SIZES.items(), marks, strict=True):
            ours, theirs = known.one("words", row, size=size), known.one("words", "words", "tantivy", size=size)
            yield _against(known, f"{name}, {short}, of tantivy", ours, theirs, mark)


def _vectors(known: Known) -> Iterator[Bar]:
    for (size, short), mark in zip(SIZES.items(), (1.1, 0.2, 0.15), strict=True):
        ours = known.one("vectors", "vectors", size=size)
        yield _against(
            known,
            f"vectors, {short}, of NumPy float32",
            ours,
            known.one("vectors", "vectors", "numpy", size=size),
            mark,
        )
        recall = None if ours is None else ours.recall
        yield Bar(name=f"vectors, {short}, recall@100", unit="", mark=0.999, found=recall, least=True)


def _hybrid(known: Known) -> Iterator[Bar]:
    ours, theirs = (known.one("hybrid", "hybrid", engine, size=10_000) for engine in (OURS, "tantivy"))
    bar = _against(known, "hybrid, 10K, of tantivy + usearch", ours, theirs, 2.5)
    yield replace(bar, note=bar.note + _by_default(known, 10_000))
    ours = known.one("hybrid", "hybrid", size=100_000)
    peers = sorted(known.engines("hybrid", "hybrid", size=100_000), key=lambda each: known.time(each) or math.inf)
    first, *others = peers or [None]
    bar = _against(known, "hybrid, 100K, of the fastest peer", ours, first, 0.5)
    yield replace(bar, note=f"{bar.note}, {first.engine}{_by_default(known, 100_000)}" if first else "")
    for other in others:
        yield Bar(
            name=f"hybrid, 100K, {other.engine} behind ours",
            unit="x",
            mark=20.0,
            found=known.ratio(other, ours),
            least=True,
            noise=noise(ours, other),
            note=_times(known, other, ours),
        )


def _by_default(known: Known, size: int) -> str:
    """Return how we stand to usearch at its default effort, which finds less."""
    ours, theirs = (
        known.one("hybrid", "hybrid", size=size),
        known.one("hybrid", "hybrid, default effort", "tantivy", size=size),
    )
    ratio = known.ratio(ours, theirs)
    return "" if ratio is None else f"; of usearch at its default effort {_number(ratio)}x"


def _model(known: Known) -> Iterator[Bar]:
    whole, alone = (known.one("model", row, size=100_000) for row in ("embedded hybrid", "embedding"))
    yield _against(known, "hybrid with embedding, 100K, of embedding alone", whole, alone, 1.5)


def _growth(known: Known) -> Iterator[Bar]:
    small = known.one("hybrid", "hybrid", size=10_000)
    for size, short in ((100_000, "100K"), (MANY, "1M")):
        ratio = known.ratio(known.one("hybrid", "hybrid", size=size), small)
        found = None if ratio is None else math.log(ratio) / math.log(size / 10_000)
        yield Bar(name=f"hybrid, growth from 10K to {short}, exponent", unit="", mark=0.5, found=found, strict=True)


def _load(known: Known) -> Iterator[Bar]:
    for kind in ("threads", "processes"):
        one, eight = (known.one("load", kind, size=100_000, **{kind: width}) for width in (1, 8))
        found = eight.per_second / one.per_second if one and eight and one.per_second and eight.per_second else None
        yield Bar(name=f"8 reading {kind}, 100K, of one", unit="x", mark=1.8, found=found, least=True)


def _start(known: Known) -> Iterator[Bar]:
    for size, short in SIZES.items():
        bare, empty, full = (
            known.one("start", row, engine, size=size)
            for row, engine in (("python -c pass", "python"), ("search, empty", OURS), ("search", OURS))
        )
        if size == 10_000:
            yield _against(known, "search as a process, empty store, of python -c pass", empty, bare, 8.0)
        yield _against(known, f"search as a process, {short}, of an empty store", full, empty, 1.5)


def _add(known: Known) -> Iterator[Bar]:
    for size, short in SIZES.items():
        ours, empty = (known.one("add", "add", engine, size=size) for engine in (OURS, "recollect_empty"))
        yield _against(known, f"add, {short}, of one to an empty store", ours, empty, 2.0)


def _import(known: Known) -> Iterator[Bar]:
    for row, mark in (("40 words", 5000.0), ("abstracts", 2000.0)):
        result = known.one("import", row, text="")
        found = None if result is None else result.cpu_per_second
        yield Bar(name=f"import of {row}, a second and core", unit="", mark=mark, found=found, least=True)
    again = known.one("folder", "unchanged", text="")
    found = None if again is None or again.p50 is None else again.p50 / 1000
    files = f"{again.size:,}" if again else "20,000"
    yield Bar(name=f"folder of {files} files, unchanged, seconds", unit=" s", mark=10.0, found=found)


def _memory(known: Known) -> Iterator[Bar]:
    result = known.one("memory", "hybrid", size=100_000)
    found = None if result is None else result.memory_mb
    note = f"{result.anonymous_mb:.0f} MB its own" if result and result.anonymous_mb else ""
    yield Bar(
        name="memory of a hybrid search process, 100K, no model",
        unit=" MB",
        mark=150.0,
        found=found,
        strict=True,
        note=note,
    )


def _stages(known: Known) -> Iterator[Bar]:
    bare = known.one("words", "keyword, bare", size=10_000)
    for stage in ("typo tolerance", "dates", "expansion"):
        ours = known.one("words", f"keyword, with {stage}", size=10_000)
        yield _against(known, f"{stage} with nothing to do, of a keyword search", ours, bare, 1.1)
    logged, plain = known.one("words", "keyword, logged", size=10_000), known.one("words", "keyword", size=10_000)
    yield _against(known, "a search with the recall log, of one without", logged, plain, 1.1)


def _answers(known: Known) -> Iterator[Bar]:
    sets = [each for each in known._results if each.section == "answers"]  # noqa: SLF001
    asked = sum(each.samples for each in sets)
    yield Bar(
        name="answers that differ, questions of the judged sets",
        unit="",
        mark=0.0,
        found=sum(each.value or 0.0 for each in sets) if sets else None,
        note=f"{asked:,} asked" if sets else "",
    )


# --- shown ----------------------------------------------------------------------------------


def _number(value: float) -> str:
    """Return *value* with three digits that count."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def rows(results: Sequence[Result], by: By = "wall") -> list[list[str]]:
    """Return the table: what, found, bar, verdict, and the times behind it."""
    return [
        [
            bar.name,
            "" if bar.found is None else f"{_number(bar.found)}{bar.unit}",
            bar.demand,
            bar.verdict,
            bar.note,
        ]
        for bar in bars(results, by)
    ]


def as_text(results: Sequence[Result], by: By = "wall") -> str:
    """Return the table for a terminal, the four figures of the headline below it."""
    table = [["what", "found", "bar", "", "times"], *rows(results, by)]
    widths = [max(len(line[at]) for line in table) for at in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[4]]) for line in table
    ]
    return "\n".join(line.rstrip() for line in (*lines, "", *headline_lines(results, by)))


def headline_rows(results: Sequence[Result], by: By = "wall") -> list[list[str]]:
    """Return the seed's four figures beside ours and NumPy's, in milliseconds."""
    known = Known(results, by)
    found = [each for each in results if each.section == "headline" and each.p50 is not None]
    table = []
    for row in dict.fromkeys(each.row for each in found):
        size = max(each.size for each in found if each.row == row)
        times = {each.engine: known.time(each) or 0.0 for each in found if (each.row, each.size) == (row, size)}
        what = row if row.startswith("fusion") else f"{row}, {size:,}"
        ratio = times["recollect"] / times["NumPy"] if times.get("NumPy") else math.nan
        table.append([what, *(_number(times[name]) for name in ("recollect", "NumPy", "seed")), _number(ratio)])
    return table


def headline_lines(results: Sequence[Result], by: By = "wall") -> Iterator[str]:
    """Yield the headline as lines."""
    for what, ours, numpy, seed, ratio in headline_rows(results, by):
        yield f"headline: {what}: recollect {ours} ms, NumPy {numpy} ms ({ratio}x), the seed on its machine {seed} ms"
