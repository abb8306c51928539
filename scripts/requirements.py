#!/usr/bin/env python3
"""Print each requirement with the tests that prove it, or "open".

    python scripts/requirements.py build/proven-test.json build/proven-full.json

Each file is what `pytest --requirements=FILE` wrote: id -> the tests that passed.
"""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

LEDGER = Path(__file__).parents[1] / "tests" / "requirements.toml"


def lines(ledger: Mapping[str, Mapping[str, object]], proven: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield one line per id, one per test below it, and the count at the end."""
    for name, row in ledger.items():
        tests = proven.get(name, ())
        yield f"{name}  {row['title']} (part {row['part']}): {len(tests) or 'open'}"
        yield from (f"        {test}" for test in tests)
    done = sum(bool(proven.get(name)) for name in ledger)
    yield f"{done} of {len(ledger)} requirements proven, {len(ledger) - done} open"


def main(arguments: Sequence[str]) -> int:
    """Print the report on the files named in *arguments*; return the exit code."""
    missing = [name for name in arguments if not Path(name).is_file()]
    if missing or not arguments:
        sys.stderr.write(f"no results in {', '.join(missing) or 'no file'}; run make test and make test-all first\n")
        return 2
    ledger = tomllib.loads(LEDGER.read_text(encoding="utf-8"))
    parts = [json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments]
    proven = {name: [test for part in parts for test in part.get(name, ())] for name in ledger}
    sys.stdout.writelines(f"{line}\n" for line in lines(ledger, proven))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
