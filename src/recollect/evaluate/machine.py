"""What an evaluation ran on, so that its figures can be compared with others."""

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

_CPU: Final = Path("/proc/cpuinfo")


def machine() -> Mapping[str, str]:
    """Return the processor, cores, memory, system, Python and SQLite that are in use."""
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count() or "unknown"),
        "memory": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": _installed("apsw"),
        "recollect": _installed("recollect"),
    }


def _cpu() -> str:
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", _CPU.read_text(encoding="utf-8"), re.MULTILINE)
    except (OSError, UnicodeDecodeError):
        named = None
    return named[1] if named else platform.processor() or platform.machine() or "unknown"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _installed(package: str) -> str:
    """Return the version of *package*; that of apsw begins with the version of its SQLite."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
