"""Taking things in: parse, chunk, redact, decide what is new, store, embed."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.remember import (
        clean,
        context,
        edit,
        embed,
        failed_imports,
        forgotten,
        import_files,
        ingest,
        redact,
        roots,
    )

__all__ = [
    "clean",
    "context",
    "edit",
    "embed",
    "failed_imports",
    "forgotten",
    "import_files",
    "ingest",
    "redact",
    "roots",
]
__getattr__ = lazily(__name__)
