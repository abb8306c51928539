"""What a caller may rely on when asking for words like a word, and for words that hold a part."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import NOON, STORES, plain
from recollect.records import ALL_PROJECTS, Context, Forget, Insert, Memory, NearWord, Scope
from recollect.stores.contract import Store

P = Scope(projects=frozenset({"p"}))


def add(store: Store, *texts: str, project: str = "p") -> tuple[int, ...]:
    memories = [Memory(content=text, project=project, context=Context(before="databate")) for text in texts]
    return store.apply([Insert(memory=memory) for memory in memories], at=NOON)


def near(*found: tuple[str, int, int]) -> tuple[NearWord, ...]:
    return tuple(NearWord(text=text, distance=distance, frequency=count) for text, distance, count in found)


def test_words_at_most_as_many_edits_away_are_found_the_nearest_and_most_frequent_first(store: Store) -> None:
    add(store, "database databse", "database databases", "catabase x", "datalake datbaase")

    found = store.near_words({"databose": 2, "database": 1}, scope=ALL_PROJECTS)

    assert found.near == {
        "databose": near(("database", 1, 2), ("databse", 1, 1), ("databases", 2, 1), ("datbaase", 2, 1)),
        "database": near(("database", 0, 2), ("databases", 1, 1), ("databse", 1, 1), ("datbaase", 1, 1)),
    }


def test_words_that_hold_a_part_and_more_are_found(store: Store) -> None:
    add(store, "schlussel hausschlussel", "schlusselbund hausschlussel", "haus")

    found = store.near_words({}, scope=ALL_PROJECTS, holding=["schlussel", "tur"])

    assert found.holding == {
        "schlussel": near(("hausschlussel", 4, 2), ("schlusselbund", 4, 1)),
        "tur": (),
    }


def test_only_live_memories_of_the_scope_count_and_their_size_is_told(store: Store) -> None:
    (row,) = add(store, "letter")
    add(store, "lettre litter", project="q")
    add(store, "letters one")
    store.apply([Forget(id=row)], at=NOON)

    found = store.near_words({"letter": 1}, scope=P, holding=["lett"])

    assert found.near == {"letter": near(("letters", 1, 1))}
    assert found.holding == {"lett": near(("letters", 3, 1))}
    assert (found.documents, found.tokens) == (1, 3)


def test_a_store_without_memories_has_nothing_near(store: Store) -> None:
    found = store.near_words({"letter": 2, "": 2}, scope=ALL_PROJECTS, holding=["lett", ""])

    assert (found.near, found.holding) == ({"letter": (), "": ()}, {"lett": (), "": ()})
    assert (found.documents, found.tokens) == (0, 0)


TYPED = st.text(alphabet="abß数1", min_size=1, max_size=5)


@pytest.mark.parametrize("name", sorted(STORES.keys() - {"oracle"}))
@settings(max_examples=20)
@given(texts=st.lists(TYPED, max_size=8), typed=TYPED, reach=st.integers(0, 2), part=TYPED)
def test_every_store_finds_what_the_oracle_finds(
    tmp_path_factory: pytest.TempPathFactory, name: str, texts: list[str], typed: str, reach: int, part: str
) -> None:
    stores = [STORES[each](Path(tmp_path_factory.mktemp("near")), plain) for each in ("oracle", name)]
    for store in stores:
        add(store, *texts)

    expected, found = (store.near_words({typed: reach}, scope=P, holding=[part]) for store in stores)

    for store in stores:
        store.close()
    assert found == expected
