"""The plain matrix ranks as the NumPy one does, and works where NumPy cannot be imported."""

import subprocess
import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.vectors import NumpyMatrix, PlainMatrix, matrix, unit, unpack

NUMBERS = st.floats(-1, 1, width=32).map(lambda number: number if abs(number) > 1e-6 else 0.0)
VECTORS = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=12)


def packed(numbers: list[float]) -> bytes:
    return array("f", numbers).tobytes()


@pytest.mark.req("B-04", "B-05")
@given(VECTORS, st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3), st.integers(1, 12))
def test_both_matrices_find_the_same_products_and_equally_good_rows(
    vectors: list[list[float]], query: list[float], take: int
) -> None:
    fast = matrix([packed(vector) for vector in vectors], dimensions=3)
    plain = PlainMatrix().grown([], [packed(vector) for vector in vectors])
    rows = list(range(len(vectors)))

    products = plain.products(packed(query), rows)

    assert isinstance(fast, NumpyMatrix)
    assert fast.products(packed(query), rows) == pytest.approx(products, abs=1e-6)
    for each in (fast, plain):
        best = each.best(packed(query), each.places(rows), take)
        values = sorted((products[row] for row in best), reverse=True)
        assert values == pytest.approx(sorted(products, reverse=True)[:take], abs=1e-6)


@given(VECTORS)
def test_growing_keeps_the_rows_told_and_adds_the_new_below(vectors: list[list[float]]) -> None:
    for empty in (PlainMatrix(), matrix([], dimensions=3)):
        whole = empty.grown([], [packed(vector) for vector in vectors])

        grown = whole.grown([0], [packed([1.0, 0.0, 0.0])])

        assert grown.products(packed([1.0, 0.0, 0.0]), [0, 1]) == pytest.approx([vectors[0][0], 1.0], abs=1e-6)


@given(VECTORS, st.integers(1, 12))
def test_both_matrices_know_equally_near_rows(vectors: list[list[float]], most: int) -> None:
    rows = [packed(vector) for vector in vectors]
    scores = [float(at % 3) for at in range(len(rows))]
    products = PlainMatrix().grown([], rows)
    near = [products.products(row, range(len(rows))) for row in rows]
    ties = any(len(set(line)) < len(line) for line in near)  # of equally near ones each takes its own

    fast = matrix(rows, dimensions=3).leads(scores, len(rows) if ties else most)
    plain = products.leads(scores, len(rows) if ties else most)

    assert fast == pytest.approx(plain, abs=1e-5)


def test_those_ahead_count_by_how_near_they_are_and_those_behind_not_at_all() -> None:
    rows = [packed([1.0, 0.0, 0.0]), packed([0.8, 0.6, 0.0]), packed([0.0, 1.0, 0.0]), packed([-1.0, 0.0, 0.0])]

    for table in (matrix(rows, dimensions=3), PlainMatrix().grown([], rows)):
        assert table.leads([0.2, 0.5, 0.4, 0.9], 2) == pytest.approx([0.3, 0.0, 0.1, 0.0])
        assert table.leads([0.5, 0.2, 0.4, 0.9], 2) == pytest.approx([0.0, (0.8 * 0.3 + 0.6 * 0.2) / 1.4, 0.0, 0.0])


@given(VECTORS, st.lists(st.floats(0, 1, width=32), max_size=4))
def test_both_matrices_mix_neighbours_alike(vectors: list[list[float]], weights: list[float]) -> None:
    rows = [packed(vector) for vector in vectors]
    fast = matrix(rows, dimensions=3).in_context(weights)
    plain = PlainMatrix().grown([], rows).in_context(weights)

    for one, two, own in zip(fast, plain, rows, strict=True):
        assert list(unpack(one)) == pytest.approx(list(unpack(two)), abs=1e-3)
        if not any(weights) and any(unpack(own)):
            assert list(unpack(one)) == pytest.approx(list(unit(unpack(own))), abs=1e-6)


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import recollect
db = recollect.open(":memory:", model="hashing")
for text in ("deploy with docker", "cats and dogs", "docker images are built nightly"):
    db.add(text)
print([hit.id for hit in db.search("docker deploys", mode="semantic").hits])
assert "numpy" not in {name for name, module in sys.modules.items() if module is not None}
"""


@pytest.mark.req("B-05")
def test_without_numpy_the_ranking_is_the_same() -> None:
    plain = subprocess.run([sys.executable, "-c", WITHOUT_NUMPY], capture_output=True, text=True, check=True)  # noqa: S603
    fast = WITHOUT_NUMPY.replace('sys.modules["numpy"] = None', "").split("assert")[0]
    normal = subprocess.run([sys.executable, "-c", fast], capture_output=True, text=True, check=True)  # noqa: S603

    assert plain.stdout == normal.stdout
    assert plain.stdout.strip().startswith("[1, 3")
