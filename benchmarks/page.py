"""The page beside the API: the first result, a frame while one types, and how much is loaded.

`python benchmarks/page.py --memories 100000` fills a store with made-up memories, serves it on loopback and drives
Chromium. The first result is timed from the key to the drawn list; the API's own time is that of the same request sent
by a bare client. Frames are read from a performance trace.
"""

import argparse
import http.client
import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "serving"), str(ROOT / "tests")]

from playwright.sync_api import Page, sync_playwright  # noqa: E402
from served import Served, opened, serving  # noqa: E402

from recollect import Memory  # noqa: E402
from recollect.surfaces.serve.page import PAGES  # noqa: E402

SOUNDS = ["ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu"]
WORDS = [f"{one}{two}{three}n" for one in SOUNDS for two in SOUNDS for three in SOUNDS]
BATCH = 2000
TYPED = """(query) => new Promise((done) => {
  const field = document.getElementById("q");
  const started = performance.now();
  new PerformanceObserver((list, observer) => {
    observer.disconnect();
    done(list.getEntries()[0].startTime - started);
  }).observe({ entryTypes: ["mark"] });
  field.value = query;
  field.dispatchEvent(new Event("input"));
})"""
"""How a query is typed on the page at once, and how long it takes until its hits are drawn."""


def fill(served_db: object, count: int) -> None:
    chance = random.Random(7)
    for start in range(0, count, BATCH):
        drafts = [
            Memory(content=" ".join(chance.choices(WORDS, k=12)) + f" number {start + at}")
            for at in range(min(BATCH, count - start))
        ]
        served_db.add_all(drafts, embed=False)  # type: ignore[attr-defined]


def api_times(served: Served, queries: Sequence[str]) -> list[float]:
    connection, times = http.client.HTTPConnection("127.0.0.1", served.port), []
    for query in queries:
        body = json.dumps({"query": query, "explain": True, "limit": 20})
        started = time.perf_counter()
        connection.request("POST", "/api/v1/search", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        times.append((time.perf_counter() - started) * 1000)
    connection.close()
    return times


def page_times(page: Page, queries: Sequence[str]) -> list[float]:
    """Return, for each query, the milliseconds from its input event to the list that is drawn."""
    return [float(page.evaluate(TYPED, query)) for query in queries]


def longest_frame(page: Page, text: str) -> tuple[float, float]:
    """Type *text* and return the longest task of the page's main thread by a trace: milliseconds, and of computing."""
    session = page.context.new_cdp_session(page)
    events: list[dict[str, object]] = []
    session.on("Tracing.dataCollected", lambda told: events.extend(told["value"]))
    session.send("Tracing.start", {"transferMode": "ReportEvents", "categories": "devtools.timeline,toplevel"})
    page.locator("#q").fill("")
    page.locator("#q").press_sequentially(text, delay=60)
    page.wait_for_timeout(800)
    finished: list[object] = []
    session.on("Tracing.tracingComplete", lambda told: finished.extend([told]))
    session.send("Tracing.end")
    while not finished:
        page.wait_for_timeout(50)
    runs = [each for each in events if each.get("name") in ("RunTask", "ThreadControllerImpl::RunTask")]
    mains = {each["tid"] for each in events if each.get("name") == "FunctionCall"}
    ours = [each for each in runs if each["tid"] in mains]
    lasted, computed = ([float(str(each.get(name, 0))) / 1000 for each in ours] for name in ("dur", "tdur"))
    return max(lasted, default=0.0), max(computed, default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    folder_of_page = ROOT / "src" / "recollect" / "surfaces" / "serve" / "web"
    weights = {path: (folder_of_page / name).stat().st_size for path, (name, _) in PAGES.items()}
    print(f"page weight: {sum(weights.values()) / 1000:.1f} KB in {len(weights)} files (bar: 200)")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    chance = random.Random(11)
    queries = [" ".join(chance.sample(WORDS, 3)) + f" {number}" for number in range(48)]
    with TemporaryDirectory() as folder, opened(Path(folder, "large.db")) as db:
        fill(db, given.memories)
        with serving(db) as served, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(f"http://127.0.0.1:{served.port}/#/search")
            page.locator(".hit").first.wait_for()
            api_times(served, queries[:3])
            ours, theirs = [], []
            for at in range(4, len(queries), 2):  # in turns, as others may be at work on the machine
                ours += page_times(page, queries[at : at + 1])
                theirs += api_times(served, queries[at + 1 : at + 2])
            for how in (statistics.median, min):  # the least is what others on the machine disturb least
                api, shown = how(theirs), how(ours)
                told = f"{how.__name__} of {len(ours)}: API {api:.1f} ms, page {shown:.1f} ms"
                print(f"first result at {given.memories:,} memories, {told}: {shown / api:.2f} times (bar: 1.5)")
            lasted, computed = longest_frame(page, f"{WORDS[5]} {WORDS[77]} {WORDS[900]}")
            print(f"longest frame while typing: {lasted:.1f} ms (bar: 50), {computed:.1f} ms of computing")
            browser.close()
            served.warm.is_closing = True


if __name__ == "__main__":
    main()
