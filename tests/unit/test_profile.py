import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import fields

from recollect.errors import ProfileError
from recollect.profile import BUILT_IN, Normalizer, Profile, _structs, load_profile, read_profile
from recollect.records import FIELDS
from recollect.search.fuse import NORMALIZERS


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_profile_loads_and_knows_its_name(name: str) -> None:
    assert load_profile(name).name == name


@pytest.mark.parametrize(
    ("name", "join", "limit", "max_limit", "blank"),
    [
        ("default", "or", 20, 1000, "browse"),
        ("cortex", "and", 20, 1000, "nothing"),
        ("oro", "or", 5, 1000, "browse"),
        ("boocode", "cascade", 10, 1000, "browse"),
        ("nornicdb", "or", 50, 1000, "browse"),
        ("engram", "or", 20, 100, "browse"),
    ],
)
def test_a_seed_joins_words_and_limits_answers_as_its_document_says(
    name: str, join: str, limit: int, max_limit: int, blank: str
) -> None:
    profile = load_profile(name)

    assert (profile.words.join, profile.limit, profile.max_limit, profile.blank) == (join, limit, max_limit, blank)


@pytest.mark.req("N-11")
def test_the_title_weighs_more_than_the_body_by_default() -> None:
    fields = load_profile("default").words.fields

    assert fields["title"] > fields["body"] > fields["path"] > 0
    assert set(fields) == set(FIELDS)


def test_a_profile_of_ones_own_is_a_toml_file_that_names_only_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("limit = 7\n[words]\nk1 = 2\n[words.fields]\ntitle = 3\n[weigh]\nbounds = [0.5, 2]\n")

    profile = load_profile(str(path))

    assert (profile.name, profile.limit, profile.words.k1) == ("mine", 7, 2.0)
    assert dict(profile.words.fields) == {"title": 3.0}
    assert profile.weigh.bounds == (0.5, 2.0)
    assert profile.max_limit == Profile().max_limit


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("limt = 5", "unknown stage or key `limt`", "limit"),
        ("[smoth]\nweight = 0.5", "unknown stage or key `smoth`", "smooth"),
        ("[words]\njoined = 'or'", "unknown stage or key `joined` - at `words`", "one of join"),
        ("[words]\njoin = 'xor'", "Invalid enum value 'xor' - at `words.join`", "one of or, and, cascade"),
        ("[words.fields]\nheading = 2.0", "(title|body|", "docs/profiles.md"),
        ("limit = 'many'", "Expected `int`, got `str` - at `limit`", "docs/profiles.md"),
        ("limit = 2.5", "Expected `int`, got `float` - at `limit`", "docs/profiles.md"),
        ("limit = true", "Expected `int`, got `bool` - at `limit`", "docs/profiles.md"),
        ("words = 3", "Expected `object`, got `int` - at `words`", "join"),
        ("[smooth]\nweight = 0.5", "missing required field `max_rise` - at `smooth`", "max_rise"),
        ("[fuse]\nmethod = 'sum'\nweights = { words = 'much' }", "at `fuse.weights[...]`", "docs/profiles.md"),
        ("[fuse]\nmethod = 'sum'\nweights = { words = -1 }", ">= 0.0 - at `fuse.weights[...]`", "docs/profiles.md"),
        ("[fuse]\nmethod = 'magic'", "Invalid value 'magic' - at `fuse.method`", "one of rrf, sum"),
        ("[fuse]\nmethod = 'sum'\nk = 3", "unknown stage or key `k` - at `fuse`", "full_words"),
        ("[fuse]\nmethod = 'sum'\nnormalize = { words = 'magic' }", "'magic' - at `fuse.normalize[...]`", "max_norm"),
        ("[fuse]\nmethod = 'rrf'\nk = inf", "at `fuse.k`", "docs/profiles.md"),
        ("[weigh]\nbounds = [0.5]", "Expected `array` of length 2, got 1 - at `weigh.bounds`", "docs/profiles.md"),
        ("[weigh]\nfactors = ['decay']", "Invalid enum value 'decay' - at `weigh.factors[0]`", "half_life"),
        ("[weigh]\nhalf_life_days = 0", ">= 1e-09 - at `weigh.half_life_days`", "docs/profiles.md"),
        ("[weigh.importance]\nminimum = -1", ">= 0.0 - at `weigh.importance.minimum`", "docs/profiles.md"),
        ("[retrieve]\nmin_similarity = 2", "<= 1.0 - at `retrieve.min_similarity`", "docs/profiles.md"),
        ("[answerability]\nthreshold = 2", "<= 1.0 - at `answerability.threshold`", "docs/profiles.md"),
        ("[answerability]\nthreshold = 0.5\nwords = { cosine = 1 }", "`cosine` - at `answerability.words`", "coverage"),
        (
            "[answerability]\nthreshold = 0.5\nhybrid = { size = 'big' }",
            "at `answerability.hybrid.size`",
            "docs/profiles.md",
        ),
        ("limit = ", "is not TOML", "docs/profiles.md"),
    ],
)
def test_a_mistake_in_a_profile_is_an_error_with_a_hint(text: str, said: str, hint: str) -> None:
    with pytest.raises(ProfileError, match="mine") as caught:
        read_profile(text, name="mine")

    assert said in str(caught.value)
    assert hint in caught.value.hint


def test_every_normalizer_has_a_name_that_a_profile_may_use() -> None:
    assert set(NORMALIZERS) == set(get_args(Normalizer))


def test_an_unknown_profile_and_a_missing_file_are_errors_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no profile is called 'defualt'") as unknown:
        load_profile("defualt")
    with pytest.raises(ProfileError, match="cannot read the profile"):
        load_profile(str(tmp_path / "none.toml"))

    assert "default" in unknown.value.hint


def test_a_profile_file_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes("# müde\nlimit = 3\n".encode("latin-1"))

    with pytest.raises(ProfileError, match="latin"):
        load_profile(str(path))


def keys(kind: Any) -> Iterator[str]:
    """Yield every key that a table of this kind may have, those of tables inside it too."""
    for struct in _structs(kind):
        for each in fields(struct):
            yield each.name
            yield from keys(each.type)


def test_every_key_of_a_profile_is_in_its_documentation() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")

    missing = {key for key in keys(Profile) if not re.search(rf"`(\[(\w+\.)?)?{key}\b", documented)}

    assert missing == {"name"}
