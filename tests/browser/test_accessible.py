"""No serious fault for people who read by ear, by keyboard or with weak eyes: axe-core in every view and scheme."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from served import Served

VIEWS = {
    "search": ("search?q=database+port&why=5", ".explain"),
    "nothing": ("search?q=zeppelin", ".empty"),
    "memory": ("memory/2", ".chain"),
    "today": ("today", ".entry"),
    "memories": ("today?tab=memories", ".entry"),
    "review": ("review", ".question"),
    "health": ("health", ".tile"),
    "compare": ("compare?q=database", ".column li"),
    "add": ("add", ".drop"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_fault(browser: Browser, server: Served, axe: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page, found = context.new_page(), {}
    for name, (address, shown) in VIEWS.items():
        page.goto("about:blank")
        page.goto(f"http://127.0.0.1:{server.port}/#/{address}")
        expect(page.locator(f"main {shown}").first).to_be_visible()
        expect(page.locator("main [aria-busy]")).to_have_count(0)
        page.evaluate(f"() => {{ {axe} }}")
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [each for each in result["violations"] if each["impact"] in ("serious", "critical")]
        found[name] = [f"{each['id']}: {each['nodes'][0]['html'][:160]}" for each in serious]
    context.close()

    assert {name: faults for name, faults in found.items() if faults} == {}


def test_every_dialog_has_a_name_and_keeps_the_focus(browser: Browser, server: Served, axe: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.port}/#/memory/5")
    expect(page.locator(".content")).to_be_visible()

    page.keyboard.press("e")
    expect(page.get_by_role("dialog", name="Edit memory")).to_be_visible()
    page.evaluate(f"() => {{ {axe} }}")
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    context.close()

    assert [each["id"] for each in result["violations"] if each["impact"] in ("serious", "critical")] == []
