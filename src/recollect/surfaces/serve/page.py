"""The pages for people: that of the memories, and one that renders the OpenAPI description; from this package alone."""

from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files as within
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

SCRIPTS: Final = "api app add compare dom explain health memory parts review search text today"
PAGES: Final[Mapping[str, tuple[str, str]]] = {
    "/": ("app.html", "text/html"),
    "/ui/app.css": ("app.css", "text/css"),
    "/ui/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/ui/{name}.js": (f"{name}.js", "text/javascript") for name in SCRIPTS.split()},
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
