"""How long a connection may take: who opens one must send a whole request head in time, and the next one too.

The web server itself bounds only how long a connection stays idle after an answer; one that sends a byte now and then,
or nothing at all, would be held open for as long as it likes.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS: Final = 20.0
"""How long the head of a request may take from the first byte, or from the start of the connection."""


class PatientProtocol(H11Protocol):
    """HTTP with an end to waiting for the head of a request."""

    head_seconds: float = HEAD_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def handle_events(self) -> None:
        """Take in what has come; wait on while it is no whole head."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()
        elif self.conn.trailing_data[0]:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.head_seconds, self._give_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        """Close the connection of who is too slow; an answer that is under way is not cut off."""
        self._waiting = None
        if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
