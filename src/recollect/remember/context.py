"""Every way in as a recollection uses it: with the duplicates told and the facts found as its profile says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from recollect.embedders.contract import Embedder
from recollect.profile import Profile
from recollect.records import Fact, Memory, Trust
from recollect.remember.capture import capture, low_signal
from recollect.remember.dedup import judge
from recollect.remember.dedup_oro import oros_judge
from recollect.remember.facts import DECAY, extract
from recollect.remember.import_files import Brought, Progress, bring
from recollect.remember.ingest import Judging, Kept, keep
from recollect.remember.sync_source import Door
from recollect.stores.contract import Analyse, Store
from recollect.text.firewall import strip_rendered


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Where texts become memories of a project, and by which rules."""

    store: Store
    analyse: Analyse
    profile: Profile
    project: str | None
    embedder: Callable[[], Embedder | None]
    """Finds the model when a rule needs one."""

    def keep(self, drafts: Sequence[Memory], *, now: datetime, redacting: bool) -> tuple[Kept, ...]:
        """Keep *drafts*, all or none."""
        return keep(
            drafts,
            store=self.store,
            analyse=self.analyse,
            now=now,
            redacting=redacting,
            states=self.states,
            judging=self._judging(),
        )

    def bring(
        self, paths: Sequence[str | Path], *, now: datetime, trust: Trust, redacting: bool, progress: Progress | None
    ) -> Brought:
        """Import files and folders."""
        door = Door(
            store=self.store,
            analyse=self.analyse,
            now=now,
            project=self.project,
            trust=trust,
            redacting=redacting,
            states=self.states,
        )
        return bring([Path(path).expanduser() for path in paths], door, progress=progress)

    def captured(self, text: str, *, trust: Trust) -> list[Memory]:
        """Return what a worker's output asks to remember, without what we told it."""
        found = [each for each in capture(strip_rendered(text).text) if not low_signal(each.content)]
        return [replace(each, trust=trust, project=self.project or "default") for each in found]

    def states(self, memory: Memory) -> tuple[Fact, ...]:
        """Return the facts of *memory*, fading as the profile says."""
        return extract(memory, self.profile.weigh.decay or DECAY)

    def _judging(self) -> Judging:
        if self.profile.dedup == "words":
            return judge
        return oros_judge(self.store, profile=self.profile, embedder=self.embedder())
