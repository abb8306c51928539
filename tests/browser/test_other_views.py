"""Today, review, health, compare, add and import; the token; an empty store; other sites."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from sample import droppable
from served import Served, opened, serving

from recollect.surfaces.serve.guard import Rules

Visit = Callable[[str], Page]


def test_what_happens_elsewhere_appears_by_itself(visit: Visit, server: Served) -> None:
    page = visit("today")
    expect(page.locator(".pulse.live")).to_be_visible()

    server.db.add("The kettle is descaled in June")

    expect(page.locator(".entry").first).to_contain_text("The kettle is descaled in June")


def test_what_happened_is_narrowed_by_kind_and_agent(visit: Visit) -> None:
    page = visit("today")

    page.get_by_role("button", name="recalled").click()
    expect(page.locator(".entry")).to_have_count(2)
    page.get_by_role("button", name="Sent to agent").click()
    expect(page.locator(".entry")).to_have_count(1)
    page.get_by_role("combobox", name="Agent or session").select_option("claude-code/4f2a")

    expect(page.locator(".empty")).to_contain_text("No recent activity of this kind.")
    assert "by=claude-code" in page.url


def test_all_memories_come_in_pages_by_cursor(visit: Visit, server: Served) -> None:
    for number in range(60):
        server.db.add(f"Shelf {number} holds the parts of machine {number * 7}")
    page = visit("today?tab=memories")
    expect(page.locator(".entry")).to_have_count(40)

    page.get_by_role("button", name="Show more").click()

    expect(page.locator(".entry")).to_have_count(76)


def test_the_inbox_is_decided_with_one_key_each_and_undone(visit: Visit, server: Served) -> None:
    page = visit("review")
    expect(page.locator(".question")).to_have_count(3)
    expect(page.locator(".question").first).to_be_focused()
    expect(page.locator(".question").first).to_contain_text("Contradiction")

    page.keyboard.press("n")
    expect(page.locator(".question")).to_have_count(2)
    assert server.db.show(11).memory.superseded_by == 12
    page.keyboard.press("z")
    expect(page.locator(".question")).to_have_count(3)
    assert server.db.show(11).memory.superseded_by is None
    page.locator(".question", has_text="Secret redacted").focus()
    page.keyboard.press("a")
    expect(page.locator(".question")).to_have_count(2)
    page.locator(".question", has_text="Written by an agent").focus()
    page.keyboard.press("f")
    expect(page.locator(".question")).to_have_count(1)

    assert [item.kind for item in server.db.review()] == ["conflict"]
    assert server.db.show(13).memory.deleted_at is not None


def test_a_merge_keeps_the_other_wording_and_is_undone(visit: Visit, server: Served) -> None:
    first = server.db.add("The kettle is descaled in June by Mira").id
    second = server.db.add("Lemons grow in the garden").id
    server.db.edit(second, content="The kettle is descaled by Mira in June")
    page = visit("review?kind=merge")
    expect(page.locator(".question")).to_be_focused()

    page.keyboard.press("m")
    expect(page.locator(".question")).to_have_count(0)
    merged = server.db.show(first).wordings, server.db.show(second).memory.superseded_by
    page.keyboard.press("z")
    expect(page.locator(".question")).to_have_count(1)

    assert merged == (("The kettle is descaled by Mira in June",), first)
    assert server.db.show(second).memory.superseded_by is None


@pytest.mark.parametrize("name", ["nowhere", "__proto__", "constructor", "toString"])
def test_an_unknown_view_says_so(visit: Visit, name: str) -> None:
    page = visit(name)

    expect(page.locator(".empty")).to_contain_text("This page does not exist.")


def test_a_session_may_be_called_as_it_likes(visit: Visit, server: Served) -> None:
    server.db.search("staging", session="constructor")

    page = visit("today?what=recalled")

    expect(page.locator(".entry").first).to_contain_text("· constructor")


def test_health_says_that_there_are_no_vectors(visit: Visit) -> None:
    page = visit("health")

    expect(page.locator(".tile", has_text="Vectors")).to_contain_text("No vectors: search by words only")


def test_health_says_that_every_memory_has_a_vector(context: BrowserContext) -> None:
    with opened(model="hashing") as db, serving(db) as served:
        db.add("The kettle is descaled in June")
        db.search("kettle", session="one")
        db.flush()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{served.port}/#/health")

        expect(page.locator(".tile", has_text="Vectors")).to_contain_text("Every memory has a vector")
        expect(page.locator(".tile", has_text="Recall log").locator(".tile-value")).to_have_text("1 search")


def test_a_large_number_stays_on_one_line(visit: Visit, page: Page) -> None:
    page.set_viewport_size({"width": 320, "height": 900})
    visit("health")
    expect(page.locator(".bars .count").first).to_be_visible()

    heights = page.evaluate(
        """() => [...document.querySelectorAll(".bars .count, .tile-value")].map((each) => {
          const before = each.offsetHeight;
          each.textContent = "10,123,456";
          return [before, each.offsetHeight];
        })"""
    )

    assert [after for before, after in heights if after > before] == []
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


def test_health_tells_what_nobody_answers_and_teaches_it(visit: Visit) -> None:
    page = visit("health")

    expect(page.locator(".notice.good")).to_contain_text("No problems found")
    expect(page.locator(".tile", has_text="Memories")).to_contain_text("17")
    page.get_by_role("link", name="Add an answer: kubernetes upgrade").click()

    expect(page.get_by_label("Text", exact=True)).to_have_value("kubernetes upgrade")


def test_two_profiles_stand_side_by_side_with_moved_places(visit: Visit) -> None:
    page = visit("compare?q=database+port&left=default&right=boocode")

    expect(page.locator(".column").first.locator("li").first).to_contain_text("database")
    expect(page.locator(".moves path").first).to_be_attached()

    shared = page.locator(".moves path").count()
    assert shared >= 1
    assert "right=boocode" in page.url


def test_judged_questions_are_measured(visit: Visit) -> None:
    page = visit("compare")

    page.get_by_label("Test with your own questions").fill("staging database port\t5\nlabel printer\t7")
    page.get_by_role("button", name="Measure").click()

    expect(page.locator(".table tbody tr").first).to_contain_text("1.000")


def test_a_report_of_eval_is_shown(visit: Visit, tmp_path: Path) -> None:
    runs = [
        {"dataset": "birds", "profile": name, "mode": "keyword", "queries": 9, "measures": {"ndcg@10": value}}
        for name, value in (("default", 0.71), ("oro", 0.64))
    ]
    told = {"measure": "ndcg@10", "difference": -0.07, "interval": [-0.1, -0.04]}
    pair = {"baseline": {"profile": "default", "mode": "keyword"}, "new": {"profile": "oro", "mode": "keyword"}, **told}
    (tmp_path / "report.json").write_text(json.dumps({"runs": runs, "comparisons": [pair]}), encoding="utf-8")
    page = visit("compare")

    page.get_by_label("Load an eval report").set_input_files(tmp_path / "report.json")

    expect(page.locator(".table .best")).to_have_text("0.710")
    expect(page.get_by_text("oro, keyword against default, keyword: ndcg@10 -0.070 (-0.100 to -0.040)")).to_be_visible()


def test_a_text_is_remembered_and_a_secret_in_it_is_not(visit: Visit, server: Served) -> None:
    page = visit("add")

    page.get_by_label("Text", exact=True).fill("The kettle is descaled in June")
    page.get_by_label("Type").select_option("procedure")
    page.get_by_label("Tags (comma-separated)").fill("kitchen, june")
    page.keyboard.press("Enter")

    expect(page.locator(".told")).to_contain_text("Saved.")
    (memory,) = server.db.list(tag="kitchen").memories
    assert (memory.type, memory.tags) == ("procedure", ("kitchen", "june"))


def test_a_dropped_file_is_imported_under_its_name(visit: Visit, server: Served, tmp_path: Path) -> None:
    page = visit("add")
    text = droppable(tmp_path).read_text("utf-8")
    expect(page.locator(".drop")).to_be_visible()

    page.evaluate(
        """(text) => {
          const given = new DataTransfer();
          given.items.add(new File([text], "kitchen.md"));
          given.items.add(new File([new Uint8Array([0, 255, 0, 1])], "strange.bin"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: given, bubbles: true, cancelable: true }));
        }""",
        text,
    )

    expect(page.locator('[data-file="kitchen.md"]')).to_contain_text("2 new, 0 already known (markdown)")
    expect(page.locator('[data-file="strange.bin"]')).to_contain_text("could not be read")
    assert {memory.source for memory in server.db.list(source="kitchen.md").memories} == {"kitchen.md"}
    page.locator('[data-file="kitchen.md"]').get_by_role("link").click()
    expect(page.locator(".hit")).to_have_count(2)


def test_a_chosen_file_is_imported_too(visit: Visit, tmp_path: Path) -> None:
    page = visit("add")

    page.locator("#files").set_input_files(droppable(tmp_path))

    expect(page.locator('[data-file="kitchen.md"]')).to_contain_text("2 new")


def test_a_project_is_chosen_and_kept_in_the_address(visit: Visit) -> None:
    page = visit("search")

    page.get_by_role("combobox", name="Project").select_option("web")

    expect(page.locator(".hit")).to_have_count(1)
    page.get_by_role("link", name="Activity").click()
    expect(page.locator(".entry")).to_have_count(1)
    assert page.url.endswith("#/today?project=web")


def test_one_of_many_projects_is_chosen_by_typing(visit: Visit, server: Served) -> None:
    for number in range(40):
        server.db.add(f"Shelf {number} is free", project=f"user-{number}")
    page = visit("search")
    chooser = page.get_by_role("combobox", name="Project")

    chooser.fill("user-99")
    chooser.press("Enter")
    expect(page.locator(".toast")).to_have_text("No project is called user-99.")
    chooser.fill("user-7")
    chooser.press("Enter")

    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".hit")).to_contain_text("Shelf 7 is free")
    assert page.locator("#projects option").count() > 40


def test_an_empty_store_says_what_to_do_next(context: BrowserContext) -> None:
    with opened() as db, serving(db) as served:
        page = context.new_page()
        seen = {}
        for view in ("search", "today", "review", "health", "compare", "add"):
            page.goto("about:blank")
            page.goto(f"http://127.0.0.1:{served.port}/#/{view}")
            expect(page.locator("main :is(.empty, .tile, .drop)").first).to_be_visible()
            seen[view] = page.locator("main").inner_text()

    assert "Write the first one" in seen["search"]
    assert "Nothing to review." in seen["review"]
    assert "No activity yet." in seen["today"]


def test_a_token_is_asked_for_and_kept_for_the_tab_alone(made: Path, context: BrowserContext, tmp_path: Path) -> None:
    place = tmp_path / "guarded.db"
    place.write_bytes(made.read_bytes())
    with opened(place) as db, serving(db, Rules(needs_token=True)) as served:
        secret = db.tokens.create(name="page", trust="owner").secret
        page, address = context.new_page(), f"http://127.0.0.1:{served.port}/#/search?q=staging"
        page.goto(address)
        page.get_by_label("Token", exact=True).fill("wrong")
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("Token", exact=True).fill(secret)
        page.get_by_role("button", name="Enter").click()
        expect(page.locator(".hit").first).to_contain_text("staging")
        page.reload()
        expect(page.locator(".hit").first).to_contain_text("staging")
        other = context.new_page()
        other.goto(address)
        expect(other.get_by_label("Token", exact=True)).to_be_visible()
        kept = page.evaluate("[sessionStorage.length, localStorage.length, document.cookie]")

    assert kept == [1, 0, ""]


def test_a_page_of_another_site_changes_nothing(context: BrowserContext, server: Served) -> None:
    with opened() as db, serving(db) as other:
        page = context.new_page()
        page.goto(f"http://localhost:{other.port}/docs")
        told = page.evaluate(
            """async (address) => {
              const sent = (type) => fetch(address, { method: "POST", mode: "no-cors", body: '{"id": 5}',
                headers: { "Content-Type": type } }).then((r) => r.type, () => "refused");
              return [await sent("text/plain"), await sent("application/json")];
            }""",
            f"http://127.0.0.1:{server.port}/api/v1/forget",
        )

    assert "basic" not in told
    assert server.db.show(5).memory.deleted_at is None


@pytest.mark.parametrize("width", [320, 390, 1280, 3840])
def test_no_view_is_wider_than_its_window(visit: Visit, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    wide = []
    for view in ("search?q=page+said&why=15", "memory/15", "today", "review", "health", "compare?q=port", "add"):
        visit(view)
        expect(page.locator("main :is(.hit, .content, .entry, .question, .tile, .column, .drop)").first).to_be_visible()
        expect(page.locator("main [aria-busy]")).to_have_count(0)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(view)

    assert wide == []


def test_nothing_moves_while_a_view_is_drawn(visit: Visit) -> None:
    page = visit("search?q=database")
    expect(page.locator(".facet-value").first).to_be_visible()
    expect(page.locator("main [aria-busy]")).to_have_count(0)

    moved = page.evaluate(
        """() => new Promise((done) => {
          let sum = 0;
          const add = (entries) => { for (const each of entries) sum += each.value; };
          const observer = new PerformanceObserver((list) => add(list.getEntries()));
          observer.observe({ type: "layout-shift", buffered: true });
          requestAnimationFrame(() => requestAnimationFrame(() => { add(observer.takeRecords()); done(sum); }));
        })"""
    )

    assert moved < 0.05
