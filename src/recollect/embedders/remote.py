"""Vectors from a server that speaks the OpenAI shape: `POST {url}/embeddings`.

Nothing here runs unless somebody configures it. Only the standard library; no redirect is followed,
so a key goes to the configured server and nowhere else.
"""

import json
import socket
import urllib.request
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, Final
from urllib.error import HTTPError, URLError

from msgspec import Struct

from recollect.arguments import storable
from recollect.embedders import estimating
from recollect.embedders.contract import expect
from recollect.embedders.families import family_of
from recollect.embedders.scale import scale_of
from recollect.errors import InputError, ModelError
from recollect.vectors import Vector, unit, zero

MOST_BYTES: Final = 256 * 1024 * 1024
"""No answer to one request is read beyond this."""
PATIENCE: Final = 5.0
BATCH_PATIENCE: Final = 60.0
"""How many seconds the server has to answer, and how many more for a full batch, unless its address says."""
FIRST_PAUSE: Final = 5.0
LONGEST_PAUSE: Final = 300.0
"""How many seconds a server that failed is left alone: at first, and after many failures."""

_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_HINTS: Final[Mapping[int, str]] = {
    400: "does the server know the model, and are the texts short enough for it?",
    401: "set the key the server expects",
    403: "the key is known but not allowed to do this",
    404: "check the address (it usually ends in /v1) and the name of the model",
    429: "the server asks for patience: try again later",
}


class Remote(Struct, frozen=True, kw_only=True):
    """Where the server is, which model it runs, and how patient we are."""

    url: str
    model: str
    dimensions: int
    key: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    matryoshka: bool = False
    """Whether a longer vector may be cut to *dimensions*."""
    batch: int = 64
    timeout: float = PATIENCE
    """How many seconds a search waits for the server, all tries together."""
    batch_timeout: float = BATCH_PATIENCE
    """How many seconds more a full batch of new memories may take; a smaller one in proportion."""
    tries: int = 3
    pause: float = 0.5

    def __repr__(self) -> str:
        """Return it without its key."""
        return f"Remote(url={self.url!r}, model={self.model!r}, dimensions={self.dimensions})"

    def __post_init__(self) -> None:
        if not self.url.lower().startswith(("http://", "https://")):
            raise InputError(f"{self.url!r} is not the address of a server", hint="give http://… or https://…")
        if min(self.dimensions, self.batch, self.tries) < 1 or min(self.timeout, self.batch_timeout, self.pause) < 0:
            raise InputError("a number of the remote embedder is too small", hint="counts begin at 1, times at 0")


def read_remote(address: str, *, key: str = "") -> Remote:
    """Return the server that an address such as `http://host/v1#model=NAME&dimensions=384` names."""
    url, _, told = address.partition("#")
    said = dict(pair.partition("=")[::2] for pair in told.split("&"))
    if not said.get("model") or not said.get("dimensions", "").isdecimal():
        raise ModelError(
            f"{address!r} does not say which model to ask", hint="such as http://host/v1#model=NAME&dimensions=384"
        )
    family = family_of(said["model"])
    return Remote(
        url=url,
        model=said["model"],
        dimensions=int(said["dimensions"]),
        key=key,
        query_prefix=said.get("query_prefix", family.query_prefix),
        passage_prefix=said.get("passage_prefix", family.passage_prefix),
        matryoshka=family.matryoshka,
        timeout=_seconds(said.get("timeout"), PATIENCE),
        batch_timeout=_seconds(said.get("batch_timeout"), BATCH_PATIENCE),
    )


def _seconds(said: str | None, default: float) -> float:
    try:
        return default if said is None else float(said)
    except ValueError as error:
        raise ModelError(f"{said!r} is no number of seconds", hint="such as …&timeout=5") from error


