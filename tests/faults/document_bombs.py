"""Documents of a few kilobytes that become gigabytes: each ends in one line, and the reader of the others lives on."""

import io
import resource
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from row import Progress, Row, silent

import recollect

MEGABYTE = 1024 * 1024
GOOD = b"<h1>Printing</h1><p>The printer on the third floor takes A3 paper."
WORD = b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>%s'


def packed(megabytes: int, *, times: int) -> bytes:
    """Return so many megabytes of NULs, compressed *times* times; equal blocks are compressed once."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(MEGABYTE)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = ((megabytes * MEGABYTE % 65_521) << 16) | 1
    raw = b"\x78\xda" + block * megabytes + packer.flush() + checksum.to_bytes(4, "big")
    for _ in range(times - 1):
        raw = zlib.compress(raw, 9)
    return raw


def pdf(stream: bytes, *, times: int) -> bytes:
    """Return a PDF of one page whose contents are *stream*, packed *times* times."""
    filters = b"/FlateDecode" * times
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<<>>>>",
        b"<</Length %d/Filter[%s]>>stream\n%s\nendstream" % (len(stream), filters, stream),
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (at, each) for at, each in enumerate(objects, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Size 5>>\n%%EOF\n"


def archive(**parts: bytes) -> bytes:
    """Return a ZIP archive; `__` in a name is a dot, `___` a slash."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, part in parts.items():
            opened.writestr(name.replace("___", "/").replace("__", "."), part)
    return out.getvalue()


BOMBS: Mapping[str, Callable[[], bytes]] = {
    "nested.pdf": lambda: pdf(packed(4096, times=2), times=2),
    "thrice.pdf": lambda: pdf(packed(4096, times=3), times=3),
    "zip.docx": lambda: archive(word___document__xml=b"<a>" + bytes(80 * MEGABYTE)),
    "zip.odt": lambda: archive(content__xml=b"<a>" + bytes(80 * MEGABYTE)),
    "zip.epub": lambda: archive(**{"META-INF___container__xml": b"<a>" + bytes(80 * MEGABYTE)}),
    "deep.docx": lambda: archive(word___document__xml=WORD % (b"<w:tbl><w:tr><w:tc>" * 400_000)),
    "deep.html": lambda: b"<div>" * 200_000 + GOOD,
}


def defuse(folder: Path) -> tuple[list[str], int]:
    """Import every bomb and a good document after them; return what is wrong, and the bytes of the largest bomb."""
    for name, make in BOMBS.items():
        (folder / name).write_bytes(make())
    largest = max((folder / name).stat().st_size for name in BOMBS)
    (folder / "zz-good.html").write_bytes(GOOD)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with recollect.open(folder.parent / "store.db", model="none") as db:
        report = db.import_(folder)
        good = [each.path for each in report.read if each.path.endswith("zz-good.html")]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    told = {Path(each.path).name: each.reason for each in report.errors}
    wrong = [f"{name}: {told[name]}" for name in told if "\n" in told[name] or "please report" in told[name]]
    wrong += [f"{name}: nothing was said" for name in BOMBS if name not in told and not name.startswith("deep")]
    wrong += [] if good else ["the good document was not read"]
    wrong += [f"the process that imports grew by {grown} MB"] if grown > 512 else []
    return wrong, largest


def row(*, progress: Progress = silent) -> Row:
    """Import documents that unpack to gigabytes or nest without end."""
    progress(0, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "documents")
        folder.mkdir()
        wrong, largest = defuse(folder)
    return Row(
        title="Document bombs",
        done=f"{len(BOMBS)} documents of at most {largest / MEGABYTE:.1f} MB (PDF streams packed twice and thrice that "
        "become 4 GB, ZIP bombs as DOCX, ODT and EPUB, XML and HTML nested 100,000 deep) and a good one",
        lost=f"{len(wrong)} crashes, tracebacks or good documents left out",
        unproven="These are the bombs that were thought of. Where a system has no limits for processes, only a timeout "
        "ends one.",
        failures=tuple(wrong),
    )
