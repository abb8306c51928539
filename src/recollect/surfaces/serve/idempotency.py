"""Writes that are sent twice are done once: the answer to a key is kept for a day and given again."""

import hashlib
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Final

from msgspec import Struct
from starlette.responses import Response

from recollect.surfaces.serve.problems import HttpError

DAY: Final = 24 * 3600.0
MOST: Final = 10_000
LONGEST: Final = 200


class _Kept(Struct):
    digest: bytes
    at: float
    answer: tuple[int, bytes, str] | None = None


class Idempotency:
    """Answers by the key that a caller gave its request; in memory, so a restart forgets them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._lock = Lock()

    def begin(self, caller: str, key: str, body: bytes) -> Response | None:
        """Return the answer that *key* had already; None where the request is to be done now."""
        if not key or len(key) > LONGEST:
            raise HttpError("bad_input", "the Idempotency-Key is blank or too long", hint=f"1 to {LONGEST} characters")
        digest = hashlib.sha256(body).digest()
        with self._lock:
            self._drop_old()
            kept = self._kept.get((caller, key))
            if kept is None:
                self._kept[caller, key] = _Kept(digest, self._clock())
                return None
        if kept.digest != digest:
            raise HttpError("key_reused", "the Idempotency-Key was used for another request", hint="use a new key")
        if kept.answer is None:
            raise HttpError("in_flight", "a request with this Idempotency-Key is under way", hint="wait for its answer")
        status, content, media = kept.answer
        return Response(content, status_code=status, media_type=media, headers={"Idempotent-Replay": "true"})

    def end(self, caller: str, key: str, response: Response | None) -> None:
        """Keep the answer of *key*; one that failed on our side may be tried again."""
        with self._lock:
            if response is None or response.status_code >= 500:
                self._kept.pop((caller, key), None)
                return
            kept = self._kept.get((caller, key))
            if kept is not None:
                media = response.media_type or "application/json"
                kept.answer = (response.status_code, bytes(response.body), media)

    def _drop_old(self) -> None:
        """Drop what is older than a day, and the oldest where there are too many; they stand in their order."""
        since = self._clock() - DAY
        while self._kept and (len(self._kept) >= MOST or next(iter(self._kept.values())).at < since):
            del self._kept[next(iter(self._kept))]
