"""A PostgreSQL cluster that Patroni watches: etcd and some nodes, one of which takes writes, all on loopback.

The Debian packages are unpacked into a folder of this run; nothing is installed. Patroni runs with Debian's Python.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from common import ROOT

sys.path.insert(0, str(ROOT / "tests"))
from postgres_server import PATIENCE, _end_with_us, _programs, _unprivileged

PYTHON = "/usr/bin/python3"
"""The Python that Debian's psycopg2 is compiled for."""
LEASE, LOOK = 20, 2
"""For how many seconds a node is the primary without saying so again (Patroni's least), and how often it looks."""
IS_PRIMARY = "select not pg_is_in_recovery()"
IS_CONFIRMED = "select exists (select 1 from pg_stat_replication where sync_state = 'sync')"


@dataclass(slots=True, kw_only=True)
class Node:
    """One PostgreSQL server and the Patroni that watches it."""

    name: str
    port: int
    settings: Path
    data: Path
    patroni: "subprocess.Popen[bytes] | None" = None

    @property
    def address(self) -> str:
        """Where the server is."""
        return f"host=127.0.0.1 port={self.port} user=recollect dbname=postgres connect_timeout=2"

    def says(self, statement: str) -> bool:
        """Tell whether a statement gives true; a server that does not answer says nothing."""
        with suppress(psycopg.Error), psycopg.connect(self.address, autocommit=True) as db:
            return db.execute(statement).fetchone() == (True,)
        return False

    def kill(self) -> None:
        """End the server and its Patroni at once, as a machine that loses its power."""
        if self.patroni is not None:
            self.patroni.kill()
            self.patroni.wait()
            self.patroni = None
        with suppress(OSError, ValueError):
            os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)


class Cluster:
    """Two nodes and an etcd; commits wait for the other node (`synchronous_mode`)."""

    def __init__(self, packages: Path, **parameters: str) -> None:
        self.folder, self._user = Path(tempfile.mkdtemp(prefix="rpat")), _unprivileged()
        self.folder.chmod(0o755)
        self._programs = self.folder / "programs"
        for each in sorted(packages.glob("*.deb")):
            subprocess.run(["dpkg", "-x", each, self._programs], check=True)  # noqa: S607
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        keeper, peer, *ports = free_ports(6)
        at, between = f"http://127.0.0.1:{keeper}", f"http://127.0.0.1:{peer}"
        self._etcd = self._start(
            [
                *(self._programs / "usr/bin/etcd", "--name", "one", "--data-dir", self.folder / "etcd"),
                *("--listen-client-urls", at, "--advertise-client-urls", at, "--listen-peer-urls", between),
                *("--initial-advertise-peer-urls", between, "--initial-cluster", f"one={between}"),
            ],
            "etcd",
        )
        self.nodes = [
            self._node(f"node{which}", ports[which], ports[2 + which], keeper, parameters) for which in (0, 1)
        ]
        for node in self.nodes:
            self.start(node)
            self.wait(lambda node=node: node.says("select true"))
        self.wait(lambda: self.primary.says(IS_CONFIRMED))

    def _node(self, name: str, port: int, rest: int, keeper: int, parameters: dict[str, str]) -> Node:
        """Return a node; its settings are JSON, which is YAML."""
        data, trusted = (
            self.folder / name,
            ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
        )
        told = {
            "scope": "recollect",
            "name": name,
            "restapi": {"listen": f"127.0.0.1:{rest}", "connect_address": f"127.0.0.1:{rest}"},
            "etcd3": {"hosts": f"127.0.0.1:{keeper}"},
            "bootstrap": {
                "dcs": {
                    "ttl": LEASE,
                    "loop_wait": LOOK,
                    "retry_timeout": 3,
                    "synchronous_mode": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": {**parameters, "wal_log_hints": "on"}},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{port}",
                "connect_address": f"127.0.0.1:{port}",
                "data_dir": str(data),
                "bin_dir": str(_programs()),
                "pgpass": str(self.folder / f"{name}.pgpass"),
                "pg_hba": trusted,
                "authentication": {"superuser": {"username": "recollect"}, "replication": {"username": "follower"}},
                "parameters": {"unix_socket_directories": str(self.folder)},
            },
        }
        settings = self.folder / f"{name}.json"
        settings.write_text(json.dumps(told), encoding="utf-8")
        return Node(name=name, port=port, settings=settings, data=data)

    def _start(self, command: list[object], name: str) -> "subprocess.Popen[bytes]":
        packages = self._programs / "usr/lib/python3/dist-packages"
        return subprocess.Popen(
            [str(each) for each in command],
            stdout=(self.folder / f"{name}.log").open("ab"),
            stderr=subprocess.STDOUT,
            user=None if self._user is None else self._user.pw_name,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(packages), "HOME": str(self.folder)},
            preexec_fn=_end_with_us,  # noqa: PLW1509
        )

    def start(self, node: Node) -> None:
        """Let Patroni start a node."""
        node.patroni = self._start([PYTHON, self._programs / "usr/bin/patroni", node.settings], node.name)

    def wait(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        until = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > until:
                told = "\n".join(each.read_text()[-2_000:] for each in sorted(self.folder.glob("*.log")))
                raise TimeoutError(f"the cluster did not come to that:\n{told}")
            time.sleep(0.1)

    @property
    def primary(self) -> Node:
        """The node that takes writes, once there is one."""
        self.wait(lambda: any(each.says(IS_PRIMARY) for each in self.nodes))
        return next(each for each in self.nodes if each.says(IS_PRIMARY))

    @property
    def url(self) -> str:
        """Return the address of a store on all nodes."""
        hosts = ",".join(f"127.0.0.1:{each.port}" for each in self.nodes)
        return f"postgresql://recollect@{hosts}/postgres?patience={3 * LEASE}"

    def close(self) -> None:
        """End all of it."""
        for each in self.nodes:
            each.kill()
        self._etcd.kill()
        self._etcd.wait()
        time.sleep(0.5)
        shutil.rmtree(self.folder, ignore_errors=True)


def free_ports(many: int) -> list[int]:
    """Return ports of loopback that nobody has."""
    with ExitStack() as stack:
        found = [stack.enter_context(closing(socket.socket())) for _ in range(many)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]
