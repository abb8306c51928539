"""Timeouts and bounds of connections: a request head must come in time, and few connections may wait for one.

The web server itself bounds only how long a connection stays idle after an answer. One that sends a byte now and then,
or nothing at all, would stay open as long as it likes, and would take the place of others.
"""

import asyncio
from typing import Any, Final
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

HEAD_SECONDS: Final = 20.0
"""How long the head of a request may take from the first byte, or from the start of the connection."""
MAX_WAITING: Final = 512
"""How many connections may wait for a request; then the oldest of the address that has most of them is closed."""
MAX_WAITING_PER_ADDRESS: Final = 128


class PatientProtocol(H11Protocol):
    """HTTP with an end to waiting for the head of a request."""

    head_seconds: float = HEAD_SECONDS
    _others: "Waiting"
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._others = _SERVERS.setdefault(self.server_state, Waiting())
        self._others.add(self)
        self._wait()

    def handle_events(self) -> None:
        """Take in what has come; wait on while it is no whole head."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()
            self._others.remove(self)
        elif self.conn.trailing_data[0]:
            self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request; a body that nobody reads must end in time too."""
        self._others.add(self)
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_no_more()
        self._others.remove(self)
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Close the connection, unless an answer is under way."""
        self._waiting = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.head_seconds, self.give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Waiting:
    """The connections of a server that wait for a request, oldest first, by address."""

    def __init__(self) -> None:
        self._by_address: dict[str, dict[PatientProtocol, None]] = {}
        self._count = 0

    def add(self, connection: PatientProtocol) -> None:
        """Let *connection* wait; close another where too many do."""
        self.remove(connection)
        address = _address(connection)
        self._by_address.setdefault(address, {})[connection] = None
        self._count += 1
        if len(self._by_address[address]) > MAX_WAITING_PER_ADDRESS:
            self._close_oldest(address)
        elif self._count > MAX_WAITING:
            self._close_oldest(max(self._by_address, key=lambda each: len(self._by_address[each])))

    def remove(self, connection: PatientProtocol) -> None:
        """Let *connection* wait no more."""
        known = self._by_address.get(_address(connection), {})
        if connection in known:
            del known[connection]
            self._count -= 1
        if not known:
            self._by_address.pop(_address(connection), None)

    def _close_oldest(self, address: str) -> None:
        oldest = next(iter(self._by_address[address]))
        self.remove(oldest)
        oldest.give_up()


_SERVERS: Final[WeakKeyDictionary[ServerState, Waiting]] = WeakKeyDictionary()
"""The waiting connections of each server of this process."""


def _address(connection: PatientProtocol) -> str:
    return connection.client[0] if connection.client else ""
