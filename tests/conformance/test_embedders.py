"""What every embedder promises, asked of each of them; and what only the real MiniLM can show."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import mul
from pathlib import Path
from threading import Thread

import pytest

from recollect.embedders.cached import CachedEmbedder
from recollect.embedders.contract import Embedder
from recollect.embedders.hashing import HashingEmbedder
from recollect.embedders.install import install, verify
from recollect.embedders.models import load
from recollect.embedders.remote import Remote, RemoteEmbedder
from recollect.errors import ModelError

REPOSITORY = Path(__file__).resolve().parents[2]
TEXTS = [
    "The ferry leaves at nine.",
    "A ferry, leaving at nine o'clock",
    "def ferry(hour: int) -> bool:\n    return hour == 9",
    "x",
    "Rain. " * 200,
    "Der Zug fährt um neun",
    "船は九時に出ます",
    "🚢 9:00",
]
STRANGE = [
    "",
    "   ",
    "\n\t",
    "\0",
    "a\0b",
    "\ud800",
    "a\udfffb",
    "\u200b",
    "[CLS] [SEP] [MASK]",
    "\ufffe\uffff",
    "." * 3000,
]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return how near two vectors of length one are."""
    return sum(map(mul, one, other))


@pytest.fixture(scope="session")
def models() -> Path:
    """Return a folder with the real MiniLM in it, installed as a user installs it."""
    folder = Path(os.environ.get("RECOLLECT_MODELS") or REPOSITORY / ".models")
    install("minilm", folder)
    return folder


@contextmanager
def hashing_server() -> Iterator[str]:
    """Serve the hashing embedder in the OpenAI shape, on this machine."""
    model = HashingEmbedder(dimensions=64)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            rows = [{"index": at, "embedding": list(v)} for at, v in enumerate(model.embed_passages(texts))]
            body = json.dumps({"data": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def remote(_: Path) -> Iterator[Embedder]:
    with hashing_server() as url:
        yield RemoteEmbedder(Remote(url=url, model="words", dimensions=64, batch=3))


EMBEDDERS: dict[str, Callable[[Path], AbstractContextManager[Embedder]]] = {
    "cached": lambda _: nullcontext(CachedEmbedder(HashingEmbedder())),
    "hashing": lambda _: nullcontext(HashingEmbedder()),
    "minilm": lambda folder: nullcontext(load("minilm", folder)),
    "remote": remote,
}


@pytest.fixture(scope="module", params=sorted(EMBEDDERS))
def embedder(request: pytest.FixtureRequest, models: Path) -> Iterator[Embedder]:
    with EMBEDDERS[request.param](models) as opened:
        yield opened


# --- every embedder -------------------------------------------------------------------------


def test_equal_questions_give_equal_bytes(embedder: Embedder) -> None:
    assert embedder.embed_passages(TEXTS) == embedder.embed_passages(TEXTS)
    assert embedder.embed_queries(TEXTS) == embedder.embed_queries(TEXTS)


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    together = embedder.embed_passages(TEXTS)

    alone = [embedder.embed_passages([text])[0] for text in TEXTS]

    assert all(list(a) == pytest.approx(list(b), abs=2e-6) for a, b in zip(together, alone, strict=True))


def test_vectors_come_in_the_order_of_the_texts(embedder: Embedder) -> None:
    forward, backward = embedder.embed_passages(TEXTS), embedder.embed_passages(TEXTS[::-1])

    assert all(cosine(a, b) > 0.99999 for a, b in zip(forward, backward[::-1], strict=True))
    assert len({vector.tobytes() for vector in forward}) == len(TEXTS)


def test_vectors_are_float32_of_the_dimension_that_is_told(embedder: Embedder) -> None:
    vectors = [*embedder.embed_passages(TEXTS), *embedder.embed_queries(TEXTS)]

    assert {vector.typecode for vector in vectors} == {"f"}
    assert {len(vector) for vector in vectors} == {embedder.dimensions}
    assert all(memoryview(vector).nbytes == 4 * embedder.dimensions for vector in vectors)


@pytest.mark.req("C-12")
def test_vectors_have_length_one(embedder: Embedder) -> None:
    found = [sum(x * x for x in vector) for vector in embedder.embed_passages(TEXTS)]

    assert found == pytest.approx([1.0] * len(TEXTS), abs=1e-5)


def test_no_text_gives_no_vector(embedder: Embedder) -> None:
    assert embedder.embed_passages([]) == []
    assert embedder.embed_queries([]) == []


def test_no_text_is_too_strange(embedder: Embedder) -> None:
    vectors = [*embedder.embed_passages(STRANGE), *embedder.embed_queries(STRANGE)]

    lengths = [sum(x * x for x in vector) for vector in vectors]
    assert all(length == 0.0 or length == pytest.approx(1.0, abs=1e-5) for length in lengths)
    for text in STRANGE:
        assert embedder.count_pieces(text) >= 0
        assert isinstance(embedder.covers(text), bool)
        assert isinstance(embedder.knows_word(text), bool)
        assert [text[start:end] for start, end in embedder.passages(text)].count("") == 0


def test_like_texts_are_closer_than_unlike_ones(embedder: Embedder) -> None:
    (query,) = embedder.embed_queries(["When does the ferry leave?"])

    near, far = embedder.embed_passages(["The ferry leaves at nine.", "Bees make honey in wax cells"])

    assert cosine(query, near) > cosine(query, far) + 0.2


def test_the_fingerprint_stays_and_names_something(embedder: Embedder) -> None:
    before = embedder.fingerprint

    embedder.embed_passages(TEXTS)

    assert embedder.fingerprint == before
    assert before.isprintable()
    assert before == before.strip() != ""


def test_every_passage_fits_and_nothing_is_lost(embedder: Embedder) -> None:
    text = "\n\n".join(f"Chapter {n}. " + "The keeper lit the lamp; it burned, dimly. " * (n * 3) for n in range(1, 9))

    spans = embedder.passages(text)

    edges = [0, *(edge for span in spans for edge in span), len(text)]
    assert edges == sorted(edges)
    assert "".join(text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)).strip() == ""
    assert len(spans) > 3
    assert max(embedder.count_pieces(text[start:end]) for start, end in spans) <= 256


def test_a_short_text_is_one_passage_and_a_blank_one_none(embedder: Embedder) -> None:
    assert embedder.passages(" one line ") == [(1, 9)]
    assert embedder.passages(" \n") == []


def test_passages_can_be_made_smaller(embedder: Embedder) -> None:
    text = "One bell rings. " * 60

    spans = embedder.passages(text, most=40)

    assert max(embedder.count_pieces(text[start:end]) for start, end in spans) <= 40
    assert all(text[start:end].endswith("rings.") for start, end in spans)


def test_english_is_covered(embedder: Embedder) -> None:
    assert embedder.covers("The ferry leaves at nine.")


@pytest.mark.parametrize("name", sorted(EMBEDDERS))
def test_a_closed_embedder_says_so(models: Path, name: str) -> None:
    with EMBEDDERS[name](models) as embedder:
        embedder.embed_queries(["x"])

        embedder.close()

        for ask in (embedder.embed_queries, embedder.embed_passages):
            with pytest.raises(ModelError, match="closed"):
                ask(["x"])


# --- MiniLM ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm(models: Path) -> Embedder:
    return load("minilm", models)


@pytest.mark.req("C-12")
def test_minilm_gives_the_reference_vectors(minilm: Embedder, shared_data: Path) -> None:
    lines = (shared_data / "minilm_reference.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]

    vectors = minilm.embed_passages([row["text"] for row in rows])

    assert len(rows) == 46
    assert minilm.dimensions == 384
    assert min(cosine(v, row["vector"]) for v, row in zip(vectors, rows, strict=True)) >= 0.999
    assert (
        max(abs(a - b) for v, row in zip(vectors, rows, strict=True) for a, b in zip(v, row["vector"], strict=True))
        < 1e-5
    )


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("where do I leave my bicycle?", "The shed behind the house has racks for cyclists", "I never leave my coffee"),
        ("the baby will not sleep", "Infants calm down in a dark, quiet room", "The baby grand will be tuned"),
        ("cheap flights", "Budget airlines sell tickets for little money", "Steep flights of stairs"),
    ],
)
def test_minilm_finds_what_is_meant_and_not_what_is_spelt(minilm: Embedder, query: str, near: str, far: str) -> None:
    (asked,) = minilm.embed_queries([query])

    meant, other = minilm.embed_passages([near, far])

    assert cosine(asked, meant) > cosine(asked, other)


