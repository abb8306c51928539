"""What is published of the HTTP interface is what a real server does, whatever it is sent."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode, checks
from served import Served, opened, serving

from recollect.operations import OPERATIONS
from recollect.surfaces.serve.openapi import describe

OFFERED = [name for name, each in OPERATIONS.items() if each.rights.is_offered]
PUBLISHED = describe([OPERATIONS[name] for name in OFFERED], version="1")
ROUTES = [f"{method} {path}" for path, item in PUBLISHED["paths"].items() for method in item]
EXAMPLES_EACH = int(os.environ.get("RECOLLECT_OPENAPI_EXAMPLES", "5"))
"""How many valid and how many invalid requests each route is sent."""
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """Send lines as they are."""
    return str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of a store with a few memories, for many requests."""
    with opened(tmp_path_factory.mktemp("openapi") / "store.db", model="hashing") as db:
        for text in ("We deploy on Fridays", "Owner: Mara of the billing team", "The port is 5432"):
            db.add(text, type="decision", tags=("release",))
        with serving(db) as served:
            yield served


@pytest.fixture(scope="module")
def described(filled: Served) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{filled.port}/api/v1/openapi.json")


@pytest.mark.parametrize("route", ROUTES)
def test_whatever_is_sent_is_answered_as_published(described: schemathesis.BaseSchema, route: str) -> None:
    method, _, path = route.partition(" ")
    asked = described[path][method]

    @settings(
        max_examples=2 * EXAMPLES_EACH,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=asked.as_strategy(GenerationMode.POSITIVE) | asked.as_strategy(GenerationMode.NEGATIVE))
    def is_answered(case: schemathesis.Case[Any]) -> None:
        case.validate_response(case.call(timeout=60), checks=CHECKS)

    is_answered()


def test_what_is_published_is_a_valid_description() -> None:
    schemas = PUBLISHED["components"]["schemas"]

    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert all(used in schemas for used in referred(schema)), name


def referred(schema: object) -> set[str]:
    """Return the schemas that *schema* refers to."""
    return {word.split('"')[0] for word in json.dumps(schema).split('"#/components/schemas/')[1:]}


@pytest.mark.parametrize("name", OFFERED)
def test_every_operation_has_an_example_that_is_answered(filled: Served, name: str) -> None:
    said = filled.post(name, **OPERATIONS[name].traits.example)

    assert said.status == 200, said.body
    if name != "export":
        schema = {"$ref": f"#/components/schemas/{name}", "components": PUBLISHED["components"]}
        assert list(Draft202012Validator(schema).iter_errors(said.value)) == []
