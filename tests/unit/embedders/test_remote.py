import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import recollect
from local_server import Answer, Asked, serving
from recollect.embedders.remote import Breaker, Remote, RemoteEmbedder, read_remote
from recollect.errors import InputError, ModelError


def embedder(url: str, **changes: object) -> RemoteEmbedder:
    told = {"url": url, "model": "small", "dimensions": 2, "pause": 0.0, **changes}
    return RemoteEmbedder(Remote(**told))  # type: ignore[arg-type]


def answering(vectors: object) -> Callable[[Asked], Answer]:
    return lambda _: Answer(body=json.dumps(vectors).encode())


def by_length(asked: Asked) -> Answer:
    """Answer each text with (its length, 1), last text first."""
    texts = json.loads(asked.body)["input"]
    rows = [{"index": at, "embedding": [len(text), 1.0]} for at, text in enumerate(texts)]
    return Answer(body=json.dumps({"data": rows[::-1]}).encode())


def lengths(vectors: object) -> list[int]:
    return [round(x / y) for x, y in vectors]  # type: ignore[attr-defined]


def test_the_question_has_the_shape_the_server_expects() -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return by_length(asked)

    with serving(answer) as url:
        embedder(f"{url}/v1/", key="secret").embed_passages(["one", "three"])

    assert heard[0].path == "/v1/embeddings"
    assert heard[0].headers["Authorization"] == "Bearer secret"
    assert json.loads(heard[0].body) == {"model": "small", "input": ["one", "three"]}


def test_a_server_that_reads_ahead_is_asked_once_for_the_question_of_a_search(tmp_path: Path) -> None:
    heard: list[list[str]] = []

    def answer(asked: Asked) -> Answer:
        heard.append(json.loads(asked.body)["input"])
        return by_length(asked)

    with serving(answer) as url:
        model = f"{url}#model=small&dimensions=2"
        with recollect.open(tmp_path / "notes.db", model=model) as db:
            db.add("cats sleep")
            heard.clear()
            reply = db.search("where do cats sleep")
            threads = [each.name for each in threading.enumerate()]

    assert heard == [["where do cats sleep"]]
    assert [name for name in threads if name.startswith("recollect-embedder")] != []
    assert [hit.memory.content for hit in reply.hits] == ["cats sleep"]


def test_without_a_key_none_is_sent() -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return by_length(asked)

    with serving(answer) as url:
        embedder(url).embed_passages(["one"])

    assert "Authorization" not in heard[0].headers


def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_answer() -> None:
    with serving(by_length) as url:
        found = embedder(url, batch=2).embed_passages(["a", "bb", "ccc", "dddd", "eeeee"])

    assert lengths(found) == [1, 2, 3, 4, 5]


def test_vectors_are_made_unit_vectors() -> None:
    with serving(answering({"data": [{"index": 0, "embedding": [3.0, 4.0]}]})) as url:
        (found,) = embedder(url).embed_passages(["x"])

    assert list(found) == pytest.approx([0.6, 0.8])


def test_blank_text_is_the_zero_vector_and_is_not_asked_for() -> None:
    with serving(by_length) as url:
        found = embedder(url).embed_passages(["", "abc", " \n"])

    assert [list(found[0]), list(found[2])] == [[0.0, 0.0], [0.0, 0.0]]
    assert lengths(found[1:2]) == [3]


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "key"), (403, "key"), (404, "address"), (400, "model"), (302, "log"), (418, "log")]
)
def test_a_refusal_is_asked_once_and_told_with_a_hint(status: int, hint: str) -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return Answer(status=status, headers={"Location": "/elsewhere"})

    with serving(answer) as url, pytest.raises(ModelError, match=str(status)) as caught:
        embedder(url, key="secret").embed_passages(["x"])

    assert hint in caught.value.hint
    assert [asked.path for asked in heard] == ["/embeddings"]


def test_a_passing_trouble_is_asked_again() -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return by_length(asked) if len(heard) == 3 else Answer(status=(503, 429)[len(heard) - 1])

    with serving(answer) as url:
        found = embedder(url).embed_passages(["abc"])

    assert lengths(found) == [3]


def test_a_lasting_trouble_is_asked_as_often_as_configured() -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return Answer(status=500)

    with serving(answer) as url, pytest.raises(ModelError, match="500"):
        embedder(url, tries=4).embed_passages(["x"])

    assert len(heard) == 4


