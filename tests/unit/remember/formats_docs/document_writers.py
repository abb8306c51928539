"""Small writers of the documents that the tests read: archives of XML, and a PDF made by hand."""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator>"
    "<dcterms:modified>{modified}</dcterms:modified></cp:coreProperties>"
)
STYLES = (
    f'<w:styles xmlns:w="{_WORD}">'
    '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="Mine"><w:name w:val="My own"/><w:basedOn w:val="berschrift2"/></w:style>'
    '<w:style w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>'
    "</w:styles>"
)


def archive(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    """Write *parts* as a ZIP archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, part in parts.items():
            opened.writestr(name, part)
    return path


def paragraph(words: str, *, style: str = "", item: bool = False) -> str:
    """Return a paragraph of Word."""
    about = (f'<w:pStyle w:val="{style}"/>' if style else "") + ("<w:numPr/>" if item else "")
    return f"<w:p><w:pPr>{about}</w:pPr><w:r><w:t>{words}</w:t></w:r></w:p>"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Word whose first row is repeated on every page."""
    lines = []
    for at, row in enumerate(rows):
        head = "<w:trPr><w:tblHeader/></w:trPr>" if at == 0 else ""
        lines.append(f"<w:tr>{head}{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>")
    return f"<w:tbl>{''.join(lines)}</w:tbl>"


def docx(path: Path, *body: str, title: str = "", author: str = "Ida", modified: str = "2024-03-05T10:00:00Z") -> Path:
    """Write a Word document."""
    return archive(
        path,
        {
            "[Content_Types].xml": "<Types/>",
            "word/styles.xml": STYLES,
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{"".join(body)}</w:body></w:document>',
            "docProps/core.xml": _CORE.format(title=title, author=author, modified=modified),
        },
    )


def odt(path: Path, body: str) -> Path:
    """Write an OpenDocument text."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table")
    )
    content = f"<office:document-content {spaces}><office:body><office:text>{body}</office:text></office:body>"
    return archive(path, {"content.xml": f"{content}</office:document-content>"})


def epub(path: Path, chapters: Mapping[str, str], *, title: str = "The Book of Bees") -> Path:
    """Write a book with a page for each of *chapters*."""
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>Bea Keeper</dc:creator></metadata><manifest>"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        f'{items}</manifest><spine><itemref idref="nav"/>{spine}</spine></package>'
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    pages = {f"OEBPS/text/{name}.xhtml": _xhtml(body) for name, body in chapters.items()}
    parts = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "OEBPS/book.opf": package}
    return archive(path, {**parts, "OEBPS/nav.xhtml": _xhtml("<nav><ol><li>Contents</li></ol></nav>"), **pages})


def _xhtml(body: str) -> str:
    return f"<!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'><head><title>t</title></head><body>{body}</body>"


def pdf(pages: Sequence[Sequence[str]], *, title: str = "", bookmarks: Sequence[tuple[str, int]] = ()) -> bytes:
    """Return a PDF with the lines of each page, and bookmarks that lead to pages (from 0)."""
    objects: dict[int, bytes] = {}
    first = 10
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    objects[1] = b"<</Type/Catalog/Pages 2 0 R/Outlines 5 0 R>>"
    objects[2] = f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode()
    objects[3] = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    objects[4] = f"<</Title({title})/Author(Ida)/ModDate(D:20240305100000Z)>>".encode()
    objects[5] = b"<</Type/Outlines>>"
    for at, lines in enumerate(pages):
        shown = " ".join(f"({_escaped(line)}) Tj T*" for line in lines)
        stream = f"BT /F1 11 Tf 14 TL 50 760 Td {shown} ET".encode("cp1252")
        objects[first + 2 * at] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {first + 2 * at + 1} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>"
        ).encode()
        objects[first + 2 * at + 1] = b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream)
    begin = first + 2 * len(pages)
    for at, (words, page) in enumerate(bookmarks):
        following = f"/Next {begin + at + 1} 0 R" if at + 1 < len(bookmarks) else ""
        objects[begin + at] = f"<</Title({words})/Parent 5 0 R/Dest[{first + 2 * page} 0 R/Fit]{following}>>".encode()
    if bookmarks:
        objects[5] = f"<</Type/Outlines/First {begin} 0 R/Last {begin + len(bookmarks) - 1} 0 R>>".encode()
    return _file(objects)


def pdf_bomb(*, megabytes: int) -> bytes:
    """Return a PDF of some kilobytes whose only page, packed twice, becomes so many *megabytes*."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(1024 * 1024)) + packer.flush(zlib.Z_FULL_FLUSH)
    stream = zlib.compress(b"\x78\xda" + block * megabytes + packer.flush(), 9)
    return _file(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 5 0 R/Resources<<>>>>",
            4: b"<</Title(bomb)>>",
            5: b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%s\nendstream" % (len(stream), stream),
        }
    )


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _file(objects: Mapping[int, bytes]) -> bytes:
    out, places = io.BytesIO(b"%PDF-1.4\n"), {}
    out.seek(0, io.SEEK_END)
    for number, body in sorted(objects.items()):
        places[number] = out.tell()
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start, size = out.tell(), max(places) + 1
    rows = [b"%010d 00000 n \n" % places[at] if at in places else b"0000000000 65535 f \n" for at in range(size)]
    out.write(b"xref\n0 %d\n%s" % (size, b"".join(rows)))
    out.write(b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, start))
    return out.getvalue()
