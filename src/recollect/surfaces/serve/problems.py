"""Errors as HTTP tells them: problem+json with the `error` member that every surface has."""

import json
import logging
from typing import Final

from starlette.responses import Response

from recollect.errors import RecollectError
from recollect.surfaces.serialise import error_value
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
"""Codes of errors that have a status of their own; others are 400 when the caller can mend them, else 503."""
_TITLES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    499: "Client Closed Request",
    500: "Internal Server Error",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class HttpError(RecollectError):
    """Refuse a request for what HTTP says of it."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        status: int | None = None,
        allow: tuple[str, ...] = (),
        close: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.allow, self.close = allow, close
        self.code = code  # type: ignore[misc]  # the code of one request, not of a class
        self.status = status or STATUS.get(code, 400)


def status_of(error: RecollectError) -> int:
    """Return the HTTP status of *error*."""
    if isinstance(error, HttpError):
        return error.status
    return STATUS.get(error.code, 400 if error.exit_code == 2 else 503)


def problem(error: RecollectError) -> Response:
    """Return the response that tells of *error*."""
    status = status_of(error)
    told = {
        "type": "about:blank",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": str(error),
        **error_value(error),
    }
    headers = {"Retry-After": "1"} if status in (429, 503) else {}
    if status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="recollect"'
    if isinstance(error, HttpError) and error.allow:
        headers["Allow"] = ", ".join(error.allow)
    if isinstance(error, HttpError) and error.close:
        headers["Connection"] = "close"
    body = json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, status_code=status, media_type=PROBLEM, headers=headers)


def wrong_method(method: str, known: tuple[str, ...]) -> HttpError:
    """Return the error for a method that is not for what was asked."""
    return HttpError("method", f"{method} is not for this", hint=f"see: {BASE}/openapi.json", allow=known)


def broken(error: Exception) -> Response:
    """Return the response for a fault of ours, which tells nothing of it; the log names its kind."""
    LOG.error(
        "failure",
        exc_info=error if LOG.isEnabledFor(logging.DEBUG) else None,
        extra={"facts": {"kind": type(error).__name__}},
    )
    hint = "nothing stored is lost; please report it"
    return problem(HttpError("internal", "something unforeseen happened", hint=hint, status=500))
