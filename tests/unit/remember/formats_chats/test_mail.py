"""Mails in files and mailboxes, whole, forwarded, encoded and broken."""

from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from time import process_time

import pytest
from trial import changes, contents, first, store, survives, taken, written

from recollect.errors import FileError
from recollect.remember.formats import read_file

QUESTION = b"""\
From: Ann Meyer <ann@example.org>
To: team@example.org, "Okafor, Ben" <ben@example.org>
Subject: Staging certificate
Date: Sun, 12 May 2024 10:00:00 +0200
Message-ID: <q1@example.org>

Who renews the staging certificate?

--\x20
Ann Meyer
Head of Operations
"""
REPLY = b"""\
From: =?utf-8?q?Ben_Ok=C3=A1for?= <ben@example.org>
To: Ann Meyer <ann@example.org>
Subject: Re: Staging certificate
Date: Sun, 12 May 2024 11:30:00 +0000
Message-ID: <a1@example.org>
In-Reply-To: <q1@example.org>
References: <q1@example.org>
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

I will, on Friday. Gr=FC=DFe

On Sun, 12 May 2024 at 10:00, Ann Meyer
<ann@example.org> wrote:
> Who renews the staging certificate?
>
> --
> Ann Meyer
"""


def mailbox(*mails: bytes) -> bytes:
    return b"".join(b"From ann@example.org Sun May 12 10:00:00 2024\n" + mail + b"\n" for mail in mails)


def rich() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Cid <cid@example.org>", "ann@example.org", "Offer"
    mail["Date"], mail["Message-ID"] = "Mon, 13 May 2024 08:00:00 -0000", "<r1@example.org>"
    shown = "<p>The <b>price</b> is 420&nbsp;&euro;</p><blockquote><p>Send me an offer</p></blockquote>"
    mail.set_content(f"<html><head><style>p {{color: red}}</style></head><body>{shown}</body></html>", subtype="html")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="Angebot für Ann.pdf")
    return mail.as_bytes()


def test_questions_find_the_mail_with_its_sender_and_moment(tmp_path: Path) -> None:
    path = written(tmp_path / "archive.mbox", mailbox(QUESTION, REPLY, rich()))

    with store() as db:
        db.import_(path)
        answers = contents(db, "who renews the staging certificate", most=2)
        price, friday = first(db, "price of the offer"), first(db, "grüße friday")

    assert sorted(answers) == ["Ann Meyer: Who renews the staging certificate?", "Ben Okáfor: I will, on Friday. Grüße"]
    assert (price.content, price.title) == ("Cid: The price is 420 €", "Offer")
    assert price.metadata["attachments"] == ["Angebot für Ann.pdf"]
    assert (friday.observed_at, friday.title) == (datetime(2024, 5, 12, 11, 30, tzinfo=UTC), "Re: Staging certificate")


def test_a_reply_stands_in_the_thread_of_its_question_with_what_it_quotes(tmp_path: Path) -> None:
    asked, answered = (
        read_file(written(tmp_path / name, raw)).memories[0] for name, raw in (("1.eml", QUESTION), ("2.eml", REPLY))
    )

    assert (asked.thread, asked.turn, answered.thread, answered.turn) == (answered.thread, 1, "mail:q1@example.org", 2)
    assert answered.context.before.startswith("Who renews the staging certificate?")
    assert asked.metadata == {
        "from": ["Ann Meyer <ann@example.org>"],
        "to": ["team@example.org", '"Okafor, Ben" <ben@example.org>'.replace('"', "")],
    }


def test_a_second_import_changes_nothing_and_a_longer_mailbox_adds_its_end(tmp_path: Path) -> None:
    path = written(tmp_path / "archive.mbox", mailbox(QUESTION, REPLY))

    with store() as db:
        once, again = changes(db, path), changes(db, path)
        written(path, mailbox(QUESTION, REPLY, rich()))
        grown = changes(db, path)

    assert (once, again, grown) == ({"new": 2}, {}, {"new": 1})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("yes\n\n> one?\n> two?\nno", "yes\n\nno"),
        ("Fine.\n\n-----Original Message-----\nFrom: Ann\nOld words", "Fine."),
        ("Gut.\n\nVon: Ann <a@b.example>\nGesendet: Montag\nAn: Ben\n\nAlt", "Gut."),
        ("Am 12.05.24 um 10:00 schrieb Ann:\n> Alt\n\nNeu", "Neu"),
        ("Le dim. 12 mai 2024 à 10:00, Ann a écrit :\n> Vieux\nNouveau", "Nouveau"),
        ("Ok\nSent from my iPhone", "Ok"),
        ("> only quoted", "only quoted"),
        ("On Monday we wrote: nothing is cut here", "On Monday we wrote: nothing is cut here"),
    ],
)
def test_what_is_quoted_and_signatures_are_left_out(tmp_path: Path, body: str, words: str) -> None:
    path = written(tmp_path / "a.eml", f"From: ann@example.org\nSubject: x\n\n{body}\n")

    (memory,) = read_file(path).memories

    assert memory.content == f"ann@example.org: {words}"


