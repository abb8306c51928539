"""Commands that hold or reach the warm process: serve, daemon, mcp, hook."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from recollect.errors import InputError, StoreError
from recollect.operations.tokens import seconds_of
from recollect.render import text
from recollect.render.terminal import visible_line
from recollect.settings import absolute_path, is_path, read_settings
from recollect.stores.choice import shown_address
from recollect.surfaces.children import start_child
from recollect.surfaces.cli import GLOBAL, chosen_options, open_chosen, require_store
from recollect.surfaces.client import ConnectionLost, ServerAddress, find_server, read_address, send
from recollect.surfaces.front import IDLE
from recollect.surfaces.install.commands import install, uninstall
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.recollection import Recollection

STARTING: Final = 30.0
"""How many seconds a server may take to start."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="the address to listen on; others need tokens")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 takes a free one")
@click.option("--no-http", is_flag=True, help="serve programs of this user on this machine only")
@click.option("--idle", metavar="TIME", help="end after so long without a request: 15m, 2h, …")
@click.option("--allow-host", multiple=True, metavar="NAME", help="a name that clients may call this server by")
@click.option("--allow-origin", multiple=True, metavar="URL", help="a web page that may ask here")
@click.option("--require-token", is_flag=True, help="ask for a token on loopback too")
@click.option("--rate", type=click.FloatRange(min=0.1), metavar="N", help="requests a second for each caller")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="what to log to standard error; info has a line for each request",
)
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="how to log it"
)
def serve(**given: Any) -> None:
    """Serve this store: HTTP and MCP for programs, warm answers for commands and hooks."""
    from recollect.surfaces.serve.guard import is_loopback  # noqa: PLC0415
    from recollect.surfaces.serve.logs import configure  # noqa: PLC0415
    from recollect.surfaces.serve.process import ServeOptions  # noqa: PLC0415
    from recollect.surfaces.serve.process import serve as run  # noqa: PLC0415

    chosen, idle = chosen_options(given), given["idle"]
    require_store(chosen["db"])
    configure(given["log_level"], given["log_format"])
    options = ServeOptions(
        host=given["host"],
        port=given["port"],
        http=not given["no_http"],
        hosts=given["allow_host"],
        origins=given["allow_origin"],
        require_token=given["require_token"],
        rate=given["rate"],
        idle=None if idle is None else seconds_of(idle),
        settings=read_settings(**{name: chosen[name] for name in GLOBAL}),
    )
    with open_chosen(chosen, background=True) as db:
        names = None if is_loopback(options.host) else sorted(options.rules().hosts)
        run(db, options, ready=lambda place: click.echo(ready_text(place, db.address, names), err=True))


def ready_text(place: ServerAddress, address: str, names: Sequence[str] | None = None) -> str:
    """Return where a server can be reached, and by which host *names* where that is not plain."""
    doors = [f"serving {shown_address(address)} as process {place.pid}"]
    if place.http:
        doors += [f"  page {place.http}/", f"  HTTP {place.http}/api/v1", f"  MCP  {place.http}/mcp"]
    if place.http and names is not None:
        known = ", ".join(names) or "none yet, so only health probes are answered"
        doors.append(f"  clients may call it by these host names: {known}; add one: --allow-host NAME")
    return "\n".join([*doors, "  commands, hooks and `recollect mcp` use it by themselves; Ctrl-C ends it"])


# --- the daemon -----------------------------------------------------------------------------


@click.command()
@click.argument("action", type=click.Choice(["start", "stop", "status"]))
@click.option("--idle", metavar="TIME", help="end after so long without a request: 15m, 2h, … (never)")
@click.option("--port", type=click.IntRange(0, 65535), help="offer HTTP and MCP on this port too; 0 takes a free one")
def daemon(action: str, idle: str | None, port: int | None, **given: Any) -> None:
    """Start, stop or look at the server of this store in the background."""
    chosen = chosen_options(given)
    db = chosen["db"]
    if action == "start":
        place = start(db, idle=idle, port=port, chosen=chosen)
        _tell({"pid": place.pid, "http": place.http}, ready_text(place, read_settings(db=db).db), chosen)
    elif action == "stop":
        pid = stop(db)
        _tell({"stopped": pid}, "nothing was running" if pid is None else f"stopped process {pid}", chosen)
    else:
        told = status(db)
        text = "not running; start it: recollect daemon start" if told is None else _status_text(told)
        _tell({"running": told is not None, **(told or {})}, text, chosen)
        if told is None:
            sys.exit(1)


def _tell(value: dict[str, object], text: str, chosen: Mapping[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2) if chosen["as_json"] else text)


