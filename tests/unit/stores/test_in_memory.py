"""A store in memory: SQLite that the threads of one process share, and that is gone with it."""

import threading

import recollect
from kit import NOON, asking, plain
from recollect.records import ALL_PROJECTS, Filter, Insert, Memory
from recollect.stores.choice import open_store


def test_each_store_in_memory_is_its_own_and_leaves_no_file() -> None:
    one, two = open_store(":memory:", plain), open_store(":memory:", plain)
    one.apply([Insert(memory=Memory(content="cat"))], at=NOON)

    assert one.stats(scope=ALL_PROJECTS).memories == 1
    assert two.stats(scope=ALL_PROJECTS).memories == 0
    assert one.check() == two.check() == ()


def test_another_thread_waits_for_the_end_of_a_transaction_and_then_sees_all_of_it() -> None:
    store = open_store(":memory:", plain)
    inside, seen = threading.Event(), list[int]()

    def look() -> None:
        inside.wait()
        seen.append(store.match_words(asking("cat"), scope=ALL_PROJECTS, where=Filter(), limit=9).total)

    reader = threading.Thread(target=look)
    reader.start()
    with store.transaction():
        store.apply([Insert(memory=Memory(content="cat"))], at=NOON)
        inside.set()
        reader.join(timeout=0.2)
        waiting = reader.is_alive()
        store.apply([Insert(memory=Memory(content="cat too"))], at=NOON)
    reader.join()

    assert (waiting, seen) == (True, [2])


def test_threads_add_and_search_while_a_thread_in_the_background_embeds() -> None:
    with recollect.open(":memory:", model="hashing", background=True) as db:

        def work(name: str) -> None:
            for number in range(10):
                db.add(f"{name} keeps note {number} about topic{number}")
                db.search(f"topic{number}")

        threads = [threading.Thread(target=work, args=(name,)) for name in ("ann", "bob", "cy")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        db.embed()

        assert db.stats().memories == 30
        assert [each.pending for each in db.store.generations(scope=ALL_PROJECTS)] == [0]
        assert db.doctor().problems == ()
