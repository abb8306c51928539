"""What was measured, kept in files: a run for each row of the table, so that a table can be made without a new run."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from recollect.evaluate.runs import Rankings, Scored, as_json, read_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """What one tool found on one set, or why it found nothing; *sha256* and *queries* say of which set."""

    sha256: str
    queries: int
    version: str = ""
    failed: str = ""
    rankings: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Row -> query -> ids, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """How long everyone took on one set, all of them in turns within one run."""

    turns: int
    milliseconds: Mapping[str, float]
    """Row -> median of a question."""
    seconds: Mapping[str, float]
    """Tool -> time to index everything, embedding apart."""


class Kept:
    """The files of one set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, tool: str, ranked: Ranked) -> None:
        """Keep what *tool* found, in place of what it found before."""
        folder = self._folder / tool
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.json"):
            old.unlink()
        for row, found in ranked.rankings.items():
            (folder / f"{_slug(row)}.json").write_text(as_json(_run(row, found)), encoding="utf-8")
        facts = {**asdict(ranked), "rankings": list(ranked.rankings)}
        (folder / "facts.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")

    def read(self, tool: str) -> Ranked | None:
        """Return what *tool* found when last asked; None if it never was."""
        folder = self._folder / tool
        if not (folder / "facts.json").is_file():
            return None
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        rankings = {row: read_run(folder / f"{_slug(row)}.json").ids for row in facts["rankings"]}
        return Ranked(**{**facts, "rankings": rankings})

    def missing(self, tools: Iterable[str], *, sha256: str, queries: int) -> tuple[str, ...]:
        """Return those of *tools* that have not answered these questions of this set."""
        known = {tool: self.read(tool) for tool in tools}
        return tuple(
            tool
            for tool, ranked in known.items()
            if ranked is None or ranked.failed or (ranked.sha256, ranked.queries) != (sha256, queries)
        )

    def write_timed(self, timed: Timed) -> None:
        """Keep how long everyone took."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "timed.json").write_text(json.dumps(asdict(timed), indent=1), encoding="utf-8")

    def read_timed(self) -> Timed | None:
        """Return how long everyone took when last measured."""
        path = self._folder / "timed.json"
        return Timed(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _run(row: str, found: Mapping[str, Sequence[str]]) -> Rankings:
    return Rankings(
        name=row,
        by_query={
            query: tuple(Scored(id=name, score=1 / rank) for rank, name in enumerate(ids, start=1))
            for query, ids in found.items()
        },
    )


def _slug(row: str) -> str:
    return re.sub(r"\W+", "-", row.lower()).strip("-")
