"""The operation on projects: list them, rename or merge one, say which repository belongs to one."""

import json
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from msgspec import Struct

from recollect.errors import InputError, StoreError
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.request import Call, Request
from recollect.parameters import about
from recollect.remember.repository import assign, keys_of, repository_key
from recollect.workspace import Workspace


class ProjectRequest(Request, group="agents"):
    """What to do with which project."""

    action: Annotated[Literal["list", "rename", "merge", "alias"], about("what to do (list)", place=1)] = "list"
    name: Annotated[str, about("the project", place=2)] | None = None
    other: (
        Annotated[
            str,
            about("rename: its new name; merge: the project to merge it into; alias: a folder or a remote", place=3),
        ]
        | None
    ) = None


class Project(Struct, frozen=True, kw_only=True):
    """A project: how many memories it has, and the repositories that belong to it."""

    name: str
    memories: int
    repositories: tuple[str, ...] = ()


class ProjectList(Struct, frozen=True, kw_only=True):
    """The projects of the store."""

    projects: tuple[Project, ...]


@operation
def project(db: Workspace, request: ProjectRequest, _: Call) -> Answer[ProjectList]:
    """List projects, rename one, merge one into another, or let a repository belong to one."""
    name, other = db._named(request.name), db._named(request.other)
    if request.action != "list":
        if not name or not other:
            raise InputError(f"{request.action} needs two names", hint="see: recollect project --help")
        if db.scope.projects is not None:
            raise InputError("projects are changed from outside of them", hint="leave out --project")
        known = [each.name for each in _listed(db)]
        if request.action == "alias":
            assign(repository_key(other), name, db.store)
        else:
            _require(name, known)
            if request.action == "merge":
                _require(other, known)
            elif other in known:
                raise InputError(
                    f"there is a project {other!r} already", hint=f"recollect project merge {name} {other}"
                )
            _move(db, name, other)
    found = _listed(db)
    return listed(ProjectList(projects=found), found, project_line, empty="No projects.")


def project_line(each: Project) -> str:
    """Return a project in one line: its name, how many memories it has, its repositories."""
    return "  ".join([each.name, f"{each.memories} memories", *each.repositories])


def _require(name: str, known: list[str]) -> None:
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]}?" if near else "see: recollect project list"
        raise InputError(f"there is no project {name!r}", hint=meant)


def _listed(db: Workspace) -> tuple[Project, ...]:
    counts, keys = db.stats().projects, keys_of(db.store)
    seen = db.scope.projects
    names = sorted(name for name in counts.keys() | keys.keys() if seen is None or name in seen)
    return tuple(Project(name=each, memories=counts.get(each, 0), repositories=keys.get(each, ())) for each in names)


def _move(db: Workspace, old: str, new: str) -> None:
    """Move all of the project *old* to *new*: its archive is read again there, then it is erased here.

    Nothing is erased unless all of it was read. The same command finishes a move that failed.
    """
    source = db.in_project(old)
    with TemporaryDirectory() as folder:
        archive = Path(folder, "project.jsonl")
        with archive.open("w", encoding="utf-8") as file:
            for record in source.archive(everything=True, vectors=True):
                file.write(f"{json.dumps(record, ensure_ascii=False)}\n")
        report = db.in_project(new).import_(archive, redact=False)
    if report.errors:
        raise StoreError(f"not all of {old} could be moved: {report.errors[0].reason}", hint=f"{old} is as it was")
    for key in keys_of(db.store).get(old, ()):
        assign(key, new, db.store)
    db.purge(project=old)
