"""A relay of `recollect mcp`: each line of standard input is a request to the running server, each reply a line."""

import json
import os
import signal
import sys
import threading
import time
from typing import Any

from recollect.surfaces.client import ConnectionLost, Exchange, ServerAddress, send

PARENT_SECONDS = 2.0
"""How often to look whether the program that started this one is still there."""
LAST_REPLIES_SECONDS = 30.0
"""How long to wait for replies after the end of standard input."""
MODERN_VERSION = "io.modelcontextprotocol/protocolVersion"
"""The member of `_meta` in requests of the protocol without sessions; HTTP has it in a header."""
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose parameter stands in the header Mcp-Name too."""
INTERNAL_ERROR = -32603


def relay(address: ServerAddress, attached: Exchange, headers: dict[str, str]) -> None:
    """Relay until standard input ends, a signal comes, the parent dies, or the server ends the *attached* request."""
    relayed = _Relay(address, headers)
    leave_in_time()
    threading.Thread(target=_leave_with_server, args=(attached,), daemon=True).start()
    for line in sys.stdin.buffer:
        relayed.take(line)
    relayed.finish()
    os._exit(0)


class _Relay:
    """The requests of one session."""

    def __init__(self, address: ServerAddress, headers: dict[str, str]) -> None:
        self._address, self._headers = address, headers
        self._session: dict[str, str] = {}
        self._running: list[threading.Thread] = []
        self._writing = threading.Lock()

    def take(self, line: bytes) -> None:
        """Send one message; a request after the handshake is answered in a thread, so that others can overtake it."""
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        message = message if isinstance(message, dict) else {}
        if "method" not in message or "id" not in message or message["method"] == "initialize":
            self._send(line, message)
            return
        self._running = [each for each in self._running if each.is_alive()]
        self._running.append(threading.Thread(target=self._send, args=(line, message), daemon=True))
        self._running[-1].start()

    def finish(self) -> None:
        """Wait for the last replies, and end the session."""
        until = time.monotonic() + LAST_REPLIES_SECONDS
        for each in self._running:
            each.join(max(0.0, until - time.monotonic()))
        if self._session and (sent := send(self._address, "DELETE", "/mcp", headers=self._headers | self._session)):
            with sent:
                sent.receive()

    def _send(self, line: bytes, message: dict[str, Any]) -> None:
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **self._headers,
            **self._session,
            **_routing(message),
        }
        sent = send(self._address, "POST", "/mcp", body=line.strip(), headers=headers)
        if sent is None:
            os._exit(0)
        try:
            with sent:
                self._receive(sent.receive(), message)
        except ConnectionLost:
            os._exit(0)

    def _receive(self, response: Exchange, message: dict[str, Any]) -> None:
        if "mcp-session-id" in response.headers:
            self._session["mcp-session-id"] = response.headers["mcp-session-id"]
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            rest = b""
            for part in response.parts():
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    data = line.removeprefix(b"data:").strip() if line.startswith(b"data:") else b""
                    self._write(data)
            return
        body = response.body()
        if response.status >= 400 and "id" in message:
            body = _as_error(body, message)
        self._write(body)

    def _write(self, reply: bytes) -> None:
        if not reply.strip():
            return
        view = memoryview(reply.replace(b"\n", b" ") + b"\n")
        with self._writing:
            while view:
                view = view[os.write(1, view) :]


def _routing(message: dict[str, Any]) -> dict[str, str]:
    """Return the headers by which HTTP routes a request of the protocol without sessions."""
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    version = meta.get(MODERN_VERSION) if isinstance(meta, dict) else None
    method = message.get("method")
    if not isinstance(version, str) or not isinstance(method, str):
        return {}
    named = params.get(NAMES.get(method, ""))
    headers = {"mcp-protocol-version": version, "mcp-method": method}
    return headers | ({"mcp-name": _header_value(named)} if isinstance(named, str) else {})


def _header_value(text: str) -> str:
    """Return *text* as MCP writes it in a header: as it is if it is plain ASCII, else by base64."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    from base64 import b64encode  # noqa: PLC0415  (names are plain)

    return f"=?base64?{b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _as_error(body: bytes, message: dict[str, Any]) -> bytes:
    """Return the error in *body* as the reply to *message*, which waits for one by its id."""
    try:
        value = json.loads(body)
    except ValueError:
        value = {}
    error = value.get("error") if isinstance(value, dict) else None
    error = error if isinstance(error, dict) else {}
    if not isinstance(error.get("code"), int):
        error = {"code": INTERNAL_ERROR, "message": str(error.get("message") or "the server cannot answer")}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode()


# --- ends -----------------------------------------------------------------------------------


def leave_in_time() -> None:
    """End the process on a signal, and when its parent ends."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else (signal.SIGTERM,):
        signal.signal(number, lambda *_: os._exit(0))


def _leave_with_parent() -> None:
    """End when the parent does: a wrapper may hold standard input open for ever."""
    parent = os.getppid()
    while os.getppid() == parent and parent != 1:
        time.sleep(PARENT_SECONDS)
    if parent == 1 and sys.platform != "win32":
        return  # started by init itself, as a container does
    os._exit(0)


def _leave_with_server(attached: Exchange) -> None:
    """End when the server does: it holds the *attached* request open as long as it lives."""
    try:
        for _ in attached.parts():
            pass
    except OSError:
        pass
    os._exit(0)
