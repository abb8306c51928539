"""HTML, PDF, Word, OpenDocument and EPUB: their sections are found by questions, and hostile files are refused."""

import io
import random
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import document_writers as writers
import pytest
from document_writers import docx, epub, odt, paragraph, table
from hypothesis import given
from hypothesis import strategies as st

from recollect import open as open_store
from recollect.errors import FileError
from recollect.recollection import Recollection
from recollect.records import Memory
from recollect.remember.formats import Parsed, archive, format_of, isolated, pdf, read_file, read_parts
from recollect.remember.formats.html_text import page_of
from recollect.remember.formats.record import Origin

PAGE = """<!DOCTYPE html><html><head><title>Office handbook</title><meta charset="utf-8">
<meta name="author" content="Ida"><style>p { color: red }</style></head><body>
<nav><ul><li>Home<li>Imprint</ul></nav><main><h1>Office handbook</h1>
<p>Welcome to the caf&eacute; &amp; office.</p><script>var secret = "<p>scripted</p>";</script>
<h2>Printing</h2><p>The printer on the third floor takes A3 paper.<br>Its name is Gutenberg.</p>
<h3>Toner</h3><ul><li>Order toner from <b>Inkwell</b></li><li>Keep two in the cupboard</li></ul>
<h2>Opening hours</h2><table><tr><th>Day</th><th>Reception</th></tr><tr><td>Friday</td><td>until 15:30</td></tr></table>
<pre>lp -d gutenberg file.pdf

lpstat -t</pre></main><footer>All rights reserved</footer></body></html>"""


def page(folder: Path) -> Path:
    path = folder / "handbook.html"
    path.write_text(PAGE, encoding="utf-8")
    return path


def house(folder: Path) -> Path:
    path = folder / "house.pdf"
    pages = [
        ["The heat pump was serviced by Ostermann in", "march and the filter was re-", "placed."],
        ["The water meter has the number 88-4711."],
        ["The roof was sealed with bitumen."],
    ]
    path.write_bytes(writers.pdf(pages, title="The house", bookmarks=[("Heating", 0), ("Water", 1)]))
    return path


def contract(folder: Path) -> Path:
    return docx(
        folder / "contract.docx",
        paragraph("Lease", style="Titel"),
        paragraph("Term .... 3", style="Verzeichnis1"),
        paragraph("Term", style="berschrift1"),
        paragraph("The lease begins in August &amp; ends after five years."),
        paragraph("Notice period is three months", item=True),
        paragraph("Deposit", style="Mine"),
        paragraph("The deposit is held by the Sparkasse."),
        paragraph("Costs", style="berschrift1"),
        table([["Item", "Monthly"], ["Rent", "1,450 euros"], ["Parking", "60 euros"]]),
        author="Uwe",
    )


def letter(folder: Path) -> Path:
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>".format
    head, row = (
        "".join(map(cell, ("Seed", "Sown"))),
        "".join(map(cell, ("Basil", "in the second week of April"))),
    )
    return odt(
        folder / "garden.odt",
        '<text:h text:outline-level="1">Garden</text:h><text:p>The compost needs<text:s/>turning monthly.</text:p>'
        '<text:h text:outline-level="2">Tools</text:h><text:list><text:list-item><text:p>The scythe hangs in the barn'
        "</text:p></text:list-item></text:list><table:table><table:table-header-rows><table:table-row>"
        f"{head}</table:table-row></table:table-header-rows><table:table-row>{row}</table:table-row></table:table>",
    )


def book(folder: Path) -> Path:
    return epub(
        folder / "bees.epub",
        {
            "one": "<h1>Swarming</h1><p>Bees swarm when the queen is in her second year.</p>",
            "two": "<h1>Honey</h1><h2>Harvest</h2><p>Spin the combs when they are sealed to two thirds.</p>",
            "three": "<p>The smoker burns dried tansy.</p>",
        },
    )


