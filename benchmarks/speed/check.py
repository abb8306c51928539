"""What got slower since the ratios that were committed: beyond the noise of both runs, and beyond a share of it all."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed import bars
from benchmarks.speed.results import Result

LEAST = 0.25
"""A ratio that moves by less than this share has not moved: other processes do that."""


def compare(results: Sequence[Result], path: Path) -> int:
    """Print each ratio that was measured now and before; return 1 if one is worse, 2 if nothing can be compared."""
    if not path.exists():
        print("there are no committed ratios to compare with: run make bench")
        return 2
    told = json.loads(path.read_text(encoding="utf-8"))
    lines = list(_lines(results, told))
    if not lines:
        print("nothing that was measured now was measured before")
        return 2
    for name, before, now, word in lines:
        print(f"{word:>7}  {name}: {before:.3g} before, {now:.3g} now")
    worse = sum(word == "SLOWER" for *_, word in lines)
    print(f"{len(lines)} ratios compared, {worse} got worse")
    return int(worse > 0)


def _lines(results: Sequence[Result], told: Mapping[str, Any]) -> Iterator[tuple[str, float, float, str]]:
    for bar in bars.bars(results, told["by"]):
        before = told["ratios"].get(bar.name)
        if before is not None and bar.found is not None:
            yield bar.name, before["found"], bar.found, word(bar, before)


def word(bar: bars.Bar, before: Mapping[str, Any]) -> str:
    """Return SLOWER, faster or same."""
    now, then = bar.found or 0.0, before["found"]
    if not now or not then:
        return "same" if now == then else "SLOWER" if (now > then) != bar.least else "faster"
    change = then / now if bar.least else now / then
    noise = LEAST + bar.noise + before["noise"]
    return "SLOWER" if change > 1 + noise else "faster" if change < 1 / (1 + noise) else "same"
