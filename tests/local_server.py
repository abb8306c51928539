"""A real HTTP server on this machine that answers as a test tells it to."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from msgspec import Struct, field


class Asked(Struct, frozen=True, kw_only=True):
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Answer(Struct, frozen=True, kw_only=True):
    """One response; *claims* is the length it promises when that is not what it sends."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    claims: int | None = None


@contextmanager
def serving(answer: Callable[[Asked], Answer]) -> Iterator[str]:
    """Serve on a free port and give the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(b"")

        def do_POST(self) -> None:
            self._reply(self.rfile.read(int(self.headers.get("Content-Length", 0))))

        def _reply(self, body: bytes) -> None:
            given = answer(Asked(path=self.path, headers=dict(self.headers), body=body))
            self.send_response(given.status)
            for name, value in given.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(given.claims or len(given.body)))
            self.end_headers()
            with suppress(ConnectionError):  # who asked may have heard enough
                self.wfile.write(given.body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