@pytest.mark.parametrize("text", ["船は九時に出ます", "渡轮九点出发", "배는 아홉 시에 떠난다"])
def test_minilm_says_that_it_does_not_know_cjk(minilm: Embedder, text: str) -> None:
    assert not minilm.covers(text)


def test_a_model_with_a_vocabulary_knows_its_words(minilm: Embedder) -> None:
    words = ("reach", "hook", "Tokyo", "databse", "gardne")

    known = [word for word in words if minilm.knows_word(word)]

    assert known == ["reach", "hook", "Tokyo"]


def test_minilm_is_whole_on_disk(models: Path) -> None:
    assert verify("minilm", models) == ()


def test_a_passage_of_minilm_cut_inside_a_word_still_fits(minilm: Embedder) -> None:
    text = "zqxj" * 24 + ("-" + "qzxv" * 24) * 12

    spans = minilm.passages(text)

    assert "".join(text[start:end] for start, end in spans) == text
    assert max(minilm.count_pieces(text[start:end]) for start, end in spans) <= 256


@pytest.mark.req("C-12")
def test_minilm_embeds_where_no_network_can_be_reached(models: Path) -> None:
    script = """
import sys
from pathlib import Path

def forbid(event, _):
    if event.startswith(("socket.", "urllib.", "http.", "subprocess.", "os.system")):
        raise OSError(f"no network here: {event}")

sys.addaudithook(forbid)
try:
    import socket
    socket.create_connection(("127.0.0.1", 9))
except OSError as error:
    assert "no network here" in str(error), error

from recollect.embedders.models import load
embedder = load("minilm", Path(sys.argv[1]))
print(len(embedder.embed_queries(["how do we ship?"])[0]), len(embedder.embed_passages(["We deploy."] * 3)))
"""

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script, str(models)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout.split()) == (0, ["384", "3"]), done.stderr
