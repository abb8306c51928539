"""Print how many files and lines of code each package has; docstrings, comments and blank lines do not count."""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_IGNORED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def code_lines(text: str) -> int:
    """Count the lines of *text* that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _IGNORED and token.string:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


GENERATED = ("methods.py",)
"""Files that `make docs` writes: they are not counted."""


def print_sizes(title: str, folder: Path) -> None:
    """Print one line for each package in *folder*, largest first, and their sum."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for path in (each for each in folder.rglob("*.py") if each.name not in GENERATED):
        parts = path.relative_to(folder).parts
        package = parts[0] if len(parts) > 1 else "."
        files[package] += 1
        lines[package] += code_lines(path.read_text(encoding="utf-8"))
    print(f"{title:<24}{'files':>8}{'code lines':>12}")
    for package, count in lines.most_common():
        print(f"  {package:<22}{files[package]:>8,}{count:>12,}")
    print(f"  {'all':<22}{files.total():>8,}{lines.total():>12,}\n")


if __name__ == "__main__":
    print_sizes("src/recollect", ROOT / "src" / "recollect")
    print_sizes("tests", ROOT / "tests")