@pytest.mark.parametrize(
    ("head", "sender", "title"),
    [
        ("From: =?no-such?q?Ann?= <a@b.example>\nSubject: =?utf-8?b?!!!?=", "", ""),
        ("From: \udcff\udcfe <a@b.example>\nSubject: caf\udce9", "", "caf"),
        (
            "From: Ann <a@b.example>\nDate: not a date\nSubject: =?iso-8859-1?q?caf=E9?=\n =?utf-8?q?_au_lait?=",
            "Ann",
            "café au lait",
        ),
        ("Subject: no sender\nContent-Type: text/plain; charset=x-unknown", "", "no sender"),
        ("From: a@b.example\nSubject: cut\nContent-Type: multipart/mixed; boundary=x", "a@b.example", "cut"),
    ],
)
def test_broken_and_encoded_headings_are_survived(tmp_path: Path, head: str, sender: str, title: str) -> None:
    path = written(tmp_path / "a.eml", f"{head}\n\nhello\n".encode("utf-8", "surrogateescape"))

    (memory,) = read_file(path).memories

    assert memory.content
    assert title in memory.title
    assert memory.content.startswith(sender)


def test_spam_is_left_out_labels_are_tags_and_a_piece_without_headings_is_a_problem(tmp_path: Path) -> None:
    spam = b"X-Gmail-Labels: Spam\nFrom: x@example.org\nSubject: win\n\nwin\n"
    kept = b"X-Gmail-Labels: Inbox,Invoices,Unread\nFrom: y@example.org\nSubject: bill\n\n>From the shop\n42 EUR\n"
    path = written(tmp_path / "All mail.mbox", mailbox(spam, kept, b"\nnothing here\n"))

    parsed = read_file(path)

    assert [(each.tags, each.line) for each in parsed.memories] == [(("Invoices",), 8)]
    assert parsed.skipped == {"spam, trash or draft": 1}
    assert parsed.problems == ("line 16: not a mail: it has no headers",)


def test_a_mail_of_apple_and_a_mailbox_without_ending_are_known(tmp_path: Path) -> None:
    apple = written(tmp_path / "1.emlx", b"%d\n%s<plist/>" % (len(QUESTION), QUESTION))
    bare = written(tmp_path / "Inbox", mailbox(QUESTION, REPLY))
    text = written(tmp_path / "README", "From here on\nit is text: all of it\n")

    assert read_file(apple).memories[0].content == "Ann Meyer: Who renews the staging certificate?"
    assert (taken(bare), len(read_file(bare).memories), taken(text)) == ("mail", 2, "text")


@pytest.mark.parametrize("piece", ["<!--", "</", "<a ", "<a b='", "<![CDATA[", "<p>", "&#"])
def test_a_long_mail_of_tags_that_nothing_closes_is_read_at_once(tmp_path: Path, piece: str) -> None:
    rich = f"From: a@b.example\nSubject: s\nContent-Type: text/html\n\n{piece * 200_000}"
    path = written(tmp_path / "a.eml", rich)

    begin = process_time()
    memories = read_file(path).memories

    assert len(memories) == 1
    assert process_time() - begin < 60


def test_what_is_no_mail_is_refused_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.eml", b"\x00\x01\x02 nothing")

    with pytest.raises(FileError, match="is not a mail"):
        read_file(path)


@pytest.mark.parametrize("name", ["a.eml", "a.mbox", "a.emlx"])
def test_no_damaged_mail_makes_the_reader_raise_anything_but_a_file_error(tmp_path: Path, name: str) -> None:
    sample = mailbox(QUESTION, REPLY, rich()) if name == "a.mbox" else rich()

    assert all(survives(tmp_path / name, sample, form="mail", seed=seed) for seed in range(60))
