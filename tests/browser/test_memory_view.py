"""One memory on the page: what is known of it, and every change of it, undone where the store can."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect
from served import Served

Visit = Callable[[str], Page]


def test_it_shows_content_source_history_and_recalls(visit: Visit) -> None:
    page = visit("memory/5")

    expect(page.locator(".content")).to_have_text("The staging database listens on port 5433")
    expect(page.locator("aside")).to_contain_text("Added")
    expect(page.get_by_role("link", name="which port does the staging database use")).to_be_visible()
    expect(page.locator(".rows .row", has_text="production database")).to_be_visible()


def test_an_edit_is_kept_and_undone(visit: Visit, server: Served) -> None:
    page = visit("memory/5")
    expect(page.locator(".content")).to_be_visible()

    page.keyboard.press("e")
    page.get_by_label("Text", exact=True).fill("The staging database listens on port 6000")
    page.get_by_role("button", name="Save").click()

    expect(page.locator(".content")).to_have_text("The staging database listens on port 6000")
    expect(page.locator(".events").first).to_contain_text("before: The staging database listens on port 5433")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".content")).to_have_text("The staging database listens on port 5433")
    assert server.db.show(5).memory.content == "The staging database listens on port 5433"


def test_a_title_can_be_taken_away_and_comes_back(visit: Visit, server: Served) -> None:
    page = visit("memory/3")
    expect(page.locator("h1")).to_have_text("Offline mode")

    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Title").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("Memory #3")
    page.get_by_role("button", name="Undo").click()

    expect(page.locator("h1")).to_have_text("Offline mode")
    assert server.db.show(3).memory.title == "Offline mode"


def test_forget_hides_and_restore_brings_back(visit: Visit, server: Served) -> None:
    page = visit("memory/7")

    page.get_by_role("button", name="Forget").click()
    expect(page.locator(".badge.gone")).to_have_text("Forgotten")
    assert server.db.search("label printer").hits == ()
    page.get_by_role("button", name="Restore").click()

    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    assert [hit.id for hit in server.db.search("label printer").hits] == [7]


def test_pin_and_tags_change_and_are_undone_by_a_key(visit: Visit, server: Served) -> None:
    page = visit("memory/8")

    page.get_by_label("Add a tag").fill("people")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove tag people")).to_be_visible()
    page.get_by_role("button", name="Pin").click()
    expect(page.locator(".badge.pinned")).to_be_visible()
    page.keyboard.press("z")
    expect(page.locator(".badge.pinned")).to_have_count(0)

    assert server.db.show(8).memory.tags == ("people",)
    assert not server.db.show(8).memory.pinned


def test_the_chain_of_what_was_believed_is_drawn(visit: Visit) -> None:
    page = visit("memory/2")

    expect(page.locator(".chain li")).to_have_count(2)
    expect(page.locator(".chain li").first).to_contain_text("We deploy on Fridays")
    page.locator(".chain a").first.click()

    expect(page.locator(".badge.gone").first).to_have_text("Superseded")
    expect(page.locator(".chain .here")).to_contain_text("We deploy on Fridays")


def test_supersede_finds_the_newer_one_by_its_words(visit: Visit, server: Served) -> None:
    page = visit("memory/11")

    page.get_by_role("button", name="Supersede").click()
    page.get_by_label("or search for it").fill("cache does not expire")
    page.locator(".pick", has_text="does not expire").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Supersede").click()

    expect(page.locator(".badge.gone").first).to_have_text("Superseded")
    expect(page.locator(".chain li")).to_have_count(2)
    assert server.db.show(11).memory.superseded_by == 12


def test_feedback_is_noted_in_the_history(visit: Visit, server: Served) -> None:
    page = visit("memory/9")

    page.get_by_role("button", name="Useful").click()

    expect(page.locator(".events").first).to_contain_text("Rated")
    assert server.db.show(9).events[-1].detail["verdict"] == "useful"


def test_erasing_warns_and_waits_for_a_yes(visit: Visit, server: Served) -> None:
    page = visit("memory/4")

    page.get_by_role("button", name="Erase").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This cannot be undone.")
    expect(dialog.get_by_role("button", name="Erase for good")).to_be_disabled()
    dialog.get_by_label("Yes, erase it for good").check()
    dialog.get_by_role("button", name="Erase for good").click()

    expect(page.get_by_label("Search memories")).to_be_visible()
    assert server.post("show", id=4).status == 404


def test_an_unknown_id_says_so(visit: Visit) -> None:
    page = visit("memory/999")

    expect(page.locator(".empty")).to_contain_text("There is no memory with this id.")


def test_two_tabs_see_each_others_changes(context: BrowserContext, visit: Visit, server: Served) -> None:
    first = visit("today")
    expect(first.locator(".pulse.live")).to_be_visible()

    second = context.new_page()
    second.goto(f"http://127.0.0.1:{server.port}/#/memory/9")
    second.get_by_role("button", name="Pin").click()
    expect(second.locator(".badge.pinned")).to_be_visible()

    expect(first.locator(".entry").first).to_contain_text("Pinned")
