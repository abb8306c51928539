"""Hand what comes on standard input to a connection, and what comes back to standard output. Only light imports."""

import os
import signal
import sys
import threading
import time

from recollect.surfaces.serve.place import Connection

SENDING = 1
"""The half of a connection that sends, as every system numbers it."""
PARENT_SECONDS = 2.0
"""How often to look whether the program that started this one is still there."""


def relay(reached: Connection) -> None:
    """Pass everything on, both ways, until one end closes, a signal says so or the parent dies."""
    leave_in_time()
    threading.Thread(target=_send, args=(reached,), daemon=True).start()
    try:
        while part := reached.recv(65536):
            view = memoryview(part)
            while view:
                view = view[os.write(1, view) :]
    except OSError:
        pass
    os._exit(0)


def _send(reached: Connection) -> None:
    """Pass standard input on; its end is the end of the session."""
    try:
        while part := os.read(0, 65536):
            reached.sendall(part)
        reached.shutdown(SENDING)
    except OSError:
        os._exit(0)


def leave_in_time() -> None:
    """Let the process end by a signal, and with its parent."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGHUP) if sys.platform != "win32" else (signal.SIGTERM,):
        signal.signal(number, lambda *_: os._exit(0))


def _leave_with_parent() -> None:
    """End when the parent does: a wrapper may hold standard input open for ever."""
    parent = os.getppid()
    while os.getppid() == parent and parent != 1:
        time.sleep(PARENT_SECONDS)
    if parent == 1 and sys.platform != "win32":
        return  # started by init itself, as a container does
    os._exit(0)
