"""Errors as HTTP responses: problem+json with the `error` member that every surface has."""

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from starlette.responses import Response

from recollect.errors import RecollectError
from recollect.serialize import error_value
from recollect.surfaces.serve.logs import LOG
from recollect.surfaces.serve.openapi import BASE, PROBLEM

STATUS: Final = {
    "unknown_id": 404,
    "unknown_operation": 404,
    "unauthorized": 401,
    "forbidden": 403,
    "method": 405,
    "in_flight": 409,
    "model": 409,
    "too_large": 413,
    "not_json": 415,
    "wrong_host": 421,
    "key_reused": 422,
    "too_many": 429,
    "cancelled": 499,
    "busy": 503,
    "timeout": 504,
    "slow": 408,
    "headers": 431,
}
"""The status of an error code; for other codes 400 if the caller can fix the request, else 503."""
_TITLES: Final = {
    **{each.value: each.phrase for each in HTTPStatus},
    413: "Content Too Large",  # Python before 3.13 has the older names
    422: "Unprocessable Content",
    499: "Client Closed Request",
}


class HttpError(RecollectError):
    """An error that only HTTP knows, with the headers that belong to it."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.code = code  # type: ignore[misc]  # the code of one request, not of a class
        self.status, self.headers = status or STATUS.get(code, 400), headers or {}


def status_of(error: RecollectError) -> int:
    """Return the HTTP status of *error*."""
    if isinstance(error, HttpError):
        return error.status
    return STATUS.get(error.code, 400 if error.exit_code == 2 else 503)


def problem(error: RecollectError) -> Response:
    """Return the response for *error*."""
    status = status_of(error)
    value = {
        "type": "about:blank",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": str(error),
        **error_value(error),
    }
    headers = dict(error.headers) if isinstance(error, HttpError) else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="recollect"'
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, status_code=status, media_type=PROBLEM, headers=headers)


def wrong_method(method: str, known: tuple[str, ...]) -> HttpError:
    """Return the error for a *method* that the path does not take."""
    hint, headers = f"see: {BASE}/openapi.json", {"Allow": ", ".join(known)}
    return HttpError("method", f"{method} is not for this", hint=hint, headers=headers)


def broken(error: Exception) -> Response:
    """Return the response for a bug of ours, without its details; the log names its kind."""
    LOG.error(
        "failure",
        exc_info=error if LOG.isEnabledFor(logging.DEBUG) else None,
        extra={"facts": {"kind": type(error).__name__}},
    )
    hint = "nothing stored is lost; please report it"
    return problem(HttpError("internal", "something unforeseen happened", hint=hint, status=500))
