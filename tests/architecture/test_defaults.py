"""The default and the bounds of a parameter stand in its request, and surfaces publish them."""

from recollect.operations import OPERATIONS
from recollect.surfaces.serve.openapi import schema_of


def test_every_number_has_a_least_value_but_a_limit_that_profiles_clamp() -> None:
    unbounded = [
        f"{operation.name} {each.name}"
        for operation in OPERATIONS.values()
        for each in operation.parameters
        if each.kind in ("number", "float") and each.minimum is None
    ]

    searches = ("search", "decisions", "changes", "how-it-works", "why", "related")
    assert unbounded == [f"{verb} limit" for verb in searches]


def test_every_default_is_within_the_bounds_of_its_parameter() -> None:
    for operation in OPERATIONS.values():
        for each in operation.parameters:
            if each.default is not None and each.kind in ("number", "float"):
                assert (each.minimum or 0) <= each.default <= (each.default if each.maximum is None else each.maximum)
            assert not each.choices or each.kind != "choice" or each.default in (None, *each.choices)


def test_bounds_and_defaults_are_published() -> None:
    published = {
        name: {each.name: schema_of(each) for each in operation.served_parameters}
        for name, operation in OPERATIONS.items()
    }

    assert (published["search"]["alpha"]["minimum"], published["search"]["alpha"]["maximum"]) == (0, 1)
    assert published["stale"]["days"] | {"minimum": 0, "default": 30} == published["stale"]["days"]
    assert published["brief"]["limit"] | {"minimum": 1, "default": 14} == published["brief"]["limit"]