CASES: list[tuple[Callable[[Path], Path], str, str, str, str]] = [
    (page, "what is the printer called", "Printing", "Office handbook > Printing", "Gutenberg"),
    (page, "who sells toner", "Toner", "Office handbook > Printing > Toner", "Inkwell"),
    (page, "reception on Friday", "Opening hours", "Office handbook > Opening hours", "Day: Friday | Reception: until"),
    (
        house,
        "who serviced the heat pump",
        "Heating",
        "Heating > p. 1",
        "Ostermann in march and the filter was replaced",
    ),
    (house, "number of the water meter", "Water", "Water > p. 2", "88-4711"),
    (house, "what was the roof sealed with", "Water", "Water > p. 3", "bitumen"),
    (contract, "notice period of the lease", "Term", "Lease > Term", "- Notice period is three months"),
    (contract, "who holds the deposit", "Deposit", "Lease > Term > Deposit", "Sparkasse"),
    (contract, "monthly costs of parking", "Costs", "Lease > Costs", "Item: Parking | Monthly: 60 euros"),
    (letter, "how often does compost need turning", "Garden", "Garden", "compost needs turning"),
    (letter, "where is the scythe", "Tools", "Garden > Tools", "- The scythe hangs in the barn"),
    (letter, "when is basil sown", "Tools", "Garden > Tools", "Seed: Basil | Sown: in the second week"),
    (book, "when do bees swarm", "Swarming", "The Book of Bees > Swarming", "second year"),
    (book, "when are combs spun", "Harvest", "The Book of Bees > Honey > Harvest", "two thirds"),
    (book, "what does the smoker burn", "The Book of Bees", "The Book of Bees", "tansy"),
]


@pytest.mark.parametrize("write", [page, house, contract, letter, book])
def test_a_question_finds_the_section_that_answers_it_and_a_second_import_changes_nothing(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path)
    cases = [case[1:] for case in CASES if case[0] is write]

    with opened(tmp_path) as db:
        first = db.import_(path)
        path.touch()
        again = db.import_(path)
        found = [db.search(question).hits[0].memory for question, *_ in cases]

    assert first.errors == []
    assert [(best.title, best.section, best.source) for best in found] == [
        (title, section, path.as_posix()) for _, title, section, _ in cases
    ]
    assert all(words in best.content for best, (*_, words) in zip(found, cases, strict=True))
    assert first.memories["new"] >= 2
    assert again.memories["new"] == again.memories["updated"] == again.memories["removed"] == 0
    assert again.memories["unchanged"] == first.memories["new"]


def test_a_book_that_grew_adds_only_its_new_chapter(tmp_path: Path) -> None:
    chapters = {"one": "<h1>Swarming</h1><p>Bees swarm in May.</p>"}

    with opened(tmp_path) as db:
        db.import_(epub(tmp_path / "b.epub", chapters))
        report = db.import_(
            epub(tmp_path / "b.epub", {**chapters, "two": "<h1>Wax</h1><p>Wax melts at 64 degrees.</p>"})
        )

    assert (report.memories["new"], report.memories["unchanged"], report.memories["removed"]) == (1, 1, 0)


def test_documents_are_dated_and_signed_by_what_they_say_of_themselves(tmp_path: Path) -> None:
    moment = datetime(2024, 3, 5, 10, tzinfo=UTC)

    paper, scan = read_file(contract(tmp_path)).memories[0], read_file(house(tmp_path)).memories[2]

    assert (paper.observed_at, paper.metadata["author"]) == (moment, "Uwe")
    assert (scan.observed_at, scan.metadata) == (moment, {"author": "Ida", "page": 3})


# --- HTML -----------------------------------------------------------------------------------


def test_scripts_styles_menus_and_footers_are_no_text(tmp_path: Path) -> None:
    memories = read_file(page(tmp_path)).memories

    words = "\n".join(memory.content for memory in memories)
    assert [word for word in ("scripted", "color", "Imprint", "rights", "<", "&eacute;") if word in words] == []
    assert "café & office" in words


