"""Spans for those who trace: one for each operation by any door, without a text unless somebody wants it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace
from served import Served

from recollect.surfaces.serve.tracing import CONTENT

RECORDED: list["Recorded"] = []


class Recorded(trace.NonRecordingSpan):
    """A span that keeps what it is told."""

    def __init__(self, name: str, attributes: Mapping[str, Any]) -> None:
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.attributes = name, dict(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value


class Recorder(trace.Tracer):
    """A tracer that keeps its spans."""

    @contextmanager
    def start_as_current_span(self, name: str, *_: Any, **told: Any) -> Iterator[Recorded]:  # type: ignore[override]
        RECORDED.append(Recorded(name, told["attributes"]))
        yield RECORDED[-1]

    def start_span(self, name: str, *_: Any, **__: Any) -> trace.Span:
        return Recorded(name, {})


class Provider(trace.TracerProvider):
    def get_tracer(self, *_: Any, **__: Any) -> trace.Tracer:
        return Recorder()


@pytest.fixture(autouse=True)
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Recorded]]:
    monkeypatch.delenv(CONTENT, raising=False)
    trace.set_tracer_provider(Provider())
    RECORDED.clear()
    yield RECORDED
    RECORDED.clear()


def test_an_operation_is_a_span_named_as_the_conventions_do(server: Served, spans: list[Recorded]) -> None:
    server.post("search", query="zanzibar", mode="keyword")
    server.post("add", text="zanzibar is far")
    server.post("show", id=4711)

    assert [each.name for each in spans] == ["search_memory search", "create_memory add", "retrieval show"]
    assert spans[0].attributes["gen_ai.operation.name"] == "search_memory"
    assert spans[2].attributes["error.type"] == "unknown_id"
    assert "zanzibar" not in str([each.attributes for each in spans])


def test_what_was_asked_is_told_to_who_wants_contents(
    server: Served, spans: list[Recorded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTENT, "true")

    server.post("search", query="zanzibar", mode="keyword")

    assert spans[0].attributes["gen_ai.memory.query.text"] == "zanzibar"
