"""The schemas of tools as a model reads them, without what costs tokens and says nothing."""

from collections.abc import Mapping
from typing import Any, Final

NAMED: Final = frozenset({"properties", "$defs"})
"""Members of a schema whose keys are names, not words of JSON Schema."""


def slim(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* without titles and without null where a value may as well be left out."""
    kept = {key: value for key, value in schema.items() if key != "title" and not (key == "default" and value is None)}
    shown = {key: _slim_member(key, value) for key, value in kept.items()}
    choices = [each for each in shown.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        del shown["anyOf"]
        return {**choices[0], **shown}
    return {**shown, "anyOf": choices} if choices else shown


def _slim_member(key: str, value: Any) -> Any:
    if key in NAMED:
        return {name: slim(each) for name, each in value.items()}
    if isinstance(value, Mapping) and key != "default":
        return slim(value)
    if key == "anyOf":
        return [slim(each) for each in value]
    return value