def test_preformatted_text_stays_whole_in_a_fence(tmp_path: Path) -> None:
    memories = read_file(page(tmp_path)).memories

    assert "```\nlp -d gutenberg file.pdf\n\nlpstat -t\n```" in memories[-1].content


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'<meta charset="iso-8859-1"><p>caf\xe9 \x80</p>', "café €"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis"><p>\x93\xfa\x96{</p>', "日本"),
        (b"\xef\xbb\xbf<p>caf\xc3\xa9</p>", "café"),
        ("<p>café</p>".encode("utf-16"), "café"),
        (b'<?xml version="1.0" encoding="windows-1251"?><p>\xc4\xe0</p>', "Да"),
        (b"<p>caf\xe9</p>", "café"),
        (b'<meta charset="no-such"><p>caf\xc3\xa9</p>', "café"),
        (b'<meta charset="hex"><p>plain</p>', "plain"),
        (b"<p>a\0b</p>", "a\ufffdb"),
    ],
)
def test_a_page_is_read_in_the_encoding_it_names(raw: bytes, words: str) -> None:
    found = page_of(raw, what="a test")

    assert [block.words for block in found.blocks] == [words]


def test_without_a_main_heading_the_title_of_the_page_stands_above(tmp_path: Path) -> None:
    path = tmp_path / "a.htm"
    body = "<p>Open daily.</p><h2>Repairs</h2><p>Leave it overnight.</p>"
    path.write_text(f"<title>Bike shop</title>{body}", encoding="utf-8")

    memories = read_file(path).memories

    assert [(each.title, each.section) for each in memories] == [
        ("Bike shop", "Bike shop"),
        ("Repairs", "Bike shop > Repairs"),
    ]


@pytest.mark.parametrize(
    "markup", ["<div>" * 100_000, "<a " * 100_000, "<!--" * 100_000, "<table><td>" * 20_000, "&#" * 99_999]
)
def test_markup_without_end_takes_no_time(markup: str) -> None:
    found = page_of(f"{markup}<p>end".encode(), what="a test")

    assert len(found.blocks) <= 2


def test_the_title_of_a_page_and_its_heading_are_told_once_and_without_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<title>Setup - Our Wiki</title><h2>Setup<a href='#s'>\xb6</a></h2><p>Run it.</p>", encoding="utf-8"
    )

    (memory,) = read_file(path).memories

    assert (memory.title, memory.section) == ("Setup", "Setup")


def test_what_stands_at_the_head_and_foot_of_every_page_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "manual.pdf"
    pages = [
        ["The Manual of Everything", f"Chapter {word} begins.", f"page {at} of 5"] for at, word in enumerate("abcde")
    ]
    path.write_bytes(writers.pdf(pages))

    contents = [memory.content for memory in read_file(path).memories]

    assert contents == [f"Chapter {word} begins." for word in "abcde"]


def test_dots_that_lead_to_a_page_number_are_one_mark(tmp_path: Path) -> None:
    path = tmp_path / "contents.pdf"
    path.write_bytes(writers.pdf([["Introduction . . . . . . . . . . . . . 1"]]))

    (memory,) = read_file(path).memories

    assert memory.content == "Introduction \N{HORIZONTAL ELLIPSIS} 1"


# --- hostile files --------------------------------------------------------------------------


def test_a_scanned_pdf_is_refused_in_one_line_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(writers.pdf([[], []]))

    with pytest.raises(FileError, match="has no text: its pages are pictures") as caught:
        read_file(path)

    assert "ocrmypdf" in caught.value.hint


def test_pages_without_text_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "half.pdf"
    path.write_bytes(writers.pdf([["Some words."], []]))

    parsed = read_file(path)

    assert parsed.skipped == {"page without text": 1}
    assert [memory.section for memory in parsed.memories] == ["p. 1"]


