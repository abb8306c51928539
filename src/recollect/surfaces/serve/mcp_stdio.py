"""MCP on standard input and output in this process, for a store without a running server."""

import asyncio
from collections.abc import Mapping
from typing import Any

from recollect.recollection import open as open_recollection
from recollect.surfaces.cli import require_model
from recollect.surfaces.mcp_relay import leave_in_time
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.mcp_server import build_server


def serve_alone(db: str, *, caller: Mapping[str, Any], choices: Mapping[str, str]) -> None:
    """Serve until standard input ends; *caller* says who asks, *choices* how to open the store."""
    leave_in_time()
    require_model(choices.get("model"))
    with open_recollection(db, background=True, **choices) as opened:  # type: ignore[arg-type]
        asyncio.run(build_server(Dispatcher(opened), Caller(name="agent", trust="agent", **caller)).run_stdio_async())
