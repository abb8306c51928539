"""What a person reads of an exchange: the question that a hit answers, or the reply to it."""

import recollect
from kit import NOON
from recollect.render.layout import plain
from recollect.render.pages import found_page
from recollect.serialize import serialize


def test_a_reply_is_shown_once_with_the_question_before_it() -> None:
    db = recollect.open(":memory:", model="none", clock=lambda: NOON)
    db.add("Nara: Who renews the staging certificate?", thread="ops", turn=1)
    db.add("Otto: I will renew it in May.", thread="ops", turn=2)
    db.add("The staging server stands in Riga.")

    reply = db.search("who renews the staging certificate")

    shown = plain(found_page(reply))
    assert "reply to: Nara: Who renews the staging certificate? (#1)" in shown
    assert reply.hits[0].id == 2
    assert serialize(reply.hits[0])["exchange"] == [
        {"id": 1, "speaker": "Nara", "text": "Who renews the staging certificate?", "before": True}
    ]
