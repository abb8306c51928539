"""A guard that no code can pass, Python or native: whoever opens a socket to another machine is ended by the kernel.

Against sockets it is a seccomp filter on the process and all it starts. Only sockets to processes of this machine
(AF_UNIX) are left; those to itself over the network are not, for the kernel does not show a filter where a socket is
going to. Against writes outside a few folders it is Landlock, where the kernel has it.
"""

import ctypes
import os
import platform
import signal
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KILLED = -signal.SIGSYS
"""How the end of a process that the guard ended is told."""

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_KILL, _ALLOW, _NO_SUCH_CALL = 0x8000_0000, 0x7FFF_0000, 0x0005_0000 | 38
_CALL, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_AF_UNIX = 1
_IO_URING_SETUP = 425  # its rings open sockets without a call
_OTHER_CALLS = 0x4000_0000  # x86-64 knows every call by a second number from here on

_MACHINES = {"x86_64": (0xC000_003E, 41), "aarch64": (0xC000_00B7, 198)}
"""The kernel's name of the machine, and its number of the call that makes a socket."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def install() -> None:
    """Put the guard on this process; there is no way to take it off."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES:
        raise OSError(f"there is no guard against sockets on {sys.platform} {platform.machine()}")
    steps = b"".join(_filter(*_MACHINES[platform.machine()]))
    held = ctypes.create_string_buffer(steps, len(steps))
    program = _Program(len(steps) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((_PR_SET_NO_NEW_PRIVS, 1, 0), (_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program))):
        if libc.prctl(*words, 0, 0):
            number = ctypes.get_errno()
            raise OSError(number, f"the kernel refuses a seccomp filter: {os.strerror(number)}")


def _filter(machine: int, socket_call: int) -> Iterator[bytes]:
    """Yield the steps: a jump names how many are passed over if true and if not."""
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IF_EQUAL, machine, 1, 0)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _CALL)
    yield _step(_IF_AT_LEAST, _OTHER_CALLS, 6, 0)
    yield _step(_IF_EQUAL, _IO_URING_SETUP, 4, 0)
    yield _step(_IF_EQUAL, socket_call, 0, 2)
    yield _step(_LOAD, _FIRST_ARGUMENT)
    yield _step(_IF_EQUAL, _AF_UNIX, 0, 2)
    yield _step(_RETURN, _ALLOW)
    yield _step(_RETURN, _NO_SUCH_CALL)
    yield _step(_RETURN, _KILL)


def _step(code: int, number: int, if_true: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_not, number)


# --- files ------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_BENEATH, _ASK_VERSION = 1, 1
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))  # and making and removing things of every kind
_WRITES_OF_VERSION = {2: 1 << 13, 3: _TRUNCATE}  # moving between folders; cutting off


def seal(*folders: Path) -> bool:
    """Let this process, native code too, write only below *folders*; say whether the kernel knows how (Landlock)."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return False
    known = _WRITES | sum(bit for since, bit in _WRITES_OF_VERSION.items() if version >= since)
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(ctypes.c_uint64(known)), ctypes.c_size_t(8), 0)
    for place in (*folders, Path(os.devnull)):
        allowed = known if place.is_dir() else known & (_WRITE_FILE | _TRUNCATE)
        fd = os.open(place, os.O_PATH)
        rule = struct.pack("=Qi", allowed, fd)
        _check(libc.syscall(_ADD_RULE, rules, _RULE_BENEATH, rule, 0))
        os.close(fd)
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)
    return True


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), f"the kernel refuses the rule: {os.strerror(ctypes.get_errno())}")


_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate", "shutil.copyfile", "shutil.move"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """The files that Python code opened for writing, made or renamed since the record was begun."""

    paths: set[str]

    def outside(self, *folders: Path) -> list[str]:
        """Return those that are in none of *folders*."""
        inside = tuple(f"{folder.resolve()}{os.sep}" for folder in folders)
        found = {str(Path(path).resolve()) for path in self.paths if path != os.devnull}
        return sorted(path for path in found if not f"{path}{os.sep}".startswith(inside))


def recorded_writes() -> Writes:
    """Begin a record of what Python code writes to; it cannot be ended."""
    writes = Writes(paths=set())

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        path = arguments[0] if arguments else None
        if isinstance(path, str | bytes | os.PathLike) and (
            event in _CHANGING or (event == "open" and (arguments[2] or 0) & _WRITING)
        ):
            writes.paths.add(os.fsdecode(path))

    sys.addaudithook(hear)
    return writes
