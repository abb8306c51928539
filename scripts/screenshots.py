"""Write docs/screenshots: each view of the page, light and dark, on a desk and on a phone."""

import base64
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests" / "serving"), str(ROOT / "tests")]

from playwright.sync_api import Browser, expect, sync_playwright  # noqa: E402
from sample import fill  # noqa: E402
from served import Served, opened, serving  # noqa: E402

FOLDER = ROOT / "docs" / "screenshots"
VIEWS = {
    "search": ("search?q=which+port+does+staging+use&why=5", ".explain"),
    "memory": ("memory/2", ".chain"),
    "today": ("today", ".entry"),
    "review": ("review", ".question"),
    "health": ("health", ".tile"),
    "compare": ("compare?q=which+database+port+is+backed+up&left=default&right=oro", ".column li"),
    "add": ("add", ".drop"),
}
SIZES = {"desk": (1280, 800), "phone": (390, 780)}
SCHEMES: tuple[Any, ...] = ("light", "dark")


def shoot(browser: Browser, served: Served, size: str, scheme: Any) -> None:
    """Write the views in one size and one scheme."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    for name, (address, shown) in VIEWS.items():
        page.goto("about:blank")
        page.goto(f"http://127.0.0.1:{served.port}/#/{address}")
        expect(page.locator(f"main {shown}").first).to_be_visible(timeout=30_000)
        expect(page.locator("main [aria-busy]")).to_have_count(0)
        page.wait_for_timeout(500)
        path = FOLDER / f"{name}-{size}-{scheme}.webp"
        taken = context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": 80})
        path.write_bytes(base64.b64decode(taken["data"]))
        sys.stdout.write(f"{path.relative_to(ROOT)} {path.stat().st_size // 1000} KB\n")
    context.close()


def main() -> None:
    """Fill a store with the sample, by words and by meaning, and write every picture."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, opened(Path(folder, "team.db"), model="minilm") as db:
        fill(db)
        db.flush()
        with serving(db) as served, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-lcd-text"])
            for size in SIZES:
                for scheme in SCHEMES:
                    shoot(browser, served, size, scheme)
            browser.close()
            served.warm.is_closing = True


if __name__ == "__main__":
    main()
