"""How far the benchmark is: on a terminal one line that changes, elsewhere nothing."""

import sys


def say(what: str) -> None:
    """Show *what* is being done."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{what}"[:150])
        sys.stderr.flush()


def clear() -> None:
    """Leave the line empty."""
    say("")
