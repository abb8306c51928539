"""One call of an operation through the local door, by name and values."""

from collections.abc import Mapping
from typing import Any

from recollect.errors import RecollectError
from recollect.surfaces.serialise import error_value, serialise
from recollect.surfaces.serve.dispatcher import OWNER
from recollect.surfaces.serve.warm_store import WarmStore


def call(warm: WarmStore, header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer to the operation that *header* names, or the error."""
    try:
        given = header.get("values")
        answer = warm.dispatcher.answer(str(header.get("operation")), given if isinstance(given, dict) else {}, OWNER)
    except RecollectError as error:
        return error_value(error)
    return {"value": serialise(answer.value), "found": answer.found}
