import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from msgspec import Struct
from msgspec.structs import fields

from recollect.errors import ProfileError
from recollect.profile import BUILT_IN, Normaliser, Profile, load_profile, read_profile
from recollect.records import FIELDS
from recollect.search.fuse import NORMALISERS


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
        ("limt = 5", "unknown key 'limt'", "limit"),
        ("[words]\njoined = 'or'", "mine.words: unknown key 'joined'", "join"),
        ("[words]\njoin = 'xor'", "mine.words.join cannot be 'xor'", "one of or, and, cascade"),
        ("[words.fields]\nheading = 2.0", "mine.words.fields: unknown key 'heading'", "title"),
        ("limit = 'many'", "mine.limit must be int, not 'many'", "fix"),
        ("limit = 2.5", "mine.limit must be int, not 2.5", "fix"),
        ("limit = true", "mine.limit must be int, not True", "fix"),
        ("words = 3", "mine.words must be", "fix"),
        ("[fuse]\nweights = { words = 'much' }", "weights.words must be float", "fix"),
        ("[fuse]\nmethod = 'magic'", "cannot be 'magic'", "rrf, sum"),
        ("[fuse]\nnormalise = { words = 'magic' }", "mine.fuse.normalise.words cannot be 'magic'", "max_norm"),
        ("[weigh]\nbounds = [0.5]", "mine.weigh.bounds must have 2 values, not 1", "fix"),
        ("[fuse]\nrank_bonus = ['much']", "mine.fuse.rank_bonus must be float", "fix"),
        ("[weigh]\nfactors = 'decay'", "mine.weigh.factors must be", "fix"),
        ("[weigh]\nfactors = ['decay']", "mine.weigh.factors cannot be 'decay'", "half_life"),
        ("[weigh]\nhalf_life_days = 0", "mine.weigh.half_life_days must be from 1e-09 up, not 0.0", "fix"),
        ("[weigh.importance]\nminimum = -1", "mine.weigh.importance.minimum must be from 0 up", "fix"),
        ("[retrieve]\nmin_similarity = 2", "mine.retrieve.min_similarity must be from -1 to 1", "fix"),
        ("[fuse]\nk = inf", "mine.fuse.k must be float, not inf", "fix"),
        ("[fuse]\nweights = { words = -1 }", "mine.fuse.weights.words must be from 0 up", "fix"),
        ("max_limit = 0", "mine.max_limit must be from 1 up, not 0", "fix"),
        ("[answerability]\nthreshold = 2", "mine.answerability.threshold must be from 0 to 1", "fix"),
        ("[answerability]\nlength_pivot = 0", "mine.answerability.length_pivot must be from 1 to 1000", "fix"),
        ("[answerability]\nwords = { meaning = 1 }", "mine.answerability.words: unknown key 'meaning'", "cosine"),
        ("[answerability.models.toy]\nhybrid = 0.4", "mine.answerability.models.toy.hybrid must be", "fix"),
        ("limit = ", "is not TOML", "docs"),
    ],
)
def test_what_a_profile_cannot_say_is_an_error_with_a_hint(text: str, said: str, hint: str) -> None:
    with pytest.raises(ProfileError, match="mine") as caught:
        read_profile(text, name="mine")

    assert said in str(caught.value)
    assert hint in caught.value.hint


def test_every_normaliser_has_a_name_that_a_profile_may_use() -> None:
    assert set(NORMALISERS) == set(get_args(Normaliser))


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


def keys(kind: type) -> Iterator[str]:
    """Yield every key that a table of this kind may have, those of tables inside it too."""
    for each in fields(kind):
        yield each.name
        if isinstance(each.default, Struct):
            yield from keys(type(each.default))


def test_every_key_of_a_profile_is_in_its_documentation() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")

    missing = [key for key in keys(Profile) if not re.search(rf"`(\[(\w+\.)?)?{key}\b", documented)]

    assert missing == ["name"]
