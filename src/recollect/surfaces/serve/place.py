"""Where a server of a store is found: a small file beside the store says how to reach it.

Every command begins here, so only what costs nothing is imported: the socket without its enumerations, no JSON, no
pathlib, no typing.
"""

import os

try:
    import _socket as sockets
except ImportError:  # another Python than CPython
    import socket as sockets  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Connection = sockets.socket
UNIX = getattr(sockets, "AF_UNIX", sockets.AF_INET)
"""Socket files, where the system has them."""
LONGEST_SOCKET = 100
"""How many characters the path of a socket may have, somewhat below what systems allow."""
SECONDS = 2.0
"""How long to wait for a server to take a connection."""
HEAD = 5
"""How many bytes stand before a part of an answer: its kind, and its length in four."""


class Place:
    """How to reach the server of a store: a socket file, or a port of loopback where there are none."""

    __slots__ = ("http", "pid", "port", "socket", "token", "version")

    def __init__(
        self, *, pid: int, version: str, socket: str = "", port: int = 0, token: str = "", http: str = ""
    ) -> None:
        self.pid, self.version, self.socket = pid, version, socket
        self.port, self.token, self.http = port, token, http

    def written(self) -> str:
        """Return the lines of the file that says so."""
        return "".join(f"{name}={getattr(self, name)}\n" for name in self.__slots__)


def place_path(db: str) -> str:
    """Return the path of the file that says where the server of *db* is."""
    if "://" not in db:
        return f"{os.path.abspath(os.path.expanduser(db))}.serve"  # noqa: PTH100, PTH111  (pathlib costs a third)
    import hashlib  # noqa: PLC0415  (only stores elsewhere need it)

    from recollect.settings import home_folder  # noqa: PLC0415

    return str(home_folder() / f"{hashlib.sha256(db.encode()).hexdigest()[:16]}.serve")


def place_file(db: str) -> "Path":
    """Return the file that says where the server of *db* is."""
    from pathlib import Path  # noqa: PLC0415

    return Path(place_path(db))


def read_place(db: str) -> Place | None:
    """Return where the server of *db* says it is; None where none ran, or what it wrote cannot be read."""
    path = place_path(db)
    try:
        if hasattr(os, "getuid") and os.stat(path).st_uid != os.getuid():  # noqa: PTH116
            return None  # somebody else's word
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            told = dict(line.rstrip("\n").split("=", 1) for line in file)
        pid, port = int(told.pop("pid")), int(told.pop("port"))
        return Place(pid=pid, port=port, **told)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def connect(place: Place) -> Connection | None:
    """Return a connection to the server at *place*; None where nobody is there any more."""
    reached = Connection(UNIX if place.socket else sockets.AF_INET, sockets.SOCK_STREAM)
    reached.settimeout(SECONDS)
    try:
        reached.connect(place.socket or ("127.0.0.1", place.port))
    except OSError:
        reached.close()
        return None
    reached.settimeout(None)
    return reached


def hail(db: str, header: dict[str, object], *, version: str) -> Connection | None:
    """Return a connection to the server of *db* that was told *header*; None where there is none of this version."""
    place = read_place(db)
    if place is None or place.version != version:
        return None
    reached = connect(place)
    try:
        if reached is not None:
            reached.sendall(f"{as_json({**header, 'token': place.token})}\n".encode())
    except OSError:
        return None
    return reached


def ask(db: str, header: dict[str, object], *, version: str) -> dict[str, object] | None:
    """Return what the server of *db* answers to *header*, one line each; None where it cannot be asked."""
    import json  # noqa: PLC0415  (what is asked often is answered in parts)

    reached = hail(db, header, version=version)
    if reached is None:
        return None
    parts = []
    try:
        while part := reached.recv(65536):
            parts.append(part)
        told = json.loads(b"".join(parts))
    except (OSError, ValueError):
        return None
    finally:
        reached.close()
    return told if isinstance(told, dict) else None


def parts_of(reached: Connection) -> "Iterator[tuple[str, bytes]]":
    """Yield the parts of an answer, each with its kind, until the server ends it."""
    waiting = b""
    while True:
        while len(waiting) >= HEAD and len(waiting) >= (end := HEAD + int.from_bytes(waiting[1:HEAD], "big")):
            yield waiting[:1].decode(), waiting[HEAD:end]
            waiting = waiting[end:]
        try:
            more = reached.recv(65536)
        except OSError:
            return
        if not more:
            return
        waiting += more


def is_accepted(reached: Connection) -> bool:
    """Tell whether the server takes a session: it says so first, in a part without content."""
    said = b""
    try:
        while len(said) < HEAD and (more := reached.recv(HEAD - len(said))):
            said += more
    except OSError:
        return False
    return said == part("y")


def part(kind: str, content: bytes = b"") -> bytes:
    """Return a part of an answer as it is sent."""
    return kind.encode() + len(content).to_bytes(4, "big") + content


# --- JSON -----------------------------------------------------------------------------------


def as_json(value: object) -> str:
    """Return *value* as JSON in ASCII: texts, whole numbers, lists and mappings of them."""
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{as_json(name)}:{as_json(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(as_json, value))}]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)


def _escaped(character: str) -> str:
    if " " <= character <= "~" and character not in '"\\':
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
