"""An MCP server on standard input and output, in a process of its own: for stores that no warm process serves."""

import os
from collections.abc import Mapping

from recollect.surfaces.serve.handshake import greet
from recollect.surfaces.serve.relay import leave_in_time


def serve_alone(db: str, *, project: str | None = None, choices: Mapping[str, str] | None = None) -> None:
    """Serve until standard input ends; the handshake is answered first, then the store is opened by *choices*."""
    leave_in_time()
    wire = os.dup(1)
    os.dup2(2, 1)  # nothing but the protocol goes out
    first, rest = _first_line()
    greeting = greet(first)
    if greeting is not None:
        os.write(wire, f"{greeting}\n".encode())
    if not first:
        return
    from recollect.surfaces.serve.mcp_alone import run  # noqa: PLC0415

    run(db, project=project, choices=choices or {}, first=first, rest=rest, greeted=greeting is not None, wire=wire)


def _first_line() -> tuple[str, bytes]:
    """Return the first line of standard input, and what came with it."""
    read = b""
    while b"\n" not in read:
        part = os.read(0, 65536)
        if not part:
            break
        read += part
    line, _, rest = read.partition(b"\n")
    return line.decode("utf-8", "replace"), rest
