"""A late reply changes nothing: not what is shown, nor what a person opened, typed or has the focus on."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect
from served import Served

Visit = Callable[[str], Page]
HOLD = """
(() => {
  const send = window.fetch.bind(window);
  const waiting = [];
  let words = null;
  window.hold = (text) => { words = text; };
  const count = () => { document.documentElement.dataset.held = waiting.length; };
  // Hand over every held reply, and return once the page has read and drawn it.
  window.release = async () => {
    words = null;
    for (const go of waiting.splice(0)) await go();
    count();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  };
  // No request is aborted: a reply may be on its way already when a newer question is asked.
  window.fetch = (path, { signal, ...options } = {}) => {
    const sent = send(path, options);
    if (words === null || !`${path} ${options.body || ""}`.includes(words)) return sent;
    return new Promise((resolve) => { waiting.push(async () => {
      const reply = await sent;
      const value = await reply.json();
      await new Promise((done) => {
        reply.json = async () => { setTimeout(done); return value; };
        resolve(reply);
      });
    }); count(); });
  };
})();
"""


@pytest.fixture
def slow(page: Page) -> Callable[[str], None]:
    """Hold from now on the reply to each request whose path or body has these words."""
    page.add_init_script(HOLD)
    return lambda words: page.evaluate("(words) => hold(words)", words)


def are_held(page: Page, count: int) -> None:
    """Wait until *count* replies are held."""
    expect(page.locator("html")).to_have_attribute("data-held", str(count))


def come(page: Page, count: int = 1) -> None:
    """Let the *count* held replies come, late."""
    are_held(page, count)
    page.evaluate("release()")


def focused(page: Page) -> str | None:
    """Return the key of what has the focus."""
    key: str | None = page.evaluate("document.activeElement.dataset.key ?? null")
    return key


def test_an_answer_to_an_older_question_is_never_shown(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("search?q=printer")
    expect(page.locator(".hit").first).to_contain_text("label printer")
    slow('"staging"')
    field = page.get_by_label("Search memories")
    field.fill("staging")
    field.fill("Mira")
    expect(page.locator(".hit").first).to_contain_text("Mira prefers")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("e")
    expect(page.locator(".hit").first.locator(".explain")).to_be_visible()

    come(page)

    expect(page.locator(".hit").first).to_contain_text("Mira prefers")
    expect(page.locator(".hit").first.locator(".explain")).to_be_visible()
    expect(page.locator(".hit").first).to_be_focused()


def test_the_arrows_go_to_the_hits_of_what_is_typed(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("search?q=price")
    expect(page.locator(".hit").first).to_have_attribute("data-key", "11")
    slow('"price cache"')
    page.get_by_label("Search memories").fill("price cache")

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Search memories")).to_be_focused()
    come(page)

    expect(page.locator(".hit").first).to_have_attribute("data-key", "12")
    expect(page.locator(".hit").nth(1)).to_be_focused()


def test_hits_that_come_late_keep_what_was_opened_and_chosen(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("search?q=price")
    expect(page.locator(".hit").first).to_have_attribute("data-key", "11")
    slow('"price cache"')
    page.get_by_label("Search memories").fill("price cache")
    page.locator(".hit").first.get_by_role("button", name="Why this?").click()

    come(page)

    expect(page.locator(".hit").first).to_have_attribute("data-key", "12")
    expect(page.locator(".hit").nth(1).locator(".explain")).to_be_visible()
    expect(page.locator(".hit").nth(1).get_by_role("button", name="Why this?")).to_be_focused()


def test_what_is_typed_while_a_memory_is_read_again_stays(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("memory/8")
    expect(page.locator(".content")).to_be_visible()
    slow("/show ")
    page.keyboard.press("p")
    page.get_by_label("Add a tag").press_sequentially("people")

    come(page)

    expect(page.locator(".badge.pinned")).to_be_visible()
    expect(page.get_by_label("Add a tag")).to_have_value("people")
    expect(page.get_by_label("Add a tag")).to_be_focused()


def test_a_button_keeps_the_focus_when_it_changed_the_memory(visit: Visit) -> None:
    page = visit("memory/8")

    page.get_by_role("button", name="Pin").press("Enter")

    expect(page.get_by_role("button", name="Unpin")).to_be_focused()


def test_an_older_look_for_the_newer_memory_is_never_shown(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("memory/11")
    page.get_by_role("button", name="Supersede").click()
    slow('"printer"')
    page.get_by_label("or search for it").fill("printer")
    page.get_by_label("or search for it").fill("cache does not expire")
    expect(page.locator(".pick").first).to_contain_text("does not expire")

    come(page)

    expect(page.locator(".pick", has_text="printer")).to_have_count(0)
    expect(page.locator(".pick", has_text="does not expire")).to_be_visible()


def test_a_question_to_erase_does_not_follow_to_another_view(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("memory/4")
    expect(page.locator(".content")).to_be_visible()
    slow("/purge")
    page.get_by_role("button", name="Erase").click()
    page.evaluate("location.hash = '/health'")
    expect(page.locator(".tile").first).to_be_visible()

    come(page)

    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_decision_that_is_done_late_leaves_the_focus_alone(
    visit: Visit, server: Served, slow: Callable[[str], None]
) -> None:
    page = visit("review")
    expect(page.locator(".question").first).to_be_focused()
    slow("/supersede")
    page.keyboard.press("n")
    page.keyboard.press("n")
    page.keyboard.press("j")
    page.keyboard.press("j")
    chosen = focused(page)

    come(page)

    expect(page.locator(".question")).to_have_count(2)
    assert focused(page) == chosen
    assert [event.verb for event in server.db.show(11).events].count("supersede") == 1


def test_a_decided_question_does_not_come_back_with_an_older_list(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("review")
    expect(page.locator(".question")).to_have_count(3)
    page.keyboard.press("n")
    expect(page.locator(".question")).to_have_count(2)
    slow('"list"')
    page.keyboard.press("z")
    are_held(page, 1)
    page.locator(".question", has_text="Secret redacted").focus()
    page.keyboard.press("a")

    come(page, 2)

    expect(page.locator(".question")).to_have_count(2)
    expect(page.locator(".question", has_text="Secret redacted")).to_have_count(0)
    expect(page.locator(".question", has_text="Contradiction")).to_be_visible()


def test_what_happens_meanwhile_leaves_the_focus_alone(visit: Visit, server: Served) -> None:
    page = visit("today")
    expect(page.locator(".pulse.live")).to_be_visible()
    expect(page.locator("main [aria-busy]")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("j")
    chosen = focused(page)

    server.db.add("The kettle is descaled in June")

    expect(page.locator(".entry").first).to_contain_text("The kettle is descaled in June")
    assert chosen is not None
    assert focused(page) == chosen


def test_a_page_asked_for_twice_comes_once(visit: Visit, server: Served, slow: Callable[[str], None]) -> None:
    for number in range(60):
        server.db.add(f"Shelf {number} holds the parts of machine {number * 7}")
    page = visit("today?tab=memories")
    expect(page.locator(".entry")).to_have_count(40)
    slow("/list")
    page.get_by_role("button", name="Show more").dblclick()

    come(page, 2)

    expect(page.locator(".entry")).to_have_count(76)


def test_what_is_written_while_the_last_text_is_saved_stays(
    visit: Visit, server: Served, slow: Callable[[str], None]
) -> None:
    page = visit("add")
    slow("/add")
    field = page.get_by_label("Text", exact=True)
    field.fill("The kettle is descaled in June")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+Enter")
    field.fill("The lemon tree wants water")

    come(page)

    expect(page.locator(".told")).to_contain_text("Saved.")
    expect(field).to_have_value("The lemon tree wants water")
    assert len(server.db.search("kettle", mode="keyword").hits) == 1


def test_the_choice_of_a_project_keeps_the_focus(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("search")
    chooser = page.get_by_role("combobox", name="Project")
    expect(chooser).to_be_visible()
    slow("/stats")
    page.evaluate("location.hash = '/health'")
    chooser.focus()

    come(page, 2)

    expect(page.locator(".tile").first).to_be_visible()
    expect(chooser).to_be_focused()


def test_a_view_that_comes_late_leaves_the_focus_alone(visit: Visit) -> None:
    page = visit("search")
    chooser = page.get_by_role("combobox", name="Project")
    expect(chooser).to_be_visible()
    scripts: list[Route] = []
    page.route("**/ui/health.js", lambda route: scripts.append(route))  # noqa: PLW0108 (a built-in has no signature)
    with page.expect_request("**/ui/health.js"):
        page.evaluate("location.hash = '/health'")
    chooser.focus()
    while not scripts:
        page.evaluate("0")  # the request is on its way to the list

    scripts[0].continue_()

    expect(page.locator(".tile").first).to_be_visible()
    expect(chooser).to_be_focused()


def test_measures_of_an_older_comparison_are_never_shown(visit: Visit, slow: Callable[[str], None]) -> None:
    page = visit("compare")
    slow('"printer"')
    field = page.get_by_role("searchbox", name="Question", exact=True)
    field.fill("printer")
    field.fill("staging")
    expect(page.locator(".column").first).to_contain_text("staging")

    come(page, 2)

    expect(page.locator(".column").first).to_contain_text("staging")
