from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import NOON, STORES, plain
from recollect.profile import load_profile
from recollect.recollection import Recollection
from recollect.stores.contract import Store
from recollect.text.analyser import analyse


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[request.param](tmp_path, plain)
    yield opened
    opened.close()


@pytest.fixture(params=sorted(STORES))
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollection]:
    """Every store behind the same door: the real analyser, the default profile, no model, a fixed clock."""
    store = STORES[request.param](tmp_path, analyse)
    with Recollection(store=store, profile=load_profile("default"), clock=lambda: NOON) as opened:
        yield opened
