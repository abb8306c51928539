"""What a caller may rely on when asking for the words of a store."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import NOON, STORES, plain
from recollect.records import ALL_PROJECTS, Context, Forget, Insert, Memory, Merge, Scope
from recollect.stores.contract import Store

P = Scope(projects=frozenset({"p"}))
BOTH = Scope(projects=frozenset({"p", "q"}))


def add(store: Store, *memories: Memory) -> tuple[int, ...]:
    return store.apply([Insert(memory=memory) for memory in memories], at=NOON)


def said(title: str, content: str, project: str = "p") -> Memory:
    return Memory(title=title, content=content, project=project, tags=("tagged",), context=Context(before="before"))


def test_a_word_counts_once_for_each_memory_that_has_it_in_title_or_body(store: Store) -> None:
    add(store, said("cats", "cats cats dog"), said("", "dog"), said("dog", "x"), said("", "cats", "q"))

    assert store.document_frequencies(scope=ALL_PROJECTS) == {"cats": 2, "dog": 3}
    assert store.document_frequencies(scope=P) == {"dog": 3, "cats": 1}
    assert store.document_frequencies(scope=BOTH) == {"cats": 2, "dog": 3}
    assert store.document_frequencies(scope=Scope(projects=frozenset())) == {}
    assert store.document_frequencies(scope=ALL_PROJECTS, form="stem") == {"cat": 2, "dog": 3}


def test_the_most_frequent_come_first_then_by_word(store: Store) -> None:
    add(store, said("", "bb aa"), said("", "bb cc"), said("", "aa 数据"), said("", "bb"))

    assert list(store.document_frequencies(scope=ALL_PROJECTS).items()) == [
        ("bb", 3),
        ("aa", 2),
        ("cc", 1),
        ("数据", 1),
    ]
    assert store.document_frequencies(scope=ALL_PROJECTS, least=2) == {"bb": 3, "aa": 2}
    assert store.document_frequencies(scope=ALL_PROJECTS, limit=1) == {"bb": 3}


def test_other_wordings_count_and_forgotten_memories_do_not(store: Store) -> None:
    one, two = add(store, said("", "cats"), said("", "cats"))

    store.apply([Merge(id=one, confidence=0.8, wording="kittens"), Forget(id=two)], at=NOON)

    assert store.document_frequencies(scope=ALL_PROJECTS) == {"cats": 1, "kittens": 1}
    assert store.document_frequencies(words=["cats", "kittens"], scope=ALL_PROJECTS) == {"cats": 1, "kittens": 1}


@pytest.mark.parametrize("scope", [ALL_PROJECTS, P, BOTH])
def test_given_words_are_counted_alike_and_unknown_ones_are_0(store: Store, scope: Scope) -> None:
    add(store, said("cats", "cats dog it's"), said("dog", "c++"), said("", "cats", "q"))
    odd = ["before", "tagged", "CATS", "cats dog", '"', "", "cat*", "{title}", "数据"]

    counts = store.document_frequencies(words=["cats", "dog", "c++", "it's", *odd], scope=scope)

    words = store.document_frequencies(scope=scope)
    assert {word: count for word, count in counts.items() if count} == words
    assert list(counts) == ["cats", "dog", "c++", "it's", *odd]


def test_a_word_in_few_titles_of_a_long_store_counts_once_too(store: Store) -> None:
    many = " ".join(f"w{n}" for n in range(2000))
    add(store, said("cats", f"cats {many}"), said("", "cats"), said("cats", "w7"), said("w8", many))

    words = store.document_frequencies(scope=ALL_PROJECTS)

    assert (words["cats"], words["w7"], words["w8"], words["w9"]) == (3, 3, 2, 2)
    assert len(words) == 2001


def test_a_store_without_memories_has_no_words(store: Store) -> None:
    assert store.document_frequencies(scope=ALL_PROJECTS) == {}
    assert store.document_frequencies(words=["cat"], scope=ALL_PROJECTS, form="stem") == {"cat": 0}


WORDS = st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=4).map(" ".join)


@pytest.mark.parametrize("name", sorted(STORES))
@given(texts=st.lists(st.tuples(WORDS, WORDS, st.sampled_from("pq")), max_size=8), scope=st.sampled_from([P, BOTH]))
@pytest.mark.full
def test_counting_the_long_way_gives_the_same(
    name: str, tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str, str]], scope: Scope
) -> None:
    store = STORES[name](Path(tmp_path_factory.mktemp("words")), plain)
    add(store, *(said(title, content, project) for title, content, project in texts))

    words = store.document_frequencies(scope=scope)

    mine = [f"{title} {content}".split() for title, content, project in texts if project in (scope.projects or ())]
    store.close()
    assert words == Counter(word for tokens in mine for word in set(tokens))
