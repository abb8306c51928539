from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import STORES, plain

from recollect.stores.contract import Store


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path, plain)
    yield opened
    opened.close()
