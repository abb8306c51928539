"""Which project a folder belongs to: a repository is known by its remote, or by its root where it has none.

A worktree and a second clone are the same project; two repositories whose folders are called alike are two.
"""

import configparser
import re
from hashlib import sha256
from pathlib import Path
from typing import Final

from recollect.lazy import regex
from recollect.records import GLOBAL
from recollect.stores.contract import Store

REPOSITORY: Final = "repositories"
"""The kind of note that says which repositories belong to a project; its name is that of the project."""
HASH_DIGITS: Final = 6
"""How many digits tell two repositories of one name apart."""


def project_of(folder: str | Path, store: Store, *, claim: bool = False) -> str | None:
    """Return the project of the repository in *folder*; with *claim* it keeps that project from now on.

    The first repository of a name gets the plain name, another one a longer name.
    """
    key = repository_key(folder)
    plain = _name(key)
    if not plain:
        return None
    known = store.notes(REPOSITORY)
    if owner := next((name for name in sorted(known) if key in known[name]["keys"]), None):
        return owner
    longer = f"{plain}-{sha256(key.encode()).hexdigest()[:HASH_DIGITS]}"
    name = longer if plain == GLOBAL or plain in known else plain
    if claim:
        assign(key, name, store)
    return name


def repository_key(place: str | Path) -> str:
    """Return what a repository is known by, its remote or its root; *place* is a folder in it, or a remote."""
    if isinstance(place, str) and _ADDRESS.match(place):
        return _bare(place)
    root = _root(Path(place).expanduser().absolute())
    return _remote(root) or str(_main_root(root))


def keys_of(store: Store) -> dict[str, tuple[str, ...]]:
    """Return the repositories of each project that has any."""
    return {name: tuple(held["keys"]) for name, held in store.notes(REPOSITORY).items()}


def assign(key: str, project: str, store: Store) -> None:
    """Let the repository *key* belong to *project*, and to no other."""
    with store.transaction():
        for name, keys in keys_of(store).items():
            if key in keys:
                left = [each for each in keys if each != key]
                store.put_note(REPOSITORY, name, {"keys": left} if left else None)
        held = keys_of(store).get(project, ())
        store.put_note(REPOSITORY, project, {"keys": [*held, key]})


def _name(key: str) -> str:
    return re.sub(r"[^\w.-]+", "-", key.rstrip("/").rpartition("/")[2].removesuffix(".git")).strip("-")


def _root(folder: Path) -> Path:
    """Return the root of the repository that *folder* is in, or the folder itself."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def _main_root(root: Path) -> Path:
    """Return the root that a worktree was made from."""
    shared = _git_folder(root)
    return shared.parent if shared is not None and shared.name == ".git" else root


def _git_folder(root: Path) -> Path | None:
    """Return the folder in which Git keeps the repository; that of a worktree is elsewhere."""
    git = root / ".git"
    if git.is_dir():
        return git
    try:
        named = Path(git.read_text("utf-8").partition("gitdir:")[2].strip())
        inside = (root / named).resolve()
        common = inside / "commondir"
        return (inside / common.read_text("utf-8").strip()).resolve() if common.is_file() else inside
    except (OSError, ValueError):
        return None


def _remote(root: Path) -> str:
    """Return the address of the remote without scheme, user and suffix; blank where there is none."""
    git = _git_folder(root)
    config = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        config.read_string((git / "config").read_text("utf-8") if git is not None else "")
    except (OSError, ValueError, configparser.Error):
        return ""
    remotes = [name for name in config.sections() if name.startswith("remote ")]
    remotes.sort(key=lambda name: name != 'remote "origin"')
    address = config.get(remotes[0], "url", fallback="") if remotes else ""
    return _bare(address or "")


_ADDRESS: Final = regex(r"\w+://|[\w.-]+@[\w.-]+:")


def _bare(address: str) -> str:
    """Return the address of a remote without scheme, user and suffix."""
    bare = re.sub(r"^\w+://", "", address.strip())
    bare = re.sub(r"^[^@/]+@", "", bare).replace(":", "/").rstrip("/").removesuffix(".git")
    return re.sub(r"/+", "/", bare).lower()