def _status_text(told: Mapping[str, Any]) -> str:
    cache = told["cache"]
    http = f", HTTP at {told['http']}" if told["http"] else ""
    return (
        f"process {told['pid']} serves {told['store']}{http}, for {told['seconds']:.0f} s; "
        f"{cache['hits']} answers from the cache, {cache['misses']} searched"
    )


SCOPE: Final = click.option(
    "--scope", type=click.Choice(["project", "all"]), default="project", help="read the project of the folder, or all"
)


@click.command()
@SCOPE
def mcp(**_: Any) -> None:
    """Serve MCP on standard input and output: the command for an agent's configuration."""
    from recollect.surfaces.front import serve_mcp  # noqa: PLC0415

    serve_mcp(sys.argv[1:])


@click.command()
@SCOPE
@click.option("--start-server", is_flag=True, help=f"start a server where none runs; it ends after {IDLE} idle")
@click.option("--last", type=int, metavar="N", help="show the last N prompts: what was injected, or why nothing was")
@click.option("--debug", is_flag=True, help="say what went wrong; else a hook that fails is silent")
def hook(last: int | None, **given: Any) -> None:
    """Answer the hook event of a coding agent on standard input: what to know goes out, what was said is kept."""
    if last is not None:
        with open_chosen(chosen_options(given)) as db:
            click.echo("\n".join(_last_given(db, last)) or "No prompts yet.")
        return
    from recollect.surfaces.front import answer_hook  # noqa: PLC0415

    answer_hook(sys.argv[1:])


def _last_given(db: "Recollection", count: int) -> Iterator[str]:
    """Yield the lines about the last *count* prompts: when, which memories they were given and why, or why none."""
    for prompt in db.log.prompts(limit=count):
        said = "" if prompt.given else f": nothing, {prompt.silent}"
        yield visible_line(f"{prompt.at}  {prompt.project or 'all projects'}  session {prompt.session[:8]}{said}")
        for row, why, memory in prompt.given:
            yield visible_line(f"  {text.one_line(memory) if memory else f'#{row} (erased)'}  <- {why}")


COMMANDS: Final[Mapping[str, click.Command]] = {
    each.name or "": each for each in (serve, daemon, mcp, hook, install, uninstall)
}


def start(
    db: str | None, *, idle: str | None = None, port: int | None = None, chosen: Mapping[str, Any] | None = None
) -> ServerAddress:
    """Start a server of the store in the background as it is *chosen*, and wait until it answers."""
    address = read_settings(db=db).db
    require_store(db)
    if status(db) is not None:
        raise InputError("this store is served already", hint="see: recollect daemon status")
    if idle is not None:
        seconds_of(idle)
    words = ["serve", "--log-level", "error", *(("--idle", idle) if idle else ())]
    for name in GLOBAL:
        value = str(chosen[name]) if name != "db" and chosen and chosen[name] else ""
        words += [f"--{name}", absolute_path(value) if is_path(value) and name != "project" else value] if value else []
    words += ["--no-http"] if port is None else ["--port", str(port)]
    process = start_child("recollect", *words, db=address, stderr=subprocess.PIPE)
    until = time.monotonic() + STARTING
    while time.monotonic() < until and process.poll() is None:
        place = read_address(address)
        if place is not None and place.pid == process.pid:
            return place
        time.sleep(0.05)
    said = (process.stderr.read() if process.stderr and process.poll() is not None else b"").decode("utf-8", "replace")
    told = " ".join(said.split()) or "it takes too long"
    raise StoreError(f"the server did not start: {told}", hint="try: recollect serve")


def status(db: str | None) -> dict[str, object] | None:
    """Return what the server of the store says of itself; None where there is none."""
    return _told(read_settings(db=db).db, "GET", "/status")


def _told(db: str, method: str, path: str) -> dict[str, object] | None:
    """Return the JSON that the server of *db* responds with; None if it cannot be asked."""
    address = find_server(db, version=__version__)
    sent = None if address is None else send(address, method, path)
    if sent is None:
        return None
    with sent:
        try:
            told: dict[str, object] = json.loads(sent.receive().body())
        except (ConnectionLost, ValueError):
            return None
    return told


def stop(db: str | None) -> int | None:
    """Stop the server of the store and wait until it is gone; return its process, None where there was none."""
    address = read_settings(db=db).db
    place = read_address(address)
    told = _told(address, "POST", "/stop")
    if place is None or told is None:
        return None
    until = time.monotonic() + STARTING
    while read_address(address) is not None and time.monotonic() < until:
        time.sleep(0.05)
    return place.pid
