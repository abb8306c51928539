"""What a shell offers for a value: names of the store, profiles, models; never an error, never a new store."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from recollect.render.terminal import visible_line

Offered = Iterable[tuple[str, str]]
SHOWN: Final = 60
"""How many characters of a memory stand beside its id."""
STORED: Final[Mapping[str, str]] = {
    **{name: name for name in ("project", "type", "tag", "kind", "source", "fact_type", "lens", "id", "fact")},
    "only_project": "project",
    "only_tag": "tag",
    "ids": "id",
    "by": "id",
}
"""What of the store is offered for a parameter."""
OF_VERB: Final[Mapping[tuple[str, str], str]] = {
    ("facts", "type"): "fact_type",
    ("lens", "name"): "lens",
    ("model", "name"): "model",
    ("facts reinforce", "ids"): "fact",
}
"""The same where it depends on the verb."""
FILES: Final = frozenset(
    {"path", "paths", "db", "old", "new", "judged", "datasets", "output", "run_file", "to", "export"}
)
DATES: Final = ("today", "yesterday", "last week", "last month", "3d", "90d")
FIXED: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("since", "until", "on", "as_of", "date", "older_than"), DATES),
    "set": ("alpha=", "words=", "vector=", "min_score=", "recency_weight="),
}


def completer(
    name: str, *, chosen: bool = False
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]] | None:
    """Return what completes the values of the parameter *name*; nothing where they are free, or from a list."""
    known = {*STORED, *FILES, *FIXED, "profile", "model", *(each for _, each in OF_VERB)}
    return _complete if name in known and not chosen else None


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what begins with *incomplete*; whatever goes wrong, somebody is typing and wants no message."""
    with suppress(Exception):
        return _items(context, str(parameter.name), incomplete)
    return []


def _items(context: click.Context, name: str, incomplete: str) -> list[CompletionItem]:
    kind = OF_VERB.get((context.info_name or "", name)) or STORED.get(name) or name
    if kind in FILES:
        return [CompletionItem(incomplete, type="file")]
    if kind in STORED:
        hash_sign = "#" if kind == "id" and incomplete.startswith("#") else ""
        offered = _stored(context, kind, incomplete.removeprefix(hash_sign))
        return _shown((f"{hash_sign}{value}", about) for value, about in offered)
    makers: Mapping[str, Callable[[click.Context], Offered]] = {"profile": _profiles, "model": _models}
    offered = makers[kind](context) if kind in makers else [(value, "") for value in FIXED[kind]]
    found = _shown((value, about) for value, about in offered if value.startswith(incomplete))
    return found or ([CompletionItem(incomplete, type="file")] if kind in makers else [])


def _shown(offered: Offered) -> list[CompletionItem]:
    """Return what can be typed: no value that a terminal would obey or that breaks a line."""
    return [
        CompletionItem(value, help=visible_line(about)[:SHOWN] or None)
        for value, about in offered
        if value and visible_line(value) == value
    ]


def _stored(context: click.Context, kind: str, begins: str) -> Offered:
    from recollect.stores.choice import find_names  # noqa: PLC0415  (only a shell that completes needs it)

    settings = _settings(context)
    return find_names(settings.db, kind, begins=begins, project="" if kind == "project" else settings.project)


def _settings(context: click.Context) -> Any:
    """Return the settings in force, with what stands on the line so far."""
    from recollect.settings import read_settings  # noqa: PLC0415

    chosen: dict[str, str | None] = {}
    each: click.Context | None = context
    while each is not None:
        chosen = {**{name: each.params.get(name) for name in ("db", "project") if each.params.get(name)}, **chosen}
        each = each.parent
    return read_settings(**chosen)


def _profiles(_: click.Context) -> Offered:
    from recollect.profile import BUILT_IN  # noqa: PLC0415

    return [(name, "") for name in BUILT_IN]


def _models(context: click.Context) -> Offered:
    from recollect.embedders.manifest import catalogue  # noqa: PLC0415
    from recollect.settings import models_folder  # noqa: PLC0415

    known = {name: each.about for name, each in catalogue().items()}
    here = {path.parent.name: "installed" for path in Path(models_folder(_settings(context))).glob("*/model.toml")}
    return {"hashing": "no model: shared words and spellings", "none": "words alone", **known, **here}.items()
