"""Write what is made from the code: docs/api.md, docs/http.md, the JSON Schema, the man page; --check only looks."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from http_reference import http_reference
from manual import manual_page
from python_methods import async_methods, python_methods
from recollect.surfaces.schema import answers_schema
from reference import reference

ROOT = Path(__file__).parent.parent


def pages() -> Mapping[str, Callable[[], str]]:
    """Return how each page is made, by its path."""
    asynchronous = ROOT / "src/recollect/aio.py"
    return {
        "src/recollect/methods.py": python_methods,
        "src/recollect/aio.py": lambda: async_methods(asynchronous.read_text(encoding="utf-8")),
        "src/recollect/schemas/answers.json": lambda: json.dumps(answers_schema(), ensure_ascii=False, indent=1) + "\n",
        "docs/api.md": reference,
        "docs/http.md": http_reference,  # which tells what the schema says
        "share/man/man1/recollect.1": manual_page,
    }


def main() -> None:
    """Write the pages that are not up to date, or name them."""
    check, stale = "--check" in sys.argv[1:], 0
    for name, make in pages().items():
        path, text = ROOT / name, make()
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name} is out of date; run: make docs\n" if check else f"written: {name}\n")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
