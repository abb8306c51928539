"""Vaults of Obsidian, Logseq and Notion: links, tags, aliases, properties, outlines, names."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import open as open_store
from recollect.recollection import Recollection
from recollect.records import Memory
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.record import Origin

HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
OBSIDIAN = {
    ".obsidian/app.json": "{}",
    "Kubernetes.md": """---
tags: [infra, "#cluster"]
aliases: [k8s, Kube]
---
#ops #infra/prod

Upgrades are done by [[People/Marta Lind|Marta]] on the first Monday. ^upgrade-day

## Backup

Snapshots go to the [[NAS#Shares]] nightly. #backup/nightly
""",
    "NAS.md": "# NAS\n\nStands in the cellar.\n\n## Shares\n\nThe share vault holds snapshots for 30 days.\n",
    "People/Marta Lind.md": "Sits on the third floor.\n\nSee also [the cluster](../Kubernetes.md#backup).\n",
    "Router.md": "The password is on the sticker below.\n",
}
LOGSEQ = {
    "logseq/config.edn": "{}",
    "journals/2026_03_05.md": (
        "- Met [[Jonas Weber]] about the lease\n  id:: 65f0c3a1-1111-4222-8333-abcdefabcdef\n"
        "\t- he wants to renew until 2031\n- TODO order a new [[espresso machine]] #kitchen\n  priority:: high\n"
        "- see ((65f0c3a1-1111-4222-8333-abcdefabcdef)) again\n"
    ),
    "pages/Jonas Weber.md": (
        "type:: person\ntags:: landlord, [[real estate]]\nalias:: Joe\n\n- Phone is 0151 2345\n- Likes pears\n"
    ),
}
NOTION = {
    f"Travel {HEX}.md": f"# Travel\n\n[Lisbon](Travel%20{HEX}/Lisbon%20{HEX}.md) is next.\n",
    f"Travel {HEX}/Lisbon {HEX}.md": "We stay at Casa Azul.\n",
    f"Budget {HEX}.csv": "Name,Amount,Paid by\nTram tickets,24 EUR,Ida\nHotel Casa Azul,610 EUR,Bea\n",
}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "vault"


def opened(folder: Path, files: Mapping[str, str]) -> Recollection:
    db = open_store(folder / "notes.db", model="none")
    db.import_(written(folder, files))
    return db


def read(text: str, source: str = "/notes/a.md") -> tuple[Memory, ...]:
    return read_markdown(text, Origin(source=source)).memories


@pytest.mark.parametrize(
    ("files", "question", "title", "words"),
    [
        (OBSIDIAN, "who upgrades k8s", "Kubernetes", "Upgrades are done by Marta on the first Monday."),
        (OBSIDIAN, "where do snapshots go nightly", "Backup", "Snapshots go to the NAS > Shares nightly."),
        (OBSIDIAN, "router password", "Router", "The password is on the sticker below."),
        (LOGSEQ, "until when will Jonas renew the lease", "2026_03_05", "he wants to renew until 2031"),
        (LOGSEQ, "espresso machine", "2026_03_05", "TODO order a new espresso machine #kitchen\n  priority: high"),
        (LOGSEQ, "phone of Joe", "Jonas Weber", "Phone is 0151 2345"),
        (NOTION, "where do we stay in Lisbon", "Lisbon", "We stay at Casa Azul."),
        (NOTION, "who paid the tram tickets", "Tram tickets", "Paid by: Ida"),
    ],
)
def test_a_question_finds_the_note_that_answers_it(
    tmp_path: Path, files: Mapping[str, str], question: str, title: str, words: str
) -> None:
    with opened(tmp_path, files) as db:
        again = db.import_(tmp_path / "vault")
        best = db.search(question).hits[0].memory

    assert (best.title, again.memories["new"], again.memories["updated"]) == (title, 0, 0)
    assert words in best.content


# --- links ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown", "links"),
    [
        ("See [[Note]].", "See Note.", ["Note"]),
        ("See [[folder/Note]].", "See Note.", ["folder/Note"]),
        ("See [[Note|the note]].", "See the note.", ["Note"]),
        ("See [[Note#Part one]].", "See Note > Part one.", ["Note#Part one"]),
        ("See [[Note#A#B|b]].", "See b.", ["Note#B"]),
        ("See [[Note#^a1b2c3]].", "See Note.", ["Note"]),
        ("| [[Note\\|n]] |", "| n |", ["Note"]),
        ("See ![[Note]].", "See Note.", ["Note"]),
        ("A ![[plan.png|300]] here.", "A plan.png here.", None),
        ("Above: [[#Part]].", "Above: Part.", None),
        ("See [run](../ops/Run%20book.md#start).", "See [run](../ops/Run%20book.md#start).", ["ops/Run book.md#start"]),
        ("See [web](https://example.org/a.md).", "See [web](https://example.org/a.md).", None),
        ("If `[[ -f x ]]` or [[ -f y ]] or [[1, 2]].", "If `[[ -f x ]]` or [[ -f y ]] or [[1, 2]].", None),
        ("Said [[1]](https://a.b).", "Said [[1]](https://a.b).", None),
        ("```\n[[Note]] #tag\n```", "```\n[[Note]] #tag\n```", None),
    ],
)
def test_a_link_is_shown_as_words_and_kept(text: str, shown: str, links: list[str] | None) -> None:
    (memory,) = read(text)

    assert (memory.content, memory.metadata.get("links")) == (shown, links)


def related(db: Recollection, question: str) -> dict[str, tuple[str, ...]]:
    best = db.search(question).hits[0].memory
    return {each.memory.title: tuple(r for r in each.reasons if "link" in r) for each in db.related(best.id)}


def test_related_notes_are_those_a_note_links_to_and_those_that_link_to_it(tmp_path: Path) -> None:
    with opened(tmp_path, OBSIDIAN) as db:
        backup, cluster, marta = (
            related(db, question) for question in ("snapshots nightly", "who upgrades", "third floor")
        )

    assert backup["Shares"] == ("links to NAS#Shares",)
    assert cluster["Marta Lind"] == ("links to People/Marta Lind", "links here")
    assert marta["Kubernetes"] == ("links here",)


def test_related_pages_of_an_outline_are_found_both_ways(tmp_path: Path) -> None:
    with opened(tmp_path, LOGSEQ) as db:
        journal, page = related(db, "met about the lease"), related(db, "phone 0151")

    assert journal["Jonas Weber"] == ("links to Jonas Weber",)
    assert page["2026_03_05"] == ("links here",)


def test_a_link_to_another_name_of_a_note_leads_to_it(tmp_path: Path) -> None:
    calls = {"pages/Calls.md": "- Called [[Joe]] about the heating\n- Called the plumber\n"}

    with opened(tmp_path, {**LOGSEQ, **calls}) as db:
        call, page = related(db, "called about the heating"), related(db, "phone 0151")

    assert call["Jonas Weber"] == ("links to Joe",)
    assert page["Calls"] == ("links here",)


def test_what_another_project_links_is_not_told(tmp_path: Path) -> None:
    with opened(tmp_path, OBSIDIAN) as db:
        other = db.in_project("other")
        note = other.add("The NAS hums.", metadata={"links": ["NAS", "Kubernetes"]})
        found = other.related(note.id)

    assert found == ()


# --- tags -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("Buy milk #errand and #home/kitchen.", ("errand", "home/kitchen")),
        ("Fixed #12, #711/PR, colour #ff0011, C# and a#b.", ()),
        ("A `#tag` in code", ()),
        ("https://example.org/#part", ()),
        ("Über #größe-2 (#klein) #日本", ("größe-2", "klein", "日本")),
        ("Filed under #[[real estate]]", ("real estate",)),
        ("#one #two\n\nWords.", ("one", "two")),
    ],
)
def test_a_tag_in_the_text_is_a_tag_of_its_memory(text: str, tags: tuple[str, ...]) -> None:
    (memory,) = read(text)

    assert memory.tags == tags


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("> [!quote] Ada\n> It has no pretensions\n> to originate.", "Ada\nIt has no pretensions\nto originate."),
        ("> [!warning]-\n> The valve sticks.", "The valve sticks."),
        ("before\n\n>[!tip]+ Try it\n> twice\n\n> a plain quote", "before\n\nTry it\ntwice\n\n> a plain quote"),
        ("`> [!note]` starts a callout", "`> [!note]` starts a callout"),
    ],
)
def test_a_callout_is_shown_as_its_words(text: str, shown: str) -> None:
    (memory,) = read_markdown(text, Origin(source="/a.md")).memories

    assert memory.content == shown


def test_a_line_of_tags_is_about_the_whole_note_and_one_in_a_sentence_about_its_section() -> None:
    memories = read("#all\n\nFirst.\n\n# A\n\nSecond #some.\n\n# B\n\nThird.\n")

    assert [(each.content, each.tags) for each in memories] == [
        ("First.", ("all",)),
        ("Second #some.", ("all", "some")),
        ("Third.", ("all",)),
    ]


def test_tags_and_aliases_of_the_front_matter_belong_to_every_section(tmp_path: Path) -> None:
    with opened(tmp_path, OBSIDIAN) as db:
        found = {hit.memory.title: hit.memory for hit in db.search("kube tag:infra").hits}

    assert found["Kubernetes"].tags == ("infra", "cluster", "ops", "infra/prod")
    assert found["Backup"].tags == ("infra", "cluster", "ops", "infra/prod", "backup/nightly")


# --- names and dates ------------------------------------------------------------------------


def test_the_name_of_a_note_stands_above_its_headings(tmp_path: Path) -> None:
    vault = written(tmp_path, OBSIDIAN)

    cluster, nas = (
        read((vault / name).read_text(encoding="utf-8"), (vault / name).as_posix())
        for name in ("Kubernetes.md", "NAS.md")
    )

    assert [each.section for each in cluster] == [None, "Kubernetes > Backup"]
    assert [each.section for each in nas] == ["NAS", "NAS > Shares"]


def test_outside_of_vaults_a_name_is_no_title(tmp_path: Path) -> None:
    (memory,) = read("hello", (tmp_path / "Plain note.md").as_posix())

    assert memory.title == ""


def test_a_journal_is_dated_by_its_name_and_its_items_are_memories(tmp_path: Path) -> None:
    with opened(tmp_path, LOGSEQ) as db:
        found = sorted(
            (each for each in db.list().memories if each.title == "2026_03_05"), key=lambda each: each.line or 0
        )

    assert {each.observed_at for each in found} == {datetime(2026, 3, 5, tzinfo=UTC)}
    assert [(each.line, each.content.split("\n")[0]) for each in found] == [
        (1, "Met Jonas Weber about the lease"),
        (4, "TODO order a new espresso machine #kitchen"),
        (6, "see again"),
    ]
    assert not any("id::" in each.content or "((" in each.content for each in found)


def test_properties_of_a_page_are_its_type_tags_and_aliases(tmp_path: Path) -> None:
    path = written(tmp_path, LOGSEQ) / "pages" / "Jonas Weber.md"

    memories = read(path.read_text(encoding="utf-8"), path.as_posix())

    assert {(each.type, each.tags) for each in memories} == {("person", ("landlord", "real estate"))}
    assert [each.content for each in memories] == ["Phone is 0151 2345", "Likes pears"]
    assert memories[0].metadata["alias"] == ["Joe"]


@pytest.mark.parametrize("mark", ["<!--", "$$", "[[", "#a", "](a", "`", "((", "a:: ", " ^", "[[a|", "#[["])
def test_marks_without_end_take_no_time(mark: str) -> None:
    talk = "".join(f"{name}: {mark * 50_000}\n" for name in ("Ann", "Bob", "Ann", "Bob"))
    begin = time.process_time()

    memories = read(talk)

    assert [each.turn for each in memories] == [1, 2, 3, 4]
    assert time.process_time() - begin < 60


MARKS = st.sampled_from(
    ["[[", "]]", "#", "|", "^a1", "((", "))", "a:: b\n", "- ", "\n", "!", "](", ".md)", "`", "```\n", "/", "a", " "]
)


@given(text=st.lists(MARKS | st.text(max_size=4), max_size=40).map("".join))
@pytest.mark.parametrize("source", ["/g/pages/a.md", "/notes/a.md"])
def test_no_text_makes_the_reader_raise_or_say_nothing(source: str, text: str) -> None:
    memories = read(text.replace("\0", ""), source)

    assert all(each.content.strip() for each in memories)
