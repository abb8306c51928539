"""Walking folders and reading files."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import FileError
from recollect.remember.find_files import MAX_DOCUMENT_BYTES, Passed, Refused, find_files, read_text
from recollect.remember.formats import SUFFIXES


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in folder.rglob("*"):
        path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def deep_folder() -> Iterator[Path]:
    """A folder so deep that no recursion reaches it."""
    folder = Path(tempfile.mkdtemp())
    for _ in range(1100):
        folder /= "d"
        folder.mkdir()
    yield folder
    # What removes a whole tree would recurse into it.
    (folder / "x.md").unlink()
    os.removedirs(folder)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Act as an ordinary user: the administrator may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}", encoding="utf-8")


def test_what_is_passed_over_is_counted_by_its_ending_or_the_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.png", "c.PNG", "d/e.bin", ".hidden/f.md", ".g.md", "h/i.md", "j.#odd name", "k.log")
    (tmp_path / ".gitignore").write_text("h/\n*.log\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.md")
    passed = Passed()

    found = list(find_files([tmp_path], suffixes=SUFFIXES, passed=passed))

    assert found == [tmp_path / "a.md"]
    assert passed == {
        ".png": 2,
        ".bin": 1,
        "hidden": 3,
        "ignored": 2,
        "other": 1,
        "not a regular file": 1,
    }


def found_in(root: Path) -> list[str]:
    return [
        each.path.relative_to(root).as_posix() + " refused"
        if isinstance(each, Refused)
        else each.relative_to(root).as_posix()
        for each in find_files([root], suffixes=SUFFIXES)
    ]


def test_files_come_sorted_by_path_whatever_their_depth(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.txt", "a/b/c.json", "c.csv", "README")

    found = found_in(tmp_path)

    assert found == ["README", "a/b/c.json", "a/z.txt", "b.md", "c.csv"]


def test_ignore_files_are_honoured_at_every_level(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.log", "build/x.md", "sub/a.md", "sub/b.log", "sub/keep.log", "sub/deep/top.md", "top.md")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n/top.md\n!\n", encoding="utf-8")
    (tmp_path / "sub" / ".recollectignore").write_text("a.md\n!keep.log\n", encoding="utf-8")

    found = found_in(tmp_path)

    assert found == ["a.md", "sub/deep/top.md", "sub/keep.log"]


def test_a_pattern_that_is_too_complex_is_reported_and_the_others_apply(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.log")
    (tmp_path / ".gitignore").write_text("*.log\n" + "*a" * 30 + "\n", encoding="utf-8")

    found = list(find_files([tmp_path], suffixes=SUFFIXES))

    refused = Refused(path=tmp_path / ".gitignore", reason="patterns too complex to apply: line 2")
    assert found == [refused, tmp_path / "a.md"]


def test_a_file_named_by_its_path_is_found_whatever_its_name(tmp_path: Path) -> None:
    write(tmp_path, ".env.example", "script.py", "notes.md")
    (tmp_path / ".gitignore").write_text("*\n", encoding="utf-8")
    named = [tmp_path / "script.py", tmp_path / ".env.example", tmp_path / "notes.md"]

    found = list(find_files(named, suffixes=SUFFIXES))

    assert found == sorted(named)


def test_a_file_reached_twice_is_found_once(tmp_path: Path) -> None:
    write(tmp_path, "a/x.md", "a/y.md")

    found = list(find_files([tmp_path / "a" / "y.md", tmp_path, tmp_path / "a"], suffixes=SUFFIXES))

    assert found == [tmp_path / "a" / "x.md", tmp_path / "a" / "y.md"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/x.md", "b/y.md")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b" / "again").symlink_to(tmp_path / "a", target_is_directory=True)

    found = found_in(tmp_path)

    assert found == ["a/x.md", "b/y.md"]


def test_a_thousand_nested_folders_are_walked(deep_folder: Path) -> None:
    file = deep_folder / "x.md"
    file.write_text("deep", encoding="utf-8")

    found = list(find_files([deep_folder.parents[1099]], suffixes=SUFFIXES))

    assert found == [file]


def test_a_missing_path_is_refused_and_the_walk_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "b.md")
    (tmp_path / "dangling.md").symlink_to(tmp_path / "gone.md")
    missing = tmp_path / "a-missing"

    found = list(find_files([missing, tmp_path, tmp_path / "nul\0"], suffixes=SUFFIXES))

    assert found == [
        tmp_path / "b.md",
        Refused(path=tmp_path / "dangling.md", reason="not found"),
        Refused(path=missing, reason="not found"),
        Refused(path=tmp_path / "nul\0", reason="not found"),
    ]


def test_a_folder_without_rights_is_refused_and_the_walk_goes_on(open_folder: Path) -> None:
    write(open_folder, "a.md", "closed/x.md", "z.md")
    (open_folder / "closed").chmod(0)

    with without_privileges():
        found = list(find_files([open_folder], suffixes=SUFFIXES))

    closed = Refused(path=open_folder / "closed", reason="permission denied")
    assert found == [open_folder / "a.md", closed, open_folder / "z.md"]


def test_an_ignore_file_without_rights_is_reported(open_folder: Path) -> None:
    write(open_folder, "a.md", ".gitignore")
    (open_folder / ".gitignore").chmod(0)

    with without_privileges():
        found = list(find_files([open_folder], suffixes=SUFFIXES))

    assert found == [Refused(path=open_folder / ".gitignore", reason="permission denied"), open_folder / "a.md"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        (b"", ""),
        (b"\xef\xbb\xbfwith mark", "with mark"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße"),
        ("Grüße".encode("utf-32"), "Grüße"),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"x" * 600 + b"\0", "x" * 600 + "\ufffd"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ],
)
def test_text_is_read_in_its_encoding_with_plain_line_ends(tmp_path: Path, raw: bytes, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(raw)

    read = read_text(path)

    assert read == text


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"one\ntwo\ncaf\xe9\n", "is not UTF-8 text: byte 0xE9 on line 3"),
        (b"\xff\xfea\0\n\0b", "is not UTF-16 text: byte 0x62 on line 2"),
        (b"PNG\0\0\0", "is binary, not text"),
        (b"\x01\x02\x03\x04abcd", "is binary, not text"),
    ],
)
def test_what_is_no_text_is_refused_with_a_hint(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(raw)

    with pytest.raises(FileError) as caught:
        read_text(path)

    assert str(caught.value) == f"{path} {message}"
    assert caught.value.hint


def test_a_file_over_ten_megabytes_is_refused_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_bytes(b"x" * (MAX_DOCUMENT_BYTES + MAX_DOCUMENT_BYTES // 2))

    with pytest.raises(FileError, match=r"big\.txt is too large: 15\.0 MB"):
        read_text(path)


def test_a_file_of_exactly_ten_megabytes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_bytes(b"x" * MAX_DOCUMENT_BYTES)

    text = read_text(path)

    assert len(text) == MAX_DOCUMENT_BYTES


def test_a_folder_a_missing_file_and_a_pipe_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reasons = {".": "is a directory", "none.md": "not found", "pipe": "is not a regular file", "nul\0": "not found"}

    messages = {}
    for name in reasons:
        with pytest.raises(FileError) as caught:
            read_text(tmp_path / name)
        messages[name] = str(caught.value)

    assert all(messages[name].endswith(reason) for name, reason in reasons.items())


def test_a_file_without_rights_is_refused(open_folder: Path) -> None:
    write(open_folder, "mine.md")
    (open_folder / "mine.md").chmod(0)

    with without_privileges(), pytest.raises(FileError, match=r"mine\.md: permission denied"):
        read_text(open_folder / "mine.md")


def test_a_message_is_one_line_even_for_a_strange_name(tmp_path: Path) -> None:
    strange = tmp_path / os.fsdecode(b"a\nb\xff.md")

    with pytest.raises(FileError) as caught:
        read_text(strange)

    assert "\n" not in str(caught.value)
    assert str(caught.value).encode("utf-8")


@given(raw=st.binary(max_size=300))
def test_bytes_of_any_kind_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(raw)

    try:
        text = read_text(path)
    except FileError:
        return

    assert "\0" not in text
    assert "\r" not in text
