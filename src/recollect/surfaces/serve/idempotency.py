"""Do a write once, however often it is sent: the response to an Idempotency-Key is kept for a day and sent again."""

import hashlib
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from recollect.surfaces.serve.problems import HttpError

KEY_SECONDS: Final = 24 * 3600.0
MAX_KEYS: Final = 10_000
MAX_KEY_LENGTH: Final = 200


class _Write(Struct):
    digest: bytes
    begun_at: float
    response: Response | None = None
    """None while the write is running."""


class IdempotencyKeys:
    """The responses to writes by caller and key; in memory, so a restart forgets them. For one event loop."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._writes: dict[tuple[str, str], _Write] = {}
        """Oldest first."""

    def __len__(self) -> int:
        return len(self._writes)

    async def respond(self, caller: str, key: str, body: bytes, write: Callable[[], Awaitable[Response]]) -> Response:
        """Return the response that *key* got before, marked as a replay, or that of *write*.

        A write that failed on our side (status 500 and above, or an exception) may be tried again.
        """
        if not 0 < len(key) <= MAX_KEY_LENGTH:
            hint = f"1 to {MAX_KEY_LENGTH} characters"
            raise HttpError("bad_input", "the Idempotency-Key is blank or too long", hint=hint)
        self._drop_old()
        digest = hashlib.sha256(body).digest()
        known = self._writes.get((caller, key))
        if known is not None:
            return _replay(known, digest)
        begun = self._writes[caller, key] = _Write(digest, self._clock())
        try:
            response = begun.response = await write()
        finally:
            if begun.response is None or begun.response.status_code >= 500:
                self._writes.pop((caller, key), None)
        return response

    def _drop_old(self) -> None:
        since = self._clock() - KEY_SECONDS
        while self._writes and (len(self._writes) >= MAX_KEYS or next(iter(self._writes.values())).begun_at < since):
            del self._writes[next(iter(self._writes))]


def _replay(known: _Write, digest: bytes) -> Response:
    if known.digest != digest:
        raise HttpError("key_reused", "the Idempotency-Key was used for another request", hint="use a new key")
    if known.response is None:
        raise HttpError("in_flight", "a request with this Idempotency-Key is running", hint="wait for its answer")
    first = known.response
    headers = {"Idempotent-Replay": "true"}
    return Response(first.body, status_code=first.status_code, media_type=first.media_type, headers=headers)
