"""The pages for people: the memories, and the rendered OpenAPI description; all files come from this package."""

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files as within
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from recollect.render.text import BLOCKED, DEGRADED

SCRIPTS: Final = "api app add compare dom explain health memory messages parts review search text today"
MESSAGES: Final = "messages.js"
"""A script that is written here: the messages that the terminal shows, too."""
PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "/": ("app.html", "text/html"),
    "/ui/app.css": ("app.css", "text/css"),
    "/ui/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/ui/{name}.js": (f"{name}.js", "text/javascript") for name in SCRIPTS.split()},
    "/docs": ("docs.html", "text/html"),
    "/docs/docs.css": ("docs.css", "text/css"),
    "/docs/docs.js": ("docs.js", "text/javascript"),
}
"""The file to send for each path, and its media type."""


def files() -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """Return the handler of each path of the page."""
    return {path: _answer(name, media) for path, (name, media) in PAGES.items()}


def _answer(name: str, media: str) -> Callable[[Request], Awaitable[Response]]:
    content = _messages() if name == MESSAGES else (within("recollect.surfaces.serve") / "web" / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=media)

    return answer


def _messages() -> bytes:
    """Return the script that exports the messages by their codes."""
    return f"export const MESSAGES = {json.dumps({'degraded': DEGRADED, 'blocked': BLOCKED})};\n".encode()