class Breaker:
    """Leave a server alone that failed, twice as long after each failure; one question then tries it again."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._pause = self._until = 0.0
        self.error: ModelError | None = None
        """What went wrong last; None since the server answered."""

    def require(self) -> None:
        """Refuse a question while the server is left alone; who asks after that tries it for all others."""
        with self._lock:
            now = self._clock()
            if self.error is not None and now < self._until:
                raise ModelError(f"not asked again for {self._until - now:.0f} s: {self.error}", hint=self.error.hint)
            self._until = now + self._pause

    def failed(self, error: ModelError) -> None:
        """Leave the server alone for a while."""
        with self._lock:
            self._pause = min(LONGEST_PAUSE, 2 * self._pause or FIRST_PAUSE)
            self._until, self.error = self._clock() + self._pause, error

    def answered(self) -> None:
        """Trust the server again."""
        with self._lock:
            self._pause, self.error = 0.0, None


class RemoteEmbedder:
    """Embed by asking a server; *breaker* knows how it did so far."""

    scale = cached_property(scale_of)
    count_pieces = staticmethod(estimating.count_pieces)
    passages = staticmethod(estimating.passages)
    covers = staticmethod(estimating.covers)
    knows_word = staticmethod(estimating.knows_word)

    def __init__(self, remote: Remote, breaker: Breaker | None = None) -> None:
        told = json.dumps([remote.model, remote.dimensions, remote.query_prefix, remote.passage_prefix])
        self._remote = remote
        self._breaker = breaker or Breaker()
        self._open = True
        self.dimensions: Final = remote.dimensions
        self.fingerprint: Final = f"remote-{remote.model}-{remote.dimensions}-{sha256(told.encode()).hexdigest()[:12]}"

    def close(self) -> None:
        """Ask no more."""
        self._open = False

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to be found, in the order given."""
        return self._embed(texts, self._remote.passage_prefix, self._remote.batch_timeout / self._remote.batch)

    def embed_queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text as something to find by, with less patience."""
        return self._embed(texts, self._remote.query_prefix, 0.0)

    def _embed(self, texts: Sequence[str], prefix: str, more: float) -> list[Vector]:
        """Return the vector of each text after *prefix*; each may take so many seconds *more*."""
        if not self._open:
            raise ModelError("the remote embedder is closed", hint="open it again")
        # Servers refuse blank text; it points nowhere, and that needs no question.
        asked = [at for at, text in enumerate(texts) if text.strip()]
        found = [zero(self.dimensions)] * len(texts)
        for start in range(0, len(asked), self._remote.batch):
            group = asked[start : start + self._remote.batch]
            seconds = self._remote.timeout + more * len(group)
            reply = _ask(self._remote, [prefix + storable(texts[at]) for at in group], seconds, self._breaker)
            for at, vector in zip(group, _vectors(reply, self._remote, len(group)), strict=True):
                found[at] = vector
        return found


def _ask(remote: Remote, texts: Sequence[str], seconds: float, breaker: Breaker) -> Any:
    """Return the server's answer within so many *seconds*; where trying again may help, it does so until then."""
    breaker.require()
    until, attempt, pause = monotonic() + seconds, 0, remote.pause
    while True:
        try:
            reply = _within(until - monotonic(), lambda left, used: _post(remote, texts, left, used))
        except (OSError, HTTPException, ValueError) as error:
            attempt += 1
            if attempt >= remote.tries or not _may_pass(error) or monotonic() + pause >= until:
                trouble = _trouble(error, remote, seconds)
                if _may_pass(error):
                    breaker.failed(trouble)
                raise trouble from error
        else:
            breaker.answered()
            return reply
        sleep(pause)
        pause *= 2


def _within(seconds: float, work: Callable[[float, list[HTTPConnection]], Any]) -> Any:
    """Return what *work* returns; TimeoutError when it takes longer: a name, a handshake, an answer by drops.

    It runs in a thread that is left behind then; what it talks over is shut, so that it ends.
    """
    done: Future[Any] = Future()
    used: list[HTTPConnection] = []

    def run() -> None:
        try:
            done.set_result(work(seconds, used))
        except BaseException as error:  # noqa: BLE001  (whoever waits gets it)
            done.set_exception(error)

    Thread(target=run, name="recollect-remote", daemon=True).start()
    try:
        return done.result(timeout=max(0.0, seconds))
    except TimeoutError:
        for connection in used:
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        raise


