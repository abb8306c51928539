"""Readers may ask while another thread writes, and never see half of what it does."""

import threading

from kit import NOON, asking
from recollect.records import ALL_PROJECTS, Fact, FactQuery, Filter, Insert, Memory, Recall
from recollect.stores.contract import Store

ANY = Filter()
FACT = Fact(subject="cat", predicate="is", object="here", type="state", confidence=1.0, decay_rate=0.0)


def test_a_reader_never_sees_half_a_transaction(store: Store) -> None:
    def write() -> None:
        for number in range(25):
            with store.transaction():
                for _ in range(2):
                    store.apply([Insert(memory=Memory(content=f"cat {number}"), facts=(FACT,))], at=NOON)

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while writer.is_alive() or not seen:
        seen.append(store.match_words(asking("cat"), scope=ALL_PROJECTS, where=ANY, limit=3).total)
        seen.append(sum(store.facets(query=None, scope=ALL_PROJECTS, where=ANY)["fact_type"].values()))
        seen.append(store.document_frequencies(scope=ALL_PROJECTS).get("cat", 0))
        seen.append(len(store.facts(FactQuery(), scope=ALL_PROJECTS)))
    writer.join()

    assert [count for count in seen if count % 2] == []
    assert store.stats(scope=ALL_PROJECTS).memories == 50


def test_a_log_kept_by_one_thread_is_read_by_another(store: Store) -> None:
    recall = Recall(query="cat", mode="keyword", outcome="none", at=NOON)
    keeper = threading.Thread(target=lambda: store.log_recall([recall]))

    keeper.start()
    keeper.join()

    assert store.recalls(scope=ALL_PROJECTS) == (recall,)
