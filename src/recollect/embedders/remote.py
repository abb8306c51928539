"""Vectors from a server that speaks the OpenAI shape: `POST {url}/embeddings`.

Nothing here runs unless somebody configures it. Only the standard library; no redirect is followed,
so a key goes to the configured server and nowhere else.
"""

import json
import time
import urllib.request
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError

from recollect.embedders.contract import Span, expect
from recollect.embedders.passages import clean, cut, estimate
from recollect.errors import InputError, ModelError
from recollect.vectors import Vector, unit, zero

ROOM: Final = 256
"""Pieces of a passage: what every sentence model takes."""
MOST_BYTES: Final = 256 * 1024 * 1024
"""No answer to one request is read beyond this."""

_AGAIN: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_HINTS: Final[Mapping[int, str]] = {
    400: "does the server know the model, and are the texts short enough for it?",
    401: "set the key the server expects",
    403: "the key is known but not allowed to do this",
    404: "check the address (it usually ends in /v1) and the name of the model",
    429: "the server asks for patience: try again later",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Where the server is, which model it runs, and how patient we are."""

    url: str
    model: str
    dimensions: int
    key: str = field(default="", repr=False)
    batch: int = 64
    timeout: float = 30.0
    tries: int = 3
    pause: float = 0.5

    def __post_init__(self) -> None:
        if not self.url.lower().startswith(("http://", "https://")):
            raise InputError(f"{self.url!r} is not the address of a server", hint="give http://… or https://…")
        if min(self.dimensions, self.batch, self.tries) < 1 or min(self.timeout, self.pause) < 0:
            raise InputError("a number of the remote embedder is too small", hint="counts begin at 1, times at 0")


def read_remote(address: str, *, key: str = "") -> Remote:
    """Return the server that an address such as `http://host/v1#model=NAME&dimensions=384` names."""
    url, _, told = address.partition("#")
    said = dict(pair.partition("=")[::2] for pair in told.split("&"))
    if not said.get("model") or not said.get("dimensions", "").isdecimal():
        raise ModelError(
            f"{address!r} does not say which model to ask", hint="such as http://host/v1#model=NAME&dimensions=384"
        )
    return Remote(url=url, model=said["model"], dimensions=int(said["dimensions"]), key=key)


class RemoteEmbedder:
    """Embed by asking a server."""

    def __init__(self, remote: Remote) -> None:
        # The blanks are prefixes that could never be set: without them stored vectors would belong to nobody.
        told = json.dumps([remote.model, remote.dimensions, "", ""])
        self._remote = remote
        self._open = True
        self.dimensions: Final = remote.dimensions
        self.fingerprint: Final = f"remote-{remote.model}-{remote.dimensions}-{sha256(told.encode()).hexdigest()[:12]}"

    def count_pieces(self, text: str) -> int:
        """Estimate the word pieces of *text*, rather too many than too few: the server's tokenizer is unknown."""
        return len(estimate(text))

    def passages(self, text: str, *, most: int | None = None) -> list[Span]:
        """Cut *text* into passages of about *most* word pieces or fewer."""
        return cut(text, estimate(text), most=min(most or ROOM, ROOM))

    def covers(self, text: str) -> bool:  # noqa: ARG002 - only the server could say
        """Trust the server with every script."""
        return True

    def knows_word(self, word: str) -> bool:  # noqa: ARG002 - only the server could say
        """Know no words."""
        return False

    def close(self) -> None:
        """Ask no more."""
        self._open = False

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vector of each text, in the order given; the server makes no difference for queries."""
        if not self._open:
            raise ModelError("the remote embedder is closed", hint="open it again")
        # Servers refuse blank text; it points nowhere, and that needs no question.
        asked = [at for at, text in enumerate(texts) if text.strip()]
        found = [zero(self.dimensions)] * len(texts)
        for start in range(0, len(asked), self._remote.batch):
            group = asked[start : start + self._remote.batch]
            reply = _ask(self._remote, [clean(texts[at]) for at in group])
            for at, vector in zip(group, _vectors(reply, self._remote, len(group)), strict=True):
                found[at] = vector
        return found

    embed_queries = embed_passages


def _ask(remote: Remote, texts: Sequence[str]) -> Any:
    """Return the server's answer; where trying again may help, it does so, each time after twice the pause."""
    attempt = 0
    while True:
        try:
            return _post(remote, texts)
        except (OSError, HTTPException, ValueError) as error:
            attempt += 1
            if attempt >= remote.tries or not _may_pass(error):
                raise _trouble(error, remote) from error
        time.sleep(remote.pause * 2 ** (attempt - 1))


def _may_pass(error: Exception) -> bool:
    """Say whether the same question may be answered a moment later."""
    if isinstance(error, HTTPError):
        return error.code in _AGAIN
    return not isinstance(error, ValueError)


def _trouble(error: Exception, remote: Remote) -> ModelError:
    """Put what the driver raised into our words."""
    match error:
        case HTTPError():
            error.close()
            hint = _HINTS.get(error.code, "look into the log of the server")
            return ModelError(f"the embedding server answered {error.code} {error.reason}", hint=hint)
        case TimeoutError() | URLError(reason=TimeoutError()):
            return ModelError(
                f"the embedding server did not answer within {remote.timeout:g} s", hint="is it overloaded, or gone?"
            )
        case _:
            return ModelError(f"cannot talk to the embedding server: {error}", hint=f"is {remote.url} up?")


def _post(remote: Remote, texts: Sequence[str]) -> Any:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if remote.key:
        headers["Authorization"] = f"Bearer {remote.key}"
    body = json.dumps({"model": remote.model, "input": list(texts)}).encode()
    request = urllib.request.Request(  # noqa: S310 - Remote takes http and https only
        f"{remote.url.rstrip('/')}/embeddings", data=body, headers=headers, method="POST"
    )
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=remote.timeout) as answer:
        return json.loads(answer.read(MOST_BYTES))


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
    for vector in ordered:
        expect(vector, dimensions=remote.dimensions)
    return [unit(vector) for vector in ordered]
