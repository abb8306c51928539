"""The scale of a model: what its cosines of unrelated and of near texts are, and where others' rules read them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect.embedders.cached import CachedEmbedder
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.manifest import catalogue
from recollect.embedders.scale import FILE, KNOWN, measure
from recollect.profile import BUILT_IN, load_profile
from recollect.records import Memory
from recollect.remember.embed import embed_memories
from recollect.vectors import FAR, NEAR, RAW, Scale, Vector, mix, unit

COSINES = st.floats(min_value=-1, max_value=1).map(lambda each: round(each, 7))
SCALES = st.builds(
    Scale,
    far=st.floats(min_value=-0.5, max_value=0.8),
    near=st.floats(min_value=0.81, max_value=0.99),
    place=st.floats(min_value=0.06, max_value=0.9),
)


class Crowded(HashingEmbedder):
    """An embedder whose vectors all have much in common, as those of many models have."""

    def __init__(self, share: float = 0.7) -> None:
        super().__init__()
        self.share, self.asked = share, 0
        self.fingerprint = f"crowded-{share}"  # type: ignore[misc]

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += len(texts)
        common = unit([1.0] * self.dimensions)
        return [mix([each, common], [1.0 - self.share, self.share]) for each in super().embed_passages(texts)]

    embed_queries = embed_passages


# --- the conversion -------------------------------------------------------------------------


@given(cosine=COSINES)
def test_the_reference_keeps_its_cosines_to_the_digit(cosine: float) -> None:
    assert RAW.of(cosine) == cosine


@given(scale=SCALES, cosines=st.lists(COSINES, min_size=2))
def test_a_scale_keeps_the_order_and_stays_between_minus_one_and_one(scale: Scale, cosines: list[float]) -> None:
    found = scale.of_all(sorted(cosines))

    assert found == sorted(found)
    assert -1 <= min(found) <= max(found) <= 1


def test_what_is_unrelated_near_or_the_same_to_a_model_is_so_on_the_scale() -> None:
    scale = Scale(far=0.75, near=0.9)

    assert scale.of_all([0.75, 0.9, 1.0]) == pytest.approx([FAR, NEAR, 1.0])


# --- the measure ----------------------------------------------------------------------------


def test_unrelated_texts_are_unrelated_on_the_scale_of_a_model_whose_cosines_are_all_high() -> None:
    model = Crowded()
    first, *others = model.embed_passages(["The boat sails at noon", "Bread needs flour", "A violin has four strings"])
    cosines = [sum(a * b for a, b in zip(first, other, strict=True)) for other in others]

    assert min(cosines) > 0.5
    assert measure(model).of_all(cosines) == pytest.approx([FAR, FAR], abs=0.15)


def test_the_scales_that_are_known_belong_to_the_models_of_today() -> None:
    minilm = catalogue()["minilm"]

    assert KNOWN[minilm.manifest.__class__(**{**_fields(minilm.manifest), "files": minilm.files}).fingerprint] == RAW
    assert KNOWN[HashingEmbedder().fingerprint] == measure(HashingEmbedder())


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__struct_fields__}  # type: ignore[attr-defined]


def test_a_model_that_tells_nothing_keeps_its_cosines() -> None:
    class Constant(HashingEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
            return [unit([1.0, 1.0]) for _ in texts]

        embed_queries = embed_passages

    assert measure(Constant(dimensions=2)) == RAW


def test_a_scale_is_measured_once_and_kept_beside_the_models(tmp_path: Path) -> None:
    first, again = Crowded(), Crowded()
    scales = [CachedEmbedder(each, folder=tmp_path).scale for each in (first, again)]
    (tmp_path / FILE).write_text("{", "utf-8")
    damaged = CachedEmbedder(Crowded(), folder=tmp_path).scale

    assert scales == [measure(Crowded())] * 2
    assert damaged == scales[0]
    assert (first.asked > 0, again.asked) == (True, 0)


# --- the rules ------------------------------------------------------------------------------


def test_a_long_note_has_as_many_passages_whatever_the_cosines_of_its_model() -> None:
    note = Memory(
        content="The boat sails at noon from the pier behind the mill, and takes bicycles. " * 3
        + "Grandmother keeps her spare keys under the flower pot with the red geranium. " * 3
        + "Payments are retried after one, six and twenty-four hours, then the order is put on hold. " * 3
    )
    raw = Crowded()
    raw.__dict__["scale"] = RAW

    ((one,), (other,)) = embed_memories([note], Crowded()), embed_memories([note], raw)

    assert len(one.passages) > len(other.passages) == 1


def test_the_seeds_read_raw_cosines_and_the_default_scaled_ones() -> None:
    assert {name: load_profile(name).cosines for name in BUILT_IN if name != "default"} == dict.fromkeys(
        set(BUILT_IN) - {"default"}, "raw"
    )
    assert load_profile("default").cosines == "scaled"


@pytest.mark.parametrize(("profile", "scaled"), [("default", True), ("boocode", False)])
def test_a_search_shows_the_cosines_that_its_rules_read(profile: str, scaled: bool) -> None:  # noqa: FBT001
    model = Crowded()
    with recollect.open(":memory:", model=model, profile=profile) as db:
        db.add("The boat sails at noon")
        (hit,) = db.search("the boat at night", mode="semantic").hits
        (near,) = [share.native for share in hit.shares if share.ranking == "vector"]
    (a,), (b,) = model.embed_queries(["the boat at night"]), model.embed_passages(["The boat sails at noon"])
    cosine = sum(x * y for x, y in zip(a, b, strict=True))

    assert near == pytest.approx(measure(model).of(cosine) if scaled else cosine, abs=1e-5)
