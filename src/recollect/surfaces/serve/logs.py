"""The log of a server: one line for each request and each failure, and never what was asked or found."""

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

from recollect.render.terminal import visible_line

LOG: Final = logging.getLogger("recollect.serve")
BASE: Final = "/api/v1/"
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds, so they are logged only by who debugs."""


def log_request(path: str, *, status: int, seconds: float, caller: str) -> None:
    """Log one request: the operation, the status, how long it took, and the name of the token."""
    level = logging.DEBUG if path in PROBES else logging.INFO
    if LOG.isEnabledFor(level):
        operation = visible_line(path.removeprefix(BASE)[:100])
        facts = {"operation": operation, "status": status, "ms": round(seconds * 1000, 1), "caller": caller}
        LOG.log(level, "request", extra={"facts": facts})


def configure(level: str, form: str) -> None:
    """Write the log to standard error: ours from *level* on, warnings of libraries beside it."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(form=form))
    logging.getLogger().addHandler(handler)
    logging.getLogger("mcp").setLevel(logging.ERROR)  # it warns of what clients do wrong, who are told
    LOG.setLevel(level.upper())


class LineFormatter(logging.Formatter):
    """One line for each record; a traceback only for who debugs."""

    def __init__(self, *, form: str) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as a line."""
        facts: dict[str, Any] = dict(getattr(record, "facts", {}))
        if record.exc_info and record.exc_info[0] is not None:
            facts["kind"] = record.exc_info[0].__name__
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        head = {"time": at, "level": record.levelname.lower(), "event": record.getMessage()}
        if self._form == "json":
            return json.dumps({**head, **facts}, ensure_ascii=False)
        told = [*head.values(), *(f"{name}={value}" for name, value in facts.items())]
        text = visible_line(" ".join(told))
        debugs = LOG.isEnabledFor(logging.DEBUG) and record.exc_info
        return f"{text}\n{self.formatException(record.exc_info)}" if debugs and record.exc_info else text
