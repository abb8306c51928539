"""A report says where it was measured."""

import platform

from recollect.evaluate.report import machine


def test_the_machine_is_described() -> None:
    told = machine()

    assert set(told) == {"cpu", "cores", "memory", "system", "python", "sqlite", "recollect"}
    assert all(told.values())
    assert int(told["cores"]) >= 1
    assert told["python"] == platform.python_version()
