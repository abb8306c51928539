"""The child process that reads documents for `isolated`: requests come by standard input, parts go out as JSON."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from recollect.errors import RecollectError
from recollect.remember.formats import BY_NAME
from recollect.remember.formats.isolated import MAX_CPU_SECONDS, MAX_MEMORY_BYTES, Reply, Request

try:
    import resource
except ImportError:  # there the caller's timeout is the only limit
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Answer requests until standard input ends."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # libraries may print; only replies go to standard output
    _limit_memory()
    for line in sys.stdin.buffer:
        _limit_time()
        _answer(msgspec.json.decode(line, type=Request), out)


def _limit_memory() -> None:
    if resource is not None:
        _lower(resource.RLIMIT_AS, MAX_MEMORY_BYTES)
        _lower(resource.RLIMIT_CORE, 0)


def _limit_time() -> None:
    """Give the next document its processor time; the kernel ends a process that takes more."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + MAX_CPU_SECONDS)


def _lower(limit: int, most: int) -> None:
    hard = resource.getrlimit(limit)[1]
    with suppress(ValueError, OSError):  # a system that knows the limit and does not take it
        resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _answer(request: Request, out: IO[bytes]) -> None:
    try:
        for reply in _replies(request):
            out.write(msgspec.json.encode(reply, enc_hook=dict) + b"\n")  # the hook takes other mappings
            out.flush()
    except MemoryError:
        os._exit(1)  # after this the process cannot be relied on


def _replies(request: Request) -> Iterator[Reply]:
    try:
        for part in BY_NAME[request.format].read(Path(request.path), request.origin):
            yield Reply(part=part)
    except RecollectError as error:
        yield Reply(error=(str(error), error.hint or ""))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a fault in a reader must not cost the other files
        said = " ".join(f"{type(error).__name__}: {error}".split())
        yield Reply(error=(f"it cannot be understood: {said}", "please report this"))
    else:
        yield Reply()


if __name__ == "__main__":
    main()
