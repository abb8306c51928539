"""A page for people that renders the OpenAPI description, from files of this package alone."""

from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files as within
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "/docs": ("docs.html", "text/html"),
    "/docs/docs.css": ("docs.css", "text/css"),
    "/docs/docs.js": ("docs.js", "text/javascript"),
}
"""Which file is sent for a path, and what it is."""


def files() -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """Return what answers each path of the page."""
    return {path: _answer(name, media) for path, (name, media) in PAGES.items()}


def _answer(name: str, media: str) -> Callable[[Request], Awaitable[Response]]:
    content = (within("recollect.surfaces.serve") / "web" / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=media)

    return answer
