"""Limits that uvicorn does not have: a timeout for the headers of a request, and a number of idle connections.

uvicorn closes a connection that stays idle after a response. One that sends a byte now and then, or nothing at all,
would stay open, and would count against the limit of connections.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_TIMEOUT_SECONDS: Final = 20.0
"""Counted from the start of the connection, or from the first byte of a later request."""
MAX_IDLE_CONNECTIONS: Final = 512
MAX_IDLE_PER_ADDRESS: Final = 128


class HeaderTimeoutProtocol(H11Protocol):
    """HTTP/1.1 with a timeout for headers, which closes the oldest idle connection where there are too many."""

    header_seconds: float = HEADER_TIMEOUT_SECONDS
    idle_since: float | None = None
    """Since when the connection waits for a request; None while a request runs."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._start_timer()
        self._become_idle()

    def handle_events(self) -> None:
        """Stop the timer once the headers are complete."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
            self.idle_since = None
        elif self.conn.trailing_data[0]:
            self._start_timer()

    def on_response_complete(self) -> None:
        """Wait for the next request; a body that nobody reads has the same timeout."""
        self._become_idle()
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def close_if_idle(self) -> None:
        """Close the connection, unless a response is being sent."""
        self._timer = self.idle_since = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()

    def _become_idle(self) -> None:
        self.idle_since = self.loop.time()
        if len(self.connections) > min(MAX_IDLE_CONNECTIONS, MAX_IDLE_PER_ADDRESS):
            mine = (each for each in self.connections if isinstance(each, HeaderTimeoutProtocol))
            surplus = find_surplus([each for each in mine if each.idle_since is not None])
            if surplus is not None:
                surplus.close_if_idle()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self.close_if_idle)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def find_surplus(idle: Sequence[HeaderTimeoutProtocol]) -> HeaderTimeoutProtocol | None:
    """Return the *idle* connection to close: the oldest of the address with most of them, if there are too many."""
    (address, most), *_ = Counter(map(_address, idle)).most_common(1)
    if most <= MAX_IDLE_PER_ADDRESS and len(idle) <= MAX_IDLE_CONNECTIONS:
        return None
    return min((each for each in idle if _address(each) == address), key=lambda each: each.idle_since or 0.0)


def _address(connection: HeaderTimeoutProtocol) -> str:
    return connection.client[0] if connection.client else ""
