"""A client of the server of a store: HTTP over a Unix socket, whose address stands in a small file next to the store.

Every hook begins here, so almost nothing is imported: `http.client` alone costs three times the start of Python, for
its modules of e-mail and TLS. A request is HTTP/1.0, so the body of a response ends with the connection.
"""

import os

try:
    import _socket as sockets
except ImportError:  # another Python than CPython
    import socket as sockets  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Connection = sockets.socket
UNIX = getattr(sockets, "AF_UNIX", sockets.AF_INET)
CONNECT_TIMEOUT_SECONDS = 2.0
SETTINGS_HEADER, PROJECT_HEADER, SESSION_HEADER = "recollect-settings", "recollect-project", "recollect-session"
FOLDER_HEADER, READS_HEADER = "recollect-folder", "recollect-reads"
"""Headers that only the socket knows: how the caller would open the store, its project, its session in the recall log,
the folder it works in, and whether it reads all projects.

Their values are encoded by %XX.
"""
NOTICE_HEADER = "recollect-notice"
"""Of a response: what went wrong with the model meanwhile."""
MSGPACK = "application/msgpack"
"""The media type of a reply with all members of its type, for clients of the same version."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


class ConnectionLost(OSError):
    """Say that the server ended before its response did."""


# --- where the server is --------------------------------------------------------------------


class ServerAddress:
    """How to reach the server of a store: a socket file, or a port of loopback and a key where there are none."""

    __slots__ = ("http", "key", "pid", "port", "socket", "version")

    def __init__(
        self, *, pid: int, version: str, socket: str = "", port: int = 0, key: str = "", http: str = ""
    ) -> None:
        self.pid, self.version, self.socket = pid, version, socket
        self.port, self.key, self.http = port, key, http

    def text(self) -> str:
        """Return the content of the file that holds the address."""
        return "".join(f"{name}={getattr(self, name)}\n" for name in self.__slots__)


def address_path(db: str) -> str:
    """Return the path of the file that holds the address of the server of *db*."""
    if "://" not in db:
        return f"{os.path.abspath(os.path.expanduser(db))}.serve"  # noqa: PTH100, PTH111  (pathlib is slow to import)
    import hashlib  # noqa: PLC0415  (only stores elsewhere need it)

    from recollect.settings import home_folder  # noqa: PLC0415

    return str(home_folder() / f"{hashlib.sha256(db.encode()).hexdigest()[:16]}.serve")


def address_file(db: str) -> "Path":
    """Return the file that holds the address of the server of *db*."""
    from pathlib import Path  # noqa: PLC0415

    return Path(address_path(db))


def read_address(db: str) -> ServerAddress | None:
    """Return the address of the server of *db*; None if none ran, or if the file is not ours or cannot be read."""
    path = address_path(db)
    try:
        if hasattr(os, "getuid") and os.stat(path).st_uid != os.getuid():  # noqa: PTH116
            return None
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            values = dict(line.rstrip("\n").split("=", 1) for line in file)
        pid, port = int(values.pop("pid")), int(values.pop("port"))
        return ServerAddress(pid=pid, port=port, **values)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def find_server(db: str, *, version: str) -> ServerAddress | None:
    """Return the address of the server of *db*, if one of this *version* wrote it."""
    address = None if db == ":memory:" else read_address(db)
    return address if address is not None and address.version == version else None


# --- requests -------------------------------------------------------------------------------


class Exchange:
    """A request that was sent, and its response. As a context manager it closes the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._rest = connection, b""
        self.status = 0
        self.headers: dict[str, str] = {}

    def __enter__(self) -> "Exchange":  # noqa: PYI034  (typing is slow to import)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def receive(self) -> "Exchange":
        """Wait for the status and the headers of the response."""
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._part() or _lost()
        head, _, self._rest = head.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return self

    def parts(self) -> "Iterator[bytes]":
        """Yield the body of the response as it comes."""
        part = self._rest or self._part()
        while part:
            yield part
            part = self._part()

    def body(self) -> bytes:
        """Return the whole body of the response."""
        body = b"".join(self.parts())
        if len(body) < int(self.headers.get("content-length", 0)):
            _lost()
        return body

    def _part(self) -> bytes:
        try:
            return self._connection.recv(65536)
        except OSError as error:
            raise ConnectionLost from error


def _lost() -> bytes:
    raise ConnectionLost


def send(
    address: ServerAddress, method: str, path: str, *, body: bytes = b"", headers: "Mapping[str, str] | None" = None
) -> Exchange | None:
    """Send a request to the server at *address*; None if nobody listens there."""
    connection = connect(address)
    if connection is None:
        return None
    given = {"host": "localhost", "content-length": str(len(body)), **(headers or {})}
    if address.key:
        given["authorization"] = f"Bearer {address.key}"
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    try:
        connection.sendall(f"{method} {path} HTTP/1.0\r\n{head}\r\n".encode("latin-1") + body)
    except OSError:
        connection.close()
        return None  # it reads a request to its end before it does anything
    return Exchange(connection)


def connect(address: ServerAddress) -> Connection | None:
    """Return a connection to the server at *address*; None if nobody listens there."""
    connection = Connection(UNIX if address.socket else sockets.AF_INET, sockets.SOCK_STREAM)
    connection.settimeout(CONNECT_TIMEOUT_SECONDS)
    try:
        connection.connect(address.socket or ("127.0.0.1", address.port))
    except OSError:
        connection.close()
        return None
    connection.settimeout(None)
    return connection


def encoded(text: str) -> str:
    """Return *text* by %XX, as a header or an address may hold it."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def settings_header(values: "Mapping[str, str]") -> dict[str, str]:
    """Return the header that says how the caller would open the store."""
    return {SETTINGS_HEADER: "&".join(f"{name}={encoded(value)}" for name, value in values.items())} if values else {}
