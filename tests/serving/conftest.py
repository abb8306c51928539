from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served, opened, serving


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """A server of a store with two memories."""
    with opened(tmp_path / "store.db") as db:
        db.add("We deploy on Fridays since May", type="decision")
        db.add("The staging database listens on port 5433", type="gotcha")
        with serving(db) as served:
            yield served