def test_what_a_large_pdf_holds_beyond_the_limit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = house(tmp_path)
    monkeypatch.setattr(pdf, "MAX_PDF_PAGES", 1)

    page, problem = read_here(path)

    assert problem.problems == ("2 of 3 pages were not read: the document is too large",)
    assert [memory.section for memory in page.memories] == ["Heating > p. 1"]


def test_a_pdf_has_no_less_time_while_its_pages_are_being_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf, "MAX_PDF_CPU_SECONDS", 0.4)
    pages = read_here(house(tmp_path))

    read = [part for part in pages if not threading.Event().wait(0.5)]

    assert [part.problems for part in read] == [(), (), ()]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [["Country", "CHF per day"], ["Germany", "55"], ["Japan", "78"]],
            "Country: Germany | CHF per day: 55\nCountry: Japan | CHF per day: 78",
        ),
        ([["Name", "Ida"], ["Born", "1980"], ["Town", "Bern"]], "Name | Ida\nBorn | 1980\nTown | Bern"),
        ([["2024", "10"], ["2025", "12"], ["2026", "9"]], "2024 | 10\n2025 | 12\n2026 | 9"),
    ],
)
def test_a_table_without_a_marked_header_is_told_by_the_words_above_its_numbers(
    tmp_path: Path, rows: list[list[str]], told: str
) -> None:
    marked = "<w:trPr><w:tblHeader/></w:trPr>"
    path = docx(tmp_path / "rates.docx", table(rows).replace(marked, ""))

    (memory,) = read_file(path).memories

    assert memory.content == told


def test_a_pdf_without_a_title_of_its_own_is_called_like_its_file(tmp_path: Path) -> None:
    path = tmp_path / "boiler-manual.pdf"
    path.write_bytes(writers.pdf([["Bleed the boiler in autumn."]], title="untitled"))

    (memory,) = read_file(path).memories

    assert (memory.title, memory.section) == ("boiler-manual", "p. 1")


