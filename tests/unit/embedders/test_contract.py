"""What comes back from a model is checked before it is used."""

import math

import pytest

from recollect.embedders.contract import expect
from recollect.errors import ModelError


@pytest.mark.case(73)
@pytest.mark.parametrize("count", [3, 5])
def test_a_vector_of_the_wrong_dimension_is_refused(count: int) -> None:
    with pytest.raises(ModelError, match=f"{count} dimensions where 4"):
        expect([1.0] * count, dimensions=4)


def test_a_vector_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ModelError, match="not finite"):
        expect([1.0, math.nan], dimensions=2)
