"""A real browser on a real server: Debian's Chromium, driven by Playwright; where it is missing the tests fail."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "serving")]

from sample import fill  # noqa: E402
from served import Served, opened, serving  # noqa: E402

AXE = HERE.parent.parent / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a file, ended before others run: its event loop would be in their way."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    assert program, "no Chromium is installed; make test installs it, or: apt-get install chromium"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker's source."""
    assert AXE.is_file(), "axe-core is not installed; run: make build/axe/.installed"
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample store, made once."""
    path = tmp_path_factory.mktemp("sample") / "store.db"
    with opened(path) as db:
        fill(db)
    return path


@pytest.fixture
def server(made: Path, tmp_path: Path) -> Iterator[Served]:
    """A server of a copy of the sample store."""
    place = tmp_path / "store.db"
    shutil.copyfile(made, place)
    with opened(place) as db, serving(db) as served:
        yield served
        served.warm.is_closing = True


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser of one person: no cookies, no history."""
    made = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A tab; an error of a script in it fails the test."""
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield tab
    assert wrong == []


@pytest.fixture
def visit(page: Page, server: Served) -> Callable[[str], Page]:
    """Open a view by its address."""

    def opened_at(address: str) -> Page:
        page.goto("about:blank")
        page.goto(f"http://127.0.0.1:{server.port}/#/{address}")
        return page

    return opened_at
