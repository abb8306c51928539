"""Loaded by every Python process that a test starts: puts the guard against sockets on it."""

import os
import sys
from pathlib import Path

if os.environ.get("TESTS_SOCKETS_FILE"):
    sys.path.append(str(Path(__file__).parents[1]))
    import socket_guard

    sys.path.pop()
    socket_guard.install()
