"""Reading Markdown."""

import time
from datetime import UTC, datetime

import pytest

from recollect.records import Memory
from recollect.remember.formats.markdown import read_markdown
from recollect.remember.formats.record import Origin

ORIGIN = Origin(source="/notes/a.md", date=datetime(2020, 1, 1, tzinfo=UTC))


def memories_of(text: str) -> tuple[Memory, ...]:
    return read_markdown(text, ORIGIN).memories


def test_a_section_knows_its_title_its_path_and_its_line() -> None:
    text = "before\n\n# Ship\n\nhow\n\n## Rollback ##\nback\n\n### Data\n\n#### Rows\nrows\n## Canary\nslow\n# B\nx\n"

    memories = memories_of(text)

    assert [(memory.content, memory.title, memory.section, memory.line) for memory in memories] == [
        ("before", "", None, 1),
        ("how", "Ship", "Ship", 5),
        ("back", "Rollback", "Ship > Rollback", 8),
        ("rows", "Rows", "Ship > Rollback > Data > Rows", 13),
        ("slow", "Canary", "Ship > Canary", 15),
        ("x", "B", "B", 17),
    ]


def test_underlined_headings_count_and_rules_do_not() -> None:
    text = (
        "Big\n===\n\none\n\nSmall\n---\ntwo\n\nA sentence as such.\n---\n\n- item\n---\n\nlast of\na paragraph\n---\n"
    )

    memories = memories_of(text)

    assert [memory.section for memory in memories] == ["Big", "Big > Small"]
    assert "A sentence as such." in memories[1].content
    assert "last of\na paragraph" in memories[1].content


def test_short_paragraphs_and_lists_of_a_section_stay_together() -> None:
    text = "# A\n\nOne.\n\n- x\n- y\n\nTwo.\n"

    memories = memories_of(text)

    assert [memory.content for memory in memories] == ["One.\n\n- x\n- y\n\nTwo."]


def test_a_long_section_is_cut_at_paragraphs_and_each_piece_knows_its_line() -> None:
    paragraph = "Some words that fill a line. " * 30
    text = f"# A\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n"

    memories = memories_of(text)

    assert [(memory.line, memory.title, memory.content) for memory in memories] == [
        (line, "A", paragraph.strip()) for line in (3, 5, 7)
    ]


def test_headings_without_text_and_rules_alone_give_nothing() -> None:
    memories = memories_of("# A\n\n## B\n\n---\n\n#hashtag\n# C")

    assert [(memory.content, memory.section) for memory in memories] == [("---\n\n#hashtag", "A > B")]


def test_headings_inside_code_are_code() -> None:
    text = "# A\n\n```sh\n# comment\n\nmake\n```\n\n~~~\n# other\n```\n~~~\n1. item\n   ```\n   # in item\n   ```\n"

    memories = memories_of(text)

    assert len(memories) == 1
    assert "# comment\n\nmake" in memories[0].content


def test_front_matter_fills_fields_and_is_the_metadata_of_every_memory() -> None:
    text = (
        "---\ntitle: The plan\ntags: [ops, deploy]\ntype: decision\nproject: web\ndate: 2024-03-05\n"
        "confidence: 0.95\npinned: yes\nversion: 1.10\nowner: {name: Ida}\n---\nintro\n\n# Part\n\nbody\n"
    )

    first, second = memories_of(text)

    assert (first.title, second.title) == ("The plan", "Part")
    assert (first.line, second.line) == (12, 16)
    for memory in (first, second):
        assert memory.tags == ("ops", "deploy")
        assert (memory.type, memory.project, memory.confidence, memory.pinned) == ("decision", "web", 0.95, True)
        assert memory.observed_at == datetime(2024, 3, 5, tzinfo=UTC)
        assert memory.metadata == {"title": "The plan", "version": "1.10", "owner": {"name": "Ida"}}


def test_without_a_date_in_front_matter_the_one_of_the_name_counts() -> None:
    (memory,) = memories_of("---\ndate: someday\n---\nx")

    assert memory.observed_at == ORIGIN.date
    assert memory.metadata == {"date": "someday"}


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("---\na: [\n---\nbody", 1),
        ("---\njust words\n---\nbody", 0),
        ("---\nnever closed\nbody", 0),
    ],
)
def test_front_matter_that_is_none_stays_text(text: str, problems: int) -> None:
    parsed = read_markdown(text, ORIGIN)

    assert "body" in parsed.memories[-1].content
    assert len(parsed.problems) == problems
    assert "".join(memory.content + memory.title for memory in parsed.memories).count("body") == 1


def test_a_conversation_gives_its_turns_by_section() -> None:
    text = "# Monday\n\n**Ann:** hi\n**Bob:** hello\n\n# Tuesday\n\n**Ann:** back\n**Bob:** so am I\nand glad\n"

    memories = memories_of(text)

    assert [(memory.content, memory.thread, memory.turn, memory.line) for memory in memories] == [
        ("Ann: hi", "/notes/a.md#Monday", 1, 3),
        ("Bob: hello", "/notes/a.md#Monday", 2, 4),
        ("Ann: back", "/notes/a.md#Tuesday", 1, 8),
        ("Bob: so am I\nand glad", "/notes/a.md#Tuesday", 2, 9),
    ]
    assert memories[1].context.before == "Ann: hi"
    assert memories[1].context.after == ""


def test_many_headings_are_read_in_a_time_that_grows_with_them_alone() -> None:
    begin = time.process_time()

    memories = memories_of(
        "".join(f"{'#' * (1 + number % 6)} h{number}\n\nword{number}\n\n" for number in range(50_000))
    )

    assert len(memories) == 50_000
    assert time.process_time() - begin < 120
