"""Which project a folder belongs to: a repository is known by its remote, or by its root where it has none.

A worktree and a second clone are the same project; two repositories whose folders are called alike are two.
"""

import configparser
import re
from hashlib import sha256
from pathlib import Path
from typing import Final

from recollect.records import GLOBAL
from recollect.stores.contract import Store

REPOSITORY: Final = "repository"
"""The kind of note that says by its name which repository a project belongs to."""
HASH_DIGITS: Final = 6
"""How many digits tell two repositories of one name apart."""


def project_of(folder: str | Path, store: Store, *, claim: bool = False) -> str | None:
    """Return the project of *folder*: the plain name for the first repository that *claims* it, a longer one else."""
    root = _root(Path(folder))
    key = _remote(root) or str(_main_root(root))
    plain = _name(key)
    if not plain:
        return None
    longer = f"{plain}-{sha256(key.encode()).hexdigest()[:HASH_DIGITS]}"
    if store.note(REPOSITORY, longer) is not None:
        return longer
    holder = store.note(REPOSITORY, plain)
    name = plain if plain != GLOBAL and (holder is None or holder.get("key") == key) else longer
    if claim and (name != plain or holder is None):
        store.put_note(REPOSITORY, name, {"key": key})
    return name


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
    bare = re.sub(r"^\w+://", "", (address or "").strip())
    bare = re.sub(r"^[^@/]+@", "", bare).replace(":", "/").rstrip("/").removesuffix(".git")
    return re.sub(r"/+", "/", bare).lower()