def test_an_answer_that_breaks_off_is_asked_again_and_then_told() -> None:
    with serving(lambda _: Answer(body=b'{"data"', claims=900)) as url, pytest.raises(ModelError) as caught:
        embedder(url, tries=2).embed_passages(["x"])

    assert url in caught.value.hint


def test_a_server_that_never_answers_is_left_after_the_timeout() -> None:
    over, heard = threading.Event(), list[Asked]()

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        over.wait(300)
        return by_length(asked)

    with serving(answer) as url:
        with pytest.raises(ModelError, match=r"did not answer within 0\.1 s"):
            embedder(url, timeout=0.1, tries=1).embed_queries(["x"])
        over.set()


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_an_answer_that_comes_by_drops_costs_no_more_than_the_deadline(head: bytes) -> None:
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        talk, _ = listener.accept()
        with suppress(OSError), talk:
            talk.sendall(head)
            while not over.wait(0.05):
                talk.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=drip, args=(listener,))
        server.start()
        with pytest.raises(ModelError, match=r"did not answer within 0\.5 s"):  # the drops would never end
            embedder(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=0.5).embed_queries(["x"])
        over.set()
        server.join()


def test_tries_and_pauses_end_with_the_deadline() -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return Answer(status=503)

    with serving(answer) as url, pytest.raises(ModelError, match=r"503|did not answer"):
        embedder(url, timeout=0.5, tries=1000, pause=0.2).embed_queries(["x"])

    assert len(heard) <= 3


# --- a server that is left alone ------------------------------------------------------------


def test_a_server_that_failed_is_left_alone_longer_each_time_and_tried_by_one_question() -> None:
    heard: list[Asked] = []
    now = [0.0]

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return Answer(status=500)

    def asked_at(seconds: float) -> int:
        now[0] = seconds
        with pytest.raises(ModelError, match="500"):
            asking.embed_queries(["x"])
        return len(heard)

    with serving(answer) as url:
        remote = Remote(url=url, model="small", dimensions=2, pause=0.0, tries=1)
        asking = RemoteEmbedder(remote, Breaker(lambda: now[0]))
        counts = [asked_at(second) for second in (0.0, 4.9, 5.0, 14.9, 15.0, 34.9, 35.0)]

    assert counts == [1, 1, 2, 2, 3, 3, 4]


def test_who_asks_while_another_tries_a_server_that_failed_is_refused_at_once() -> None:
    now = [0.0]
    breaker = Breaker(lambda: now[0])
    breaker.failed(ModelError("it is gone", hint="is it up?"))
    now[0] = 6.0

    breaker.require()
    with pytest.raises(ModelError, match="not asked again for 5 s: it is gone") as caught:
        breaker.require()

    assert caught.value.hint == "is it up?"


def test_a_server_that_answers_again_is_trusted_again() -> None:
    now, fine = [0.0], [False]

    def answer(asked: Asked) -> Answer:
        return by_length(asked) if fine[0] else Answer(status=500)

    with serving(answer) as url:
        breaker = Breaker(lambda: now[0])
        asking = RemoteEmbedder(Remote(url=url, model="small", dimensions=2, tries=1), breaker)
        with pytest.raises(ModelError):
            asking.embed_queries(["abc"])
        now[0], fine[0] = 5.0, True
        found = [*asking.embed_queries(["abc"]), *asking.embed_queries(["abcd"])]

    assert lengths(found) == [3, 4]
    assert breaker.error is None


def test_a_refusal_of_one_text_does_not_keep_others_from_being_asked() -> None:
    heard: list[Asked] = []

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        return by_length(asked) if len(heard) > 1 else Answer(status=400)

    with serving(answer) as url:
        asking = embedder(url)
        with pytest.raises(ModelError, match="400"):
            asking.embed_queries(["x"])

        assert lengths(asking.embed_queries(["abc"])) == [3]


def test_a_server_that_is_not_there_is_told_with_its_address() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"

        with pytest.raises(ModelError, match="cannot talk") as caught:
            embedder(url, tries=2).embed_passages(["x"])

    assert url in caught.value.hint