def test_a_child_that_a_bomb_ended_is_replaced_for_the_next_document(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.pdf"
    bomb.write_bytes(writers.pdf_bomb(megabytes=2048))

    with pytest.raises(FileError, match=r"bomb\.pdf cannot be read: it takes more than 1,024 MB of memory"):
        read_file(bomb)

    assert read_file(house(tmp_path)).memories[0].title == "Heating"


def test_a_document_that_is_not_read_to_its_end_leaves_no_answer_for_the_next(tmp_path: Path) -> None:
    parts = read_parts(house(tmp_path))
    next(parts)
    parts.close()  # type: ignore[attr-defined]

    assert read_file(page(tmp_path)).memories[0].title == "Office handbook"


def test_an_import_leaves_no_child_behind(tmp_path: Path) -> None:
    page(tmp_path)

    with opened(tmp_path) as db:
        db.import_(tmp_path)

    assert isolated.idle_children == []


def test_a_reader_gets_what_it_would_read_itself(tmp_path: Path) -> None:
    for path in (page(tmp_path), house(tmp_path), contract(tmp_path)):
        origin = Origin(source=path.as_posix())

        assert list(isolated.read_isolated(format_of(path).name, path, origin)) == list(
            format_of(path).read(path, origin)
        )  # type: ignore[union-attr]


def test_a_document_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = docx(tmp_path / "bomb.docx", paragraph("a" * 1_000_000))
    monkeypatch.setattr(archive, "MAX_DOCUMENT_TEXT_BYTES", 100_000)

    with pytest.raises(FileError, match="unpacks to too much"):
        list(read_here(path))


def test_a_bomb_is_not_unpacked_further_than_the_limit(tmp_path: Path) -> None:
    path = writers.archive(tmp_path / "bomb.docx", {"word/document.xml": b"<a>" + bytes(80 * 1024 * 1024)})

    with pytest.raises(FileError, match=r"unpacks to too much: word/document\.xml has 80 MB"):
        read_file(path)

    assert path.stat().st_size < 200_000


def test_entities_are_refused_not_expanded(tmp_path: Path) -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'
    path = writers.archive(tmp_path / "a.odt", {"content.xml": laughs})

    with pytest.raises(FileError, match="declares the document type 'x'"):
        read_file(path)


@pytest.mark.parametrize("name", ["a.docx", "a.odt", "a.epub", "a.pdf"])
@pytest.mark.parametrize("raw", [b"", b"nonsense", b"PK\x03\x04", b"%PDF-1.4\n%%EOF"])
def test_what_only_bears_the_name_of_a_document_is_refused_in_one_line(tmp_path: Path, name: str, raw: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(raw)

    with pytest.raises(FileError) as caught:
        read_file(path)

    assert "\n" not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("write", [page, house, contract, letter, book])
@given(seed=st.integers(0, 2**32))
def test_no_damage_makes_a_reader_raise_anything_but_a_file_error(
    tmp_path_factory: pytest.TempPathFactory, write: Callable[[Path], Path], seed: int
) -> None:
    path = write(tmp_path_factory.getbasetemp())
    path.write_bytes(damaged(path.read_bytes(), random.Random(seed)))

    memories = read_if_possible(path)

    assert all(memory.content.strip() and "\0" not in memory.content for memory in memories)
    assert all(memory.content.encode() for memory in memories)


@given(seed=st.integers(0, 2**32))
def test_no_damage_within_an_archive_makes_a_reader_raise_anything_but_a_file_error(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    dice, folder = random.Random(seed), tmp_path_factory.getbasetemp()
    path = dice.choice([contract, letter, book])(folder)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    name = dice.choice([*parts])
    writers.archive(path, {**parts, name: damaged(parts[name], dice)})

    memories = read_if_possible(path)

    assert all(memory.content.strip() for memory in memories)


@pytest.mark.parametrize(("name", "library"), [("a.html", "lxml"), ("a.pdf", "pypdfium2")])
def test_a_missing_library_is_one_line_that_names_the_extra(tmp_path: Path, name: str, library: str) -> None:
    path = tmp_path / name
    path.write_text("<p>x", encoding="utf-8")
    program = (
        f"import sys; sys.modules[{library!r}] = None; sys.modules[{library + '.etree'!r}] = None\n"
        "from pathlib import Path; from recollect.errors import FileError\n"
        "from recollect.remember.formats import format_of; from recollect.remember.formats.record import Origin\n"
        "path = Path(sys.argv[1])\n"
        "try: list(format_of(path).read(path, Origin(source='')))\n"
        "except FileError as error: print(error, '|', error.hint)\n"
    )

    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)  # noqa: S603

    assert f"needs the library {library}, which is not installed" in done.stdout
    assert '| run: pip install "recollect[documents]"' in done.stdout


# --- helpers --------------------------------------------------------------------------------


def opened(folder: Path) -> Recollection:
    return open_store(folder / "notes.db", model="none")


def read_here(path: Path) -> Iterator[Parsed]:
    """Read a document in this process, where its limits can be changed."""
    form = format_of(path)
    assert form is not None
    return form.read(path, Origin(source=path.as_posix()))


def read_if_possible(path: Path) -> tuple[Memory, ...]:
    """Return the memories of *path*; nothing where it is refused, and any other error stays one."""
    try:
        return read_file(path).memories
    except FileError:
        return ()


def damaged(raw: bytes, dice: random.Random) -> bytes:
    """Return *raw* with some bytes changed, a piece doubled or the end cut off."""
    out = bytearray(raw)
    for _ in range(dice.randrange(1, 8)):
        at = dice.randrange(len(out) or 1)
        match dice.randrange(3):
            case 0:
                out[at : at + 1] = dice.choice([b"\0", b"<", b">", b"&", b"\xff", b"/", b"0", b"]]"])
            case 1:
                out[at:at] = out[max(0, at - dice.randrange(40)) : at]
            case _:
                del out[at : at + dice.choice([1, 10, len(out)])]
    return bytes(out)
