"""Where a server of a store is found: a small file beside the store says how to reach it. Only light imports here."""

import json
import os
import socket
from pathlib import Path
from typing import NamedTuple

LONGEST_SOCKET = 100
"""How many characters the path of a socket may have, somewhat below what systems allow."""
SECONDS = 2.0
"""How long to wait for a server to take a connection."""


class Place(NamedTuple):
    """How to reach the server of a store."""

    pid: int
    version: str
    socket: str = ""
    port: int = 0
    """The port on loopback, where there are no socket files."""
    token: str = ""
    http: str = ""
    """The address of its HTTP server, if it has one."""


def place_file(db: str) -> Path:
    """Return the file that says where the server of *db* is."""
    if "://" not in db:
        return Path(f"{Path(db).expanduser().absolute()}.serve")
    import hashlib  # noqa: PLC0415  (only stores elsewhere need it)

    from recollect.settings import home_folder  # noqa: PLC0415

    return home_folder() / f"{hashlib.sha256(db.encode()).hexdigest()[:16]}.serve"


def read_place(db: str) -> Place | None:
    """Return where the server of *db* says it is; None where none ran, or what it wrote cannot be read."""
    path = place_file(db)
    try:
        if path.stat().st_uid != os.getuid() if hasattr(os, "getuid") else False:
            return None  # somebody else's word
        told = json.loads(path.read_text(encoding="utf-8"))
        return Place(**{name: told[name] for name in Place._fields if name in told})
    except (OSError, ValueError, TypeError):
        return None


def connect(place: Place) -> socket.socket | None:
    """Return a connection to the server at *place*; None where nobody is there any more."""
    unix = bool(place.socket)
    reached = socket.socket(socket.AF_UNIX if unix else socket.AF_INET, socket.SOCK_STREAM)
    reached.settimeout(SECONDS)
    try:
        reached.connect(place.socket if unix else ("127.0.0.1", place.port))
    except OSError:
        reached.close()
        return None
    reached.settimeout(None)
    return reached


def hail(db: str, header: dict[str, object], *, version: str) -> socket.socket | None:
    """Return a connection to the server of *db* that was told *header*; None where there is none of this version."""
    place = read_place(db)
    if place is None or place.version != version:
        return None
    reached = connect(place)
    if reached is not None:
        reached.sendall(json.dumps({**header, "token": place.token}).encode() + b"\n")
    return reached


def ask(db: str, header: dict[str, object], *, version: str) -> dict[str, object] | None:
    """Return what the server of *db* answers to *header*, one line each; None where it cannot be asked."""
    reached = hail(db, header, version=version)
    if reached is None:
        return None
    with reached:
        parts = []
        try:
            while part := reached.recv(65536):
                parts.append(part)
        except OSError:
            return None
    try:
        told = json.loads(b"".join(parts))
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