def _may_pass(error: Exception) -> bool:
    """Say whether the same question may be answered a moment later."""
    if isinstance(error, HTTPError):
        return error.code in _AGAIN
    return not isinstance(error, ValueError)


def _trouble(error: Exception, remote: Remote, seconds: float) -> ModelError:
    """Put what the driver raised into our words."""
    match error:
        case HTTPError():
            error.close()
            hint = _HINTS.get(error.code, "look into the log of the server")
            return ModelError(f"the embedding server answered {error.code} {error.reason}", hint=hint)
        case TimeoutError() | URLError(reason=TimeoutError()):
            return ModelError(
                f"the embedding server did not answer within {seconds:g} s", hint="is it overloaded, or gone?"
            )
        case _:
            return ModelError(f"cannot talk to the embedding server: {error}", hint=f"is {remote.url} up?")


def _post(remote: Remote, texts: Sequence[str], seconds: float, used: list[HTTPConnection]) -> Any:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if remote.key:
        headers["Authorization"] = f"Bearer {remote.key}"
    body = json.dumps({"model": remote.model, "input": list(texts)}).encode()
    request = urllib.request.Request(  # noqa: S310 - Remote takes http and https only
        f"{remote.url.rstrip('/')}/embeddings", data=body, headers=headers, method="POST"
    )
    opener = urllib.request.build_opener(_NoRedirect, _Plain(used), _Encrypted(used))
    until = monotonic() + seconds
    with opener.open(request, timeout=seconds) as answer:
        return json.loads(b"".join(_pieces(answer, until)))


def _pieces(answer: Any, until: float) -> Iterator[bytes]:
    """Yield the answer as it comes, no longer than *until* and no more than MOST_BYTES."""
    left = MOST_BYTES
    while left > 0 and (piece := answer.read1(min(left, 65536))):
        if monotonic() > until:
            raise TimeoutError
        left -= len(piece)
        yield piece
    if answer.length:
        raise IncompleteRead(b"", answer.length)


class _Plain(urllib.request.HTTPHandler):
    """Remember what is talked over, so that it can be shut."""

    def __init__(self, used: list[HTTPConnection]) -> None:
        super().__init__()
        self._used = used

    def http_open(self, req: urllib.request.Request) -> Any:
        """Talk over a connection that is remembered."""
        return self.do_open(_remembering(HTTPConnection, self._used), req)


class _Encrypted(urllib.request.HTTPSHandler):
    """Remember what is talked over, so that it can be shut."""

    def __init__(self, used: list[HTTPConnection]) -> None:
        super().__init__()
        self._used = used

    def https_open(self, req: urllib.request.Request) -> Any:
        """Talk over a connection that is remembered."""
        return self.do_open(_remembering(HTTPSConnection, self._used), req)


def _remembering(kind: type[HTTPConnection], used: list[HTTPConnection]) -> Callable[..., HTTPConnection]:
    def make(*args: Any, **options: Any) -> HTTPConnection:
        used.append(kind(*args, **options))
        return used[-1]

    return make


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Turn a redirect into the error it is: the next server is not the one that was configured."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""


def _vectors(reply: Any, remote: Remote, count: int) -> list[Vector]:
    """Return the vectors of *reply* by their index; ModelError when it is not one vector for each text."""
    try:
        entries = {int(entry["index"]): array("f", entry["embedding"]) for entry in reply["data"]}
        ordered = [entries[at] for at in range(count)]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(
            "the embedding server's answer is not in the OpenAI shape",
            hint="expected data[].index and data[].embedding",
        ) from error
    if remote.matryoshka:
        ordered = [vector[: remote.dimensions] for vector in ordered]
    for vector in ordered:
        expect(vector, dimensions=remote.dimensions)
    return [unit(vector) for vector in ordered]
