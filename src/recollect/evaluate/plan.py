"""An evaluation made ready: the sets read, the profiles loaded, the model with its vectors kept."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from recollect.arguments import findable
from recollect.embedders.models import Models
from recollect.errors import InputError
from recollect.evaluate.cache import DiskCachedEmbedder, user_cache
from recollect.evaluate.datasets import Split
from recollect.evaluate.evaluate import Plan, read_run_files, read_sets
from recollect.profile import Profile, load_profile
from recollect.replies import Mode


def make_plan(
    datasets: Sequence[str | Path],
    *,
    profiles: Mapping[str, Profile],
    modes: Sequence[Mode],
    split: Split = "all",
    by_session: bool = False,
    queries: int | None = None,
    run_file: Mapping[str, str | Path],
) -> Plan:
    """Return what to evaluate; refuse what cannot be before any long work."""
    if queries is not None and queries < 1:
        raise InputError(f"--queries {queries} asks nothing", hint="leave it out to ask all of them")
    if not datasets:
        raise InputError("say which set to evaluate", hint="a folder in the BEIR layout, or a file of LongMemEval")
    sets = read_sets([findable(path) for path in datasets], split=split, most=queries or 0, by_session=by_session)
    run_files = read_run_files({name: findable(path) for name, path in run_file.items()}, sets)
    clash = sorted(run_files.keys() & profiles.keys())
    if clash:
        raise InputError(f"{clash[0]} is the name of a profile and of a run", hint="give the run another name")
    return Plan(sets=sets, profiles=profiles, modes=tuple(dict.fromkeys(modes)), run_files=run_files)


def load_profiles(names: Sequence[str], current: Profile) -> Mapping[str, Profile]:
    """Return the profiles by what they are called here: two files of one name are told apart by their paths."""
    if not names:
        return {current.name: current}
    loaded = {name: load_profile(name) for name in names}
    called = [profile.name for profile in loaded.values()]
    return {profile.name if called.count(profile.name) == 1 else name: profile for name, profile in loaded.items()}


def needs_model(models: Models, modes: Sequence[Mode]) -> bool:
    """Say whether an evaluation needs the model: who chose none can ask for words alone."""
    return set(modes) != {"keyword"} and (models.name != "none" or "semantic" in modes)


@contextmanager
def kept_vectors(
    models: Models, modes: Sequence[Mode], folder: str | Path | None = None
) -> Iterator[DiskCachedEmbedder | None]:
    """Give the model in use, with its vectors kept in *folder*; nothing where none is needed."""
    if not needs_model(models, modes):
        yield None
        return
    with closing(DiskCachedEmbedder(models.required(), findable(folder) if folder else user_cache())) as embedder:
        yield embedder
