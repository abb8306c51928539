"""Import an uploaded file: read as `import` reads it, stored under its own name; the file itself is not kept."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import parse_qs

from msgspec.structs import replace
from starlette.requests import Request

from recollect.errors import InputError
from recollect.operations.rights import ADDS
from recollect.recollection import Recollection
from recollect.remember.formats import BY_NAME, format_of, read_file
from recollect.surfaces.serve.dispatcher import Caller, Dispatcher
from recollect.surfaces.serve.incoming import read_body
from recollect.surfaces.serve.problems import HttpError

FILE: Final = "application/octet-stream"
MAX_FILE_BYTES: Final = 32 * 1024 * 1024
UPLOAD_TIMEOUT_SECONDS: Final = 120.0
MAX_UPLOADS: Final = 8
MAX_UPLOADS_PER_CALLER: Final = 4


class Uploads:
    """The running uploads. Their number is limited, because each file is held in memory."""

    def __init__(self) -> None:
        self._by_caller: Counter[str] = Counter()

    @contextmanager
    def one(self, caller: str) -> Iterator[None]:
        """Count one more upload of *caller* until the end of the block; HttpError if there are too many."""
        if self._by_caller.total() >= MAX_UPLOADS or self._by_caller[caller] >= MAX_UPLOADS_PER_CALLER:
            raise HttpError("busy", "too many files are being received", hint="wait a moment")
        self._by_caller[caller] += 1
        try:
            yield
        finally:
            self._by_caller[caller] -= 1


async def received(request: Request) -> tuple[str, str | None, bytes]:
    """Return the name, the project and the bytes of the file in *request*."""
    asked = parse_qs(request.scope["query_string"].decode("latin-1"))
    name = PurePosixPath(asked.get("name", [""])[0].replace("\\", "/")).name
    if not name or name in {".", ".."} or len(name.encode()) > 200 or "\0" in name:
        raise InputError("the file has no name", hint="give it in the address: ?name=notes.md")
    body = await read_body(request.receive, UPLOAD_TIMEOUT_SECONDS, max_bytes=MAX_FILE_BYTES)
    return name, asked.get("project", [None])[0], body


def import_upload(
    dispatcher: Dispatcher, caller: Caller, name: str, project: str | None, body: bytes
) -> dict[str, Any]:
    """Store the memories in the file *name*; return the counts as `import` does."""

    def work(db: Recollection) -> dict[str, Any]:
        return _import(db if project is None else db.in_project(project), caller, name, body)

    return dispatcher.run("import", ADDS, {"project": project}, caller, work)


def _import(db: Recollection, caller: Caller, name: str, body: bytes) -> dict[str, Any]:
    with TemporaryDirectory(prefix="recollect-") as folder:
        path = Path(folder, name)
        path.write_bytes(body)
        try:
            parsed, form = read_file(path), format_of(path) or BY_NAME["text"]
        except InputError as error:  # must not show the temporary path
            raise InputError(str(error).replace(str(path), name), hint=error.hint) from error
    own, is_owner = db.project or "default", caller.trust == "owner"
    drafts = [
        replace(each, source=name, trust=caller.trust, pinned=each.pinned and is_owner, project=own, external_id=None)
        for each in parsed.memories
    ]
    results = db.add_all(drafts) if drafts else ()
    decided = Counter("unchanged" if each.decision in ("identical", "restates") else "new" for each in results)
    return {
        "name": name,
        "format": form.name,
        "memories": {"new": decided["new"], "unchanged": decided["unchanged"]},
        "redacted": sum(each.redacted for each in results),
        "left_out": dict(parsed.skipped),
        "errors": [{"path": name, "reason": reason.replace(str(path), name)} for reason in parsed.problems],
        "ids": [each.id for each in results],
    }
