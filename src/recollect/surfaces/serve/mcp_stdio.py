"""MCP on standard input and output in this process, for a store without a running server."""

import asyncio
from collections.abc import Mapping

from recollect.recollection import open as open_recollection
from recollect.surfaces.cli import require_model
from recollect.surfaces.mcp_relay import leave_in_time
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.mcp_server import build_server


def serve_alone(db: str, *, project: str | None, session: str, choices: Mapping[str, str]) -> None:
    """Serve until standard input ends; *choices* say how to open the store."""
    leave_in_time()
    require_model(choices.get("model"))
    with open_recollection(db, background=True, **choices) as opened:  # type: ignore[arg-type]
        caller = Caller(name="agent", project=project, trust="agent", mcp_session=session)
        asyncio.run(build_server(Dispatcher(opened), caller).run_stdio_async())
