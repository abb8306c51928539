"""The guard around the suite refuses every way to another machine, also in processes that tests start."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from socket_guard import FILE, SocketRefused, is_local

ELSEWHERE = "192.0.2.1"
"""An address that nobody has."""


@pytest.fixture
def attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a record of this test's own, which does not fail it."""
    monkeypatch.setenv(FILE, str(tmp_path / "attempts"))
    return tmp_path / "attempts"


def test_a_socket_to_another_machine_is_refused_and_written_down(attempts: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as talk, pytest.raises(SocketRefused):
        talk.connect((ELSEWHERE, 9))
    with pytest.raises(SocketRefused):
        socket.getaddrinfo("example.invalid", 443)

    assert [line.split()[0] for line in attempts.read_text().splitlines()] == ["socket.connect", "socket.getaddrinfo"]


def test_a_process_that_a_test_starts_is_guarded_too(attempts: Path) -> None:
    script = f"import socket; socket.socket().connect(({ELSEWHERE!r}, 9))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603

    assert done.returncode == 1
    assert "SocketRefused" in done.stderr
    assert attempts.read_text().startswith("socket.connect")


def test_a_test_that_opens_such_a_socket_fails_though_the_error_is_swallowed(tmp_path: Path) -> None:
    test = tmp_path / "test_talking.py"
    test.write_text(
        "import socket\n"
        "def test_it_talks():\n"
        "    try:\n"
        f"        socket.socket().connect(({ELSEWHERE!r}, 9))\n"
        "    except OSError:\n"
        "        pass\n"
    )
    (tmp_path / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())
    (tmp_path / "requirements.toml").write_text("")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", str(test)]

    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603

    assert done.returncode == 1, done.stdout
    assert "sockets to other machines" in done.stdout


@pytest.mark.parametrize("address", ["/run/x", b"\0abstract", ("127.0.0.1", 80), ("::1", 80, 0, 0), ("", 0), (0, 0)])
def test_what_stays_on_the_machine_is_let_through(address: object) -> None:
    assert is_local(address)


@pytest.mark.parametrize("address", [(ELSEWHERE, 80), ("0.0.0.0", 0), ("example.org",), ("fe80::1", 1, 0, 0)])  # noqa: S104
def test_what_leaves_it_is_not(address: object) -> None:
    assert not is_local(address)
