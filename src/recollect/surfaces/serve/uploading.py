"""A file that comes with a request: read as `import` reads it, remembered under its own name, never kept here."""

from collections import Counter
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.requests import Request

from recollect.errors import AccessError, InputError
from recollect.recollection import Recollection
from recollect.remember.formats import BY_NAME, format_of, read_file
from recollect.surfaces.serve.dispatcher import Caller
from recollect.surfaces.serve.guard import too_large
from recollect.values import replace

FILE: Final = "application/octet-stream"
LARGEST_FILE: Final = 32 * 1024 * 1024
"""How many bytes a file may have."""


async def received(request: Request) -> tuple[str, str | None, bytes]:
    """Return the name, the project and the bytes of the file in *request*."""
    asked = parse_qs(request.scope["query_string"].decode("latin-1"))
    name = PurePosixPath(asked.get("name", [""])[0].replace("\\", "/")).name
    if not name or name in {".", ".."} or len(name.encode()) > 200 or "\0" in name:
        raise InputError("the file has no name", hint="say it in the address: ?name=notes.md")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FILE:
            raise too_large()
    return name, asked.get("project", [None])[0], bytes(body)


def import_upload(db: Recollection, caller: Caller, name: str, project: str | None, body: bytes) -> dict[str, Any]:
    """Remember what the file *name* says; return what became of it, as `import` tells it."""
    if caller.read_only:
        raise AccessError("import writes, and this token may only read", hint="use another token")
    if caller.project is not None and project not in (None, caller.project):
        raise AccessError(f"this token is for the project {caller.project!r}", hint="use a token for that project")
    chosen = caller.project or project
    view = db if chosen is None else db.in_project(chosen)
    with TemporaryDirectory(prefix="recollect-") as folder:
        path = Path(folder, name)
        path.write_bytes(body)
        try:
            parsed, form = read_file(path), format_of(path) or BY_NAME["text"]
        except InputError as error:  # where it lay here is nobody's business
            raise InputError(str(error).replace(str(path), name), hint=error.hint) from error
    own = view.project or "default"
    drafts = [replace(each, source=name, trust=caller.trust, project=own, external_id=None) for each in parsed.memories]
    results = view.add_all(drafts) if drafts else ()
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
