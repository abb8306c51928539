"""Spans for OpenTelemetry, where its API is installed (the extra `otel`); nothing at all where it is not.

Names follow the conventions for generative AI. Spans tell which operation ran and how it ended; what was asked only
where the environment says so, by the variable that those conventions have for it.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from recollect.errors import RecollectError
from recollect.settings import environment_of

if TYPE_CHECKING:
    from recollect.surfaces.serve.dispatcher import Caller

INSTALLED: Final = find_spec("opentelemetry") is not None
CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("search", "decisions", "changes", "how-it-works", "inject", "brief", "related"), "search_memory"),
    **dict.fromkeys(("add", "capture"), "create_memory"),
    **dict.fromkeys(("edit", "tag", "pin", "supersede", "restore", "feedback", "reinforce"), "update_memory"),
    **dict.fromkeys(("forget", "purge"), "delete_memory"),
}
"""What the conventions call an operation; others are `retrieval`."""


def span(operation: str, caller: "Caller", *, asked: str | None = None) -> AbstractContextManager[None]:
    """Return what a span of *operation* lasts for; what was *asked* is told only to who wants contents."""
    return _recorded(operation, caller, asked) if INSTALLED else nullcontext()


@contextmanager
def _recorded(operation: str, caller: "Caller", asked: str | None) -> Iterator[None]:
    from opentelemetry import trace  # noqa: PLC0415  (an extra)

    kind = KINDS.get(operation, "retrieval")
    told = {
        "gen_ai.operation.name": kind,
        "gen_ai.provider.name": "recollect",
        "recollect.operation": operation,
        "recollect.caller": caller.name,
    }
    if asked and environment_of(CONTENT).get(CONTENT, "").lower() == "true":
        told["gen_ai.memory.query.text"] = asked
    tracer = trace.get_tracer("recollect")
    # An exception would carry the words of a request into the span; its code says enough.
    with tracer.start_as_current_span(
        f"{kind} {operation}", attributes=told, record_exception=False, set_status_on_exception=False
    ) as here:
        try:
            yield
        except RecollectError as error:
            here.set_attribute("error.type", error.code)
            raise
