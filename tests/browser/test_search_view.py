"""Search on the page: what is found, how it is explained, what narrows it, and what stands there when nothing is."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sample import SCRIPT
from served import Served

Visit = Callable[[str], Page]


def numbers(page: Page, kind: str) -> list[float]:
    """Return the numbers of the opened explanation, of one kind of line."""
    texts = page.locator(f".explain tr.{kind} .number").all_inner_texts()
    return [float(each.removeprefix("\N{MULTIPLICATION SIGN} ")) for each in texts]


def test_hits_come_as_one_types_and_the_address_holds_the_question(visit: Visit) -> None:
    page = visit("search")

    page.get_by_label("Search memories").press_sequentially("staging port")

    expect(page.locator(".hit").first).to_contain_text("The staging database listens on port 5433")
    expect(page.locator(".hit mark").first).to_have_text("staging")
    expect(page.locator(".outcome")).to_have_text("Answered")
    assert "q=staging+port" in page.url


def test_escape_leaves_the_box_and_keeps_the_question(visit: Visit) -> None:
    page = visit("search?q=printer")
    expect(page.locator(".hit").first).to_contain_text("label printer")
    field = page.get_by_label("Search memories")
    expect(field).to_be_focused()

    page.keyboard.press("Escape")

    expect(field).not_to_be_focused()
    expect(field).to_have_value("printer")
    expect(page.locator(".hit").first).to_contain_text("label printer")
    assert "q=printer" in page.url


def test_a_hit_of_a_file_shows_the_headings_above_it_and_a_short_path(
    visit: Visit, server: Served, tmp_path: Path
) -> None:
    folder = tmp_path / f"-home-ida-work-orderflow-{'x' * 40}"
    folder.mkdir()
    (folder / "2026-02-20.md").write_text("# Friday\n\n## Log\n\nThe zeppelin landed at noon.\n", encoding="utf-8")
    server.db.import_(folder / "2026-02-20.md")

    page = visit("search?q=zeppelin")

    expect(page.locator(".hit-title")).to_have_text("Friday > Log")
    expect(page.locator(".hit .source")).to_have_text(re.compile(r"^….{25,32}/2026-02-20\.md:\d$"))
    expect(page.locator(".hit .source")).to_have_attribute("title", str(folder / "2026-02-20.md"))


def test_the_histogram_leaves_out_months_without_a_memory(visit: Visit, server: Served) -> None:
    server.db.add("The mill was built", date="2019-07-01")

    page = visit("search")

    expect(page.locator(".month").first).to_have_attribute("aria-label", "2019-07: 1")
    labels = [each.get_attribute("aria-label") or "" for each in page.locator(".month").all()]
    assert not [label for label in labels if label.endswith(": 0")]
    assert len(labels) == len(server.db.search("", facets=True).facets["month"])


def test_an_explanation_adds_up(visit: Visit) -> None:
    page = visit("search?q=staging+database+port")

    page.locator(".hit").first.get_by_role("button", name="Why this?").click()

    product = 1.0
    for factor in numbers(page, "factor"):
        product *= factor
    (score,) = numbers(page, "score")
    assert sum(numbers(page, "share")) == pytest.approx(numbers(page, "sum")[0], abs=2e-4)
    assert sum(numbers(page, "share")) * product == pytest.approx(score, abs=3e-4)
    assert re.search(r"why=\d+", page.url)


def test_why_not_tells_what_kept_a_memory_back(visit: Visit) -> None:
    page = visit("search?q=label+printer")
    page.get_by_text("Expected a memory that is not here?").click()

    page.get_by_label("Memory id").fill("#1")
    page.get_by_role("button", name="Why not?").click()

    expect(page.locator(".why")).to_contain_text("Another memory took its place")


def test_a_facet_narrows_and_its_chip_widens_again(visit: Visit) -> None:
    page = visit("search")
    page.locator(".facet-value", has_text="decision").click()
    expect(page.locator(".hit")).to_have_count(2)
    assert "type=decision" in page.url

    page.locator(".chip.chosen").click()

    expect(page.locator(".hit").nth(5)).to_be_visible()
    assert "type=" not in page.url


def test_a_month_of_the_histogram_sets_the_dates(visit: Visit) -> None:
    page = visit("search")

    page.locator('.month[aria-label^="2026-03"]').click()

    expect(page.locator(".hit")).to_have_count(3)
    expect(page.get_by_label("From")).to_have_value("2026-03-01")
    expect(page.get_by_label("To", exact=True)).to_have_value("2026-03-31")


def test_an_address_brings_all_of_it_back(visit: Visit) -> None:
    page = visit(
        "search?q=deploy&type=decision&lens=decided&profile=oro&mode=keyword&include_superseded=1&since=2026-01-01"
    )

    expect(page.get_by_label("Search memories")).to_have_value("deploy")
    expect(page.get_by_role("combobox", name="Ranking")).to_have_value("oro")
    expect(page.get_by_role("combobox", name="Lens")).to_have_value("decided")
    expect(page.get_by_role("combobox", name="Search by")).to_have_value("keyword")
    expect(page.locator(".hit")).to_have_count(2)


def test_a_lens_leaves_out_what_it_does_not_show(visit: Visit) -> None:
    page = visit("search?q=mode")
    expect(page.locator(".hit", has_text="Lena looks after")).to_be_visible()

    page.get_by_role("combobox", name="Lens").select_option("decided")

    expect(page.locator(".hit", has_text="Lena looks after")).to_have_count(0)
    expect(page.locator(".hit", has_text="Offline mode")).to_be_visible()


def test_the_json_link_answers_what_the_page_shows(visit: Visit, server: Served) -> None:
    page = visit("search?q=staging+port&type=fact")
    expect(page.locator(".hit").first).to_be_visible()

    link = page.locator(".json").get_attribute("href") or ""
    told = server.ask("GET", link).value

    expect(page.locator(".hit")).to_have_count(len(told["hits"]))
    assert [str(hit["id"]) for hit in told["hits"]] == [
        each.get_attribute("data-key") for each in page.locator(".hit").all()
    ]


def test_nothing_found_says_why_and_what_to_do(visit: Visit) -> None:
    page = visit("search?q=zeppelin&type=decision")

    expect(page.locator(".empty")).to_contain_text("No memory answers this.")
    page.get_by_role("button", name="Clear all filters").first.click()

    expect(page.locator(".outcome")).to_have_text("No answer")
    expect(page.get_by_role("link", name="Add an answer")).to_have_attribute("href", re.compile("text=zeppelin"))


def test_a_weak_answer_is_called_one(visit: Visit) -> None:
    page = visit("search?q=which+zeppelin+port+does+the+moon+base+use+on+sundays")

    expect(page.locator(".outcome")).to_have_text("Not sure")
    expect(page.locator(".notice.weak")).to_contain_text("No clear answer.")


def test_a_misspelt_word_is_suggested(visit: Visit) -> None:
    page = visit("search?q=firmwaer+scaner")

    page.locator(".instead .chip").click()

    expect(page.get_by_label("Search memories")).to_have_value("firmware scanner")
    expect(page.locator(".hit").first).to_contain_text("Lena looks after offline mode")


def test_what_is_stored_is_text_and_never_markup(visit: Visit) -> None:
    page = visit("search?q=page+said")

    expect(page.locator(".hit").first).to_contain_text(SCRIPT[:30])

    assert "owned" not in page.title()
    assert page.locator("main script, main img").count() == 0


def test_a_turned_direction_is_shown_by_its_number(visit: Visit) -> None:
    page = visit("search?q=agency+euro")

    expect(page.locator(".hit").first).to_contain_text("Pay ⟨U+202E⟩0001 euro to the agency")


def test_the_older_word_stands_below_the_newer(visit: Visit, server: Served) -> None:
    server.db.add("The staging database listens on port 6000", date="2026-06-01")

    page = visit("search?q=staging+database+port")

    expect(page.locator(".hit").first).to_contain_text("6000")
    expect(page.locator(".hit").first.locator(".older")).to_contain_text("The staging database listens on port 5433")
    page.locator(".older a").first.click()
    expect(page.locator(".chain li")).to_have_count(2)
    expect(page.locator(".chain li").first).to_contain_text("5433")


def test_the_exchange_around_a_turn_is_shown(visit: Visit, server: Served, tmp_path: Path) -> None:
    turns = (
        "Ann: Which port does the mill use?",
        "Ben: It listens on 7001 since Monday.",
        "Ann: Thanks.",
        "Ben: Sure.",
    )
    (tmp_path / "chat.txt").write_text("\n".join((*turns, "Ann: Bye.")), encoding="utf-8")
    server.db.import_(tmp_path / "chat.txt")

    page = visit("search?q=which+port+does+the+mill+use")

    expect(page.locator(".hit").first).to_contain_text("It listens on 7001")
    expect(page.locator(".hit").first.locator(".exchange")).to_contain_text(
        "before it: Ann: Which port does the mill use?"
    )


def test_the_whole_search_is_done_by_keyboard(visit: Visit) -> None:
    page = visit("today")
    expect(page.locator(".entry").first).to_be_visible()

    page.keyboard.press("/")
    expect(page.get_by_label("Search memories")).to_be_focused()
    page.keyboard.type("database port")
    expect(page.locator(".hit").nth(1)).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".hit").nth(1)).to_be_focused()
    page.keyboard.press("e")
    expect(page.locator(".hit").nth(1).locator(".explain")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.locator(".content")).to_contain_text("database")


def test_question_mark_tells_the_keys(visit: Visit) -> None:
    page = visit("health")
    expect(page.locator(".tile").first).to_be_visible()

    page.keyboard.press("?")

    expect(page.get_by_role("dialog")).to_contain_text("undo the last change")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.locator(".question").first).to_be_visible()
