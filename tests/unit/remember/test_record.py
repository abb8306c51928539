"""Making memories of records."""

from datetime import UTC, datetime

import pytest

from recollect.remember.formats.record import Origin, as_memory

ORIGIN = Origin(source="/notes/a.jsonl", date=datetime(2020, 1, 1, tzinfo=UTC))


def test_a_full_record_fills_every_field_it_names() -> None:
    record: dict[str, object] = {
        "memory": "We ship on Monday",
        "Name": "Shipping",
        "category": "decision",
        "labels": ["a", {"name": "b"}, "a", "", 3],
        "project": "web",
        "confidence": "0.5",
        "pinned": True,
        "ts": 1_700_000_000_000,
        "uuid": "u-1",
        "metadata": {"mood": "good"},
        "Colour": ["red"],
    }

    memory = as_memory(record, origin=ORIGIN, line=4)

    assert memory is not None
    assert (memory.content, memory.title, memory.type) == ("We ship on Monday", "Shipping", "decision")
    assert (memory.tags, memory.project, memory.confidence, memory.pinned) == (("a", "b", "3"), "web", 0.5, True)
    assert memory.observed_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (memory.external_id, memory.source, memory.line) == ("u-1", "/notes/a.jsonl", 4)
    assert memory.metadata == {"mood": "good", "Colour": ["red"], "Name": "Shipping"}


@pytest.mark.req("N-16")
@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ({"labels": ["Person", "Developer"]}, ("Person", "Developer")),
        ({"labels": [{"name": "bug"}, {"name": "help wanted"}]}, ("bug", "help wanted")),
        ({"Labels": "Person, Developer"}, ("Person", "Developer")),
        ({"labels": ["b", "c"], "tags": "a, b"}, ("a", "b", "c")),
    ],
)
def test_several_labels_on_one_record_are_tags_beside_those_it_has(
    given: dict[str, object], tags: tuple[str, ...]
) -> None:
    memory = as_memory({"text": "t", **given}, origin=ORIGIN, line=1)

    assert memory is not None
    assert memory.tags == tags
    assert memory.metadata == {}


@pytest.mark.req("N-01")
def test_the_names_that_search_looks_at_stay_in_the_metadata() -> None:
    kept: dict[str, object] = {
        "name": "Build",
        "description": "compiles",
        "path": "src/x",
        "workerRole": "builder",
        "requirements": ["make"],
    }

    with_content = as_memory({"text": "body", **kept}, origin=ORIGIN, line=1)
    without = as_memory(kept, origin=ORIGIN, line=1)

    assert with_content is not None
    assert without is not None
    assert with_content.metadata == without.metadata == kept
    assert without.title == "Build"
    assert without.content.splitlines()[1] == "description: compiles"


def test_a_document_of_a_judged_collection_keeps_its_id() -> None:
    whole = as_memory({"_id": 12, "title": "T", "text": "body", "metadata": {}}, origin=ORIGIN, line=1)
    bare = as_memory({"_id": "d2", "title": "Only a title", "text": ""}, origin=ORIGIN, line=2)

    assert whole is not None
    assert bare is not None
    assert (whole.external_id, whole.content, whole.title, whole.metadata) == ("12", "body", "T", {})
    assert (bare.external_id, bare.content) == ("d2", "Only a title")


def test_the_surest_name_wins_and_the_others_are_kept() -> None:
    record: dict[str, object] = {"note": "n", "text": "t", "body": " ", "id": 1, "external_id": "e"}

    memory = as_memory(record, origin=ORIGIN, line=1)

    assert memory is not None
    assert (memory.content, memory.external_id) == ("t", "e")
    assert memory.metadata == {"note": "n", "body": " ", "id": 1}


def test_values_that_fit_no_field_are_kept_as_metadata() -> None:
    record: dict[str, object] = {
        "text": "t",
        "tags": 5,
        "confidence": "high",
        "pinned": "maybe",
        "date": "soon",
        "metadata": "m",
        "id": True,
    }

    memory = as_memory(record, origin=ORIGIN, line=1)

    assert memory is not None
    assert (memory.tags, memory.confidence, memory.pinned, memory.observed_at) == ((), 0.8, False, ORIGIN.date)
    assert memory.metadata == {key: value for key, value in record.items() if key != "text"}


@pytest.mark.parametrize(("given", "kept"), [(-1, 0.0), (0.3, 0.3), ("7", 1.0), (10**400, 0.8), ("nan", 0.8)])
def test_confidence_is_brought_into_its_range(given: object, kept: float) -> None:
    memory = as_memory({"text": "t", "confidence": given}, origin=ORIGIN, line=1)

    assert memory is not None
    assert memory.confidence == kept
