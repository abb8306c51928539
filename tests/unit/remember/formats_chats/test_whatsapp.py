"""Chats that WhatsApp exported, in the forms of several countries."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from trial import changes, first, store, survives, taken, written

from recollect.remember.formats import named, read_file

ANDROID = """\
28/04/2024, 09:58 - Messages and calls are end-to-end encrypted. No one outside of this chat can read them.
28/04/2024, 09:58 - Ann Meyer created group "Trip: Rome"
12/05/2024, 18:03 - Ann Meyer: When does the train to Rome leave?
12/05/2024, 18:04 - Ben: 7:15 from platform 4
Bring the tickets,
they are in the blue folder: all three
12/05/2024, 18:05 - Ann Meyer: <Media omitted>
12/05/2024, 18:06 - +49 171 2345678: IMG-20240512-WA0003.jpg (file attached)
The hotel
13/05/2024, 08:00 - Ben: ok
13/05/2024, 08:00 - Ben: ok
13/05/2024, 08:01 - Ben: This message was deleted
"""
IPHONE = (
    "\u200e[12.05.24, 18:03:11] Trip: \u200eNachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\n"
    "[12.05.24, 18:04:11] Ann: Wer bringt das Zelt mit?\n"
    "[12.05.24, 18:05:00] ~\u202fBen: Ich, und den Kocher \u200e<Diese Nachricht wurde bearbeitet.>\n"
    "\u200e[12.05.24, 18:06:00] Ann: \u200eBild weggelassen\n"
    "\u200e[12.05.24, 18:07:00] Ann: Der Platz \u200e<Anhang: 00000012-PHOTO-2024-05-12.jpg>\n"
)


def read(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    """Return when and what was said in a chat with this text."""
    parsed = read_file(written(tmp_path / "chat.txt", text), named("whatsapp"))
    return [(f"{each.observed_at:%Y-%m-%d %H:%M:%S}", each.content) for each in parsed.memories if each.observed_at]


def test_questions_find_the_message_with_its_speaker_and_moment(tmp_path: Path) -> None:
    path = written(tmp_path / "WhatsApp Chat with Trip Rome.txt", ANDROID)

    with store() as db:
        db.import_(path)
        train, folder, hotel = (first(db, each) for each in ("when does the train leave", "blue folder", "hotel"))

    assert train.content == "Ben: 7:15 from platform 4\nBring the tickets,\nthey are in the blue folder: all three"
    assert train.observed_at == datetime(2024, 5, 12, 18, 4, tzinfo=UTC)
    assert (folder.id, folder.title, folder.line) == (train.id, "Trip Rome", 4)
    assert hotel.content == "+49 171 2345678: File: IMG-20240512-WA0003.jpg\nThe hotel"


def test_a_chat_is_not_one_piece_and_what_nobody_said_is_counted(tmp_path: Path) -> None:
    path = written(tmp_path / "chat.txt", ANDROID)

    parsed = read_file(path)

    assert taken(path) == "whatsapp"
    assert len(parsed.memories) == 5
    assert parsed.skipped == {"notice": 2, "media left out": 1, "deleted message": 1}


def test_the_marks_of_an_iphone_tell_its_own_words_apart(tmp_path: Path) -> None:
    path = written(tmp_path / "Trip" / "_chat.txt", IPHONE)

    parsed = read_file(path)

    assert [each.content for each in parsed.memories] == [
        "Ann: Wer bringt das Zelt mit?",
        "Ben: Ich, und den Kocher",
        "Ann: Der Platz File: 00000012-PHOTO-2024-05-12.jpg",
    ]
    assert {each.title for each in parsed.memories} == {"Trip"}
    assert parsed.skipped == {"notice": 1, "media left out": 1}


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("[12.05.24, 18:03:11] Ann: hi", "2024-05-12 18:03:11"),
        ("[13/05/2024, 18:03:11] Ann: hi", "2024-05-13 18:03:11"),
        ("[5/12/24, 6:03:11\u202fPM] Ann: hi", "2024-05-12 18:03:11"),
        ("\u200e[2024-05-12, 18:03:11] Ann: hi", "2024-05-12 18:03:11"),
        ("[12.5.2024 klo 18.03.11] Ann: hi", "2024-05-12 18:03:11"),
        ("13/05/2024, 18:03 - Ann: hi", "2024-05-13 18:03:00"),
        ("5/12/24, 6:03 PM - Ann: hi", "2024-05-12 18:03:00"),
        ("5/12/24, 12:03\u202fAM - Ann: hi", "2024-05-12 00:03:00"),
        ("12/5/24, 6:03 p. m. - Ann: hi", "2024-12-05 18:03:00"),
        ("13/5/24, 6:03 p. m. - Ann: hi", "2024-05-13 18:03:00"),
        ("13/05/2024 18:03 - Ann: hi", "2024-05-13 18:03:00"),
        ("12-05-2024 18:03 - Ann: hi", "2024-05-12 18:03:00"),
        ("12.05.24, 18:03 - Ann: hi", "2024-05-12 18:03:00"),
        ("2024. 05. 12. 18:03 - Ann: hi", "2024-05-12 18:03:00"),
        ("2024/5/12 下午6:03 - Ann: hi", "2024-05-12 18:03:00"),
        ("2024년 5월 12일 오후 6:03, Ann : hi", "2024-05-12 18:03:00"),
    ],
)
def test_dates_of_the_common_countries_are_read(tmp_path: Path, line: str, moment: str) -> None:
    assert read(tmp_path, f"{line}\n") == [(moment, "Ann: hi")]


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (("3/4/24", "25/4/24"), ["04-03", "04-25"]),
        (("4/3/24", "4/25/24"), ["04-03", "04-25"]),
        (("1/4/24", "2/4/24", "1/5/24"), ["04-01", "04-02", "05-01"]),
        (("4/1/24", "4/2/24", "5/1/24"), ["04-01", "04-02", "05-01"]),
        (("24/4/1", "24/4/2", "24/5/1"), ["04-01", "04-02", "05-01"]),
    ],
)
def test_the_whole_file_tells_the_order_of_day_and_month(
    tmp_path: Path, dates: tuple[str, ...], days: list[str]
) -> None:
    text = "".join(f"{date}, 18:03 - Ann: hi\n" for date in dates)

    assert [moment[5:10] for moment, _ in read(tmp_path, text)] == days


@pytest.mark.parametrize(
    "words", ["<Medien ausgeschlossen>", "<Multimedia omitido>", "<Mídia oculta>", "<Médias omis>", "image omitted"]
)
def test_media_left_out_is_skipped_in_several_languages(tmp_path: Path, words: str) -> None:
    path = written(tmp_path / "_chat.txt", f"12.05.24, 18:03 - Ann: {words}\n")

    assert read_file(path).skipped == {"media left out": 1}


def test_a_second_import_changes_nothing_and_a_longer_export_adds_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "WhatsApp Chat with Ann.txt", ANDROID)

    with store() as db:
        once = changes(db, path)
        again = changes(db, path)
        written(path, ANDROID + "14/05/2024, 08:01 - Ann Meyer: We are there\n")
        grown = changes(db, path)
        other = written(tmp_path / "WhatsApp Chat with Ann (1).txt", path.read_text(encoding="utf-8"))
        copied = changes(db, other)

    assert (once, again, grown) == ({"new": 5}, {}, {"new": 1})
    assert "new" not in copied


def test_the_zip_of_an_iphone_is_read_without_its_media(tmp_path: Path) -> None:
    packed = tmp_path / "WhatsApp Chat - Trip.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("_chat.txt", IPHONE)
        archive.writestr("00000012-PHOTO-2024-05-12.jpg", b"\xff\xd8")

    memories = read_file(packed).memories

    assert taken(packed) == "whatsapp"
    assert [each.title for each in memories] == ["Trip"] * 3


def test_a_long_chat_keeps_its_neighbours_across_portions(tmp_path: Path) -> None:
    text = "".join(f"12.05.24, 18:03 - Ann: word{number}\n" for number in range(1203))

    memories = read_file(written(tmp_path / "_chat.txt", text)).memories

    assert [each.turn for each in memories] == list(range(1, 1204))
    assert all(memories[at].context.before == memories[at - 1].content for at in range(1, 1203))
    assert all(memories[at].context.after == memories[at + 1].content for at in range(1202))


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-12 18:03 - INFO: started\n2024-05-12 18:03 - ERROR: failed\n",
        "12.05.24, 18:03 - a list of dates\n13.05.24, 18:04 - another\n",
        "Shopping\n12.05.24, 18:03 - Ann: milk\n12.05.24, 18:03 - Ben: bread\n",
        "",
    ],
)
def test_another_text_with_dates_stays_text(tmp_path: Path, text: str) -> None:
    assert taken(written(tmp_path / "notes.txt", text)) == "text"


def test_no_damaged_chat_makes_the_reader_raise_anything_but_a_file_error(tmp_path: Path) -> None:
    path, sample = tmp_path / "_chat.txt", (ANDROID + IPHONE).encode()

    assert all(survives(path, sample, form="whatsapp", seed=seed) for seed in range(60))