@pytest.mark.case(73)
@pytest.mark.parametrize("count", [1, 3])
def test_other_dimensions_than_configured_are_reported(count: int) -> None:
    rows = {"data": [{"index": 0, "embedding": [1.0] * count}]}

    with serving(answering(rows)) as url, pytest.raises(ModelError, match=f"{count} dimensions where 2"):
        embedder(url).embed_passages(["x"])


@pytest.mark.parametrize(
    "reply",
    [
        [],
        None,
        {"data": []},
        {"data": [{"embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": ["a", "b"]}]},
        {"data": [{"index": 1, "embedding": [1.0, 2.0]}]},
        {"data": [{"index": 0, "embedding": [1.0, float("nan")]}]},
    ],
)
def test_an_answer_of_another_shape_is_an_error_with_a_hint(reply: object) -> None:
    with serving(answering(reply)) as url, pytest.raises(ModelError) as caught:
        embedder(url).embed_passages(["x"])

    assert caught.value.hint


def test_an_answer_that_is_no_json_is_an_error() -> None:
    with serving(lambda _: Answer(body=b"<html>")) as url, pytest.raises(ModelError, match="cannot talk"):
        embedder(url).embed_passages(["x"])


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:80", ""])
def test_only_web_addresses_are_taken(url: str) -> None:
    with pytest.raises(InputError, match="not the address of a server"):
        Remote(url=url, model="small", dimensions=2)


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="too small"):
        Remote(url="http://localhost", model="small", dimensions=0)


def test_the_key_does_not_show_when_the_settings_are_printed() -> None:
    assert "secret" not in repr(Remote(url="http://localhost", model="small", dimensions=2, key="secret"))


def test_the_fingerprint_tells_models_and_dimensions_apart_but_not_addresses() -> None:
    first = embedder("http://one").fingerprint

    others = [{"model": "large"}, {"dimensions": 3}]
    assert embedder("http://two").fingerprint == first == "remote-small-2-56eebd61d8cf"
    assert len({first, *(embedder("http://one", **change).fingerprint for change in others)}) == 3


def test_an_address_chooses_the_server_its_model_and_its_width() -> None:
    remote = read_remote("http://127.0.0.1:9/v1#model=words&dimensions=64", key="k")

    assert (remote.url, remote.model, remote.dimensions, remote.key) == ("http://127.0.0.1:9/v1", "words", 64, "k")


def test_an_address_says_how_long_a_search_waits() -> None:
    remote = read_remote("http://127.0.0.1:9/v1#model=words&dimensions=64&timeout=2.5&batch_timeout=90")

    assert (remote.timeout, remote.batch_timeout) == (2.5, 90.0)
    with pytest.raises(ModelError, match="'soon' is no number of seconds"):
        read_remote("http://127.0.0.1:9/v1#model=words&dimensions=64&timeout=soon")


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "http://h/v1#model=x", "http://h#dimensions=3&model="])
def test_an_address_that_does_not_say_which_model_is_refused(address: str) -> None:
    with pytest.raises(ModelError, match="which model"):
        read_remote(address)


def test_a_recollection_embeds_through_a_server_it_was_given() -> None:
    def answer(asked: Asked) -> Answer:
        texts = json.loads(asked.body)["input"]
        rows = [{"index": at, "embedding": [1.0, float("fox" in text)]} for at, text in enumerate(texts)]
        return Answer(body=json.dumps({"data": rows}).encode())

    with serving(answer) as url, recollect.open(":memory:", model=f"{url}#model=m&dimensions=2") as db:
        db.add("a dog")
        db.add("a fox")

        assert db.search("fox", mode="semantic").hits[0].id == 2


def test_a_search_beside_a_server_that_hangs_waits_once_and_is_answered_by_words() -> None:
    over, heard = threading.Event(), list[Asked]()

    def answer(asked: Asked) -> Answer:
        heard.append(asked)
        over.wait(300)
        return by_length(asked)

    with serving(answer) as url, recollect.open(":memory:", model=f"{url}#model=m&dimensions=2&timeout=0.4") as db:
        db.add("a fox", embed=False)
        replies = [db.search("fox"), db.search("a fox")]
        notice = db.models.notice
        over.set()

    assert [(reply.degraded, reply.hits[0].id) for reply in replies] == [("model_failed", 1)] * 2
    assert len(heard) == 1
    assert notice == ("by words alone: the embedding server did not answer within 0.4 s (is it overloaded, or gone?)")
