import pytest

from recollect.embedders.manifest import need, need_all
from recollect.errors import ModelError


def test_a_library_that_is_here_is_returned() -> None:
    assert need("json").dumps([1]) == "[1]"


@pytest.mark.parametrize("ask", [need, lambda name: need_all(["json", name])])
def test_a_library_that_is_not_here_is_named_with_the_extra_that_brings_it(ask: object) -> None:
    with pytest.raises(ModelError, match="needs the library no_such_library") as caught:
        ask("no_such_library")  # type: ignore[operator]

    assert caught.value.hint == 'run: pip install "recollect[model]"'


def test_all_that_are_here_are_fine() -> None:
    need_all(["json", "numpy"])
