"""A turn that asks and the turns that answer it are judged, counted and shown together."""

from msgspec.structs import replace

from kit import NOON, candidates_of
from recollect.records import Context, Memory
from recollect.replies import Request, Share, Turn
from recollect.search.candidates import Candidate
from recollect.search.dialogue import exchanges_among
from recollect.search.exchange import collapse, exchanges_told, group
from recollect.search.parse import parse
from recollect.search.state import State

ASKED = Memory(id=1, content="Nara: Who renews the certificate?", thread="ops", turn=4)
REPLY = Memory(id=2, content="Otto: I will,\nin May.", thread="ops", turn=5)
OTHER = Memory(id=3, content="Otto: Lunch is here.", thread="ops", turn=9)
NOTE = Memory(id=4, content="Certificates are renewed in May.")


def found(*memories: Memory, query: str = "certificate", snippets: bool = True) -> State:
    """The *memories* as candidates, in their order."""
    request = Request(text=query, snippets=snippets)
    return State(
        request=request,
        query=parse(query, now=NOON),
        scope=request.scope,
        now=NOON,
        candidates=candidates_of(
            Candidate(id=memory.id, shares=(Share(ranking="words", rank=at, points=1 / at),))
            for at, memory in enumerate(memories, start=1)
        ),
        outlines={memory.id: memory for memory in memories},
        exchanges=exchanges_among({memory.id: memory for memory in memories}),
        memories={memory.id: memory for memory in memories},
    )


def order(state: State) -> list[int]:
    return [each.id for each in collapse(state).kept]


def test_a_question_and_its_reply_are_one_exchange() -> None:
    found = exchanges_among({each.id: each for each in (OTHER, REPLY, NOTE, ASKED)})

    assert found == {1: (1, 2), 2: (1, 2)}


def test_an_exchange_takes_one_place() -> None:
    state = found(REPLY, NOTE, ASKED, OTHER)

    groups = group(state.kept.ids, exchanges_among(state.memories), most=2)

    assert groups == [(2, 1), (4,)]


def test_the_other_turn_of_an_exchange_stands_behind_the_others() -> None:
    assert order(found(REPLY, ASKED, NOTE, OTHER)) == [2, 4, 3, 1]


def test_who_wants_only_the_order_gets_it_as_it_is() -> None:
    assert order(found(REPLY, ASKED, NOTE, snippets=False)) == [2, 1, 4]


def test_a_hit_tells_the_other_turns_of_its_exchange() -> None:
    told = exchanges_told(found(REPLY, ASKED, NOTE))

    assert told[2] == (Turn(id=1, speaker="Nara", text="Who renews the certificate?", before=True),)
    assert told[1] == (Turn(id=2, speaker="Otto", text="I will, in May.", before=False),)
    assert told[4] == ()


def test_of_a_question_that_was_not_found_the_words_are_told() -> None:
    reply = Memory(id=2, content="I will.", thread="ops", turn=5, context=Context(before="Who renews it?"))

    assert exchanges_told(found(reply))[2] == (Turn(id=None, speaker=None, text="Who renews it?", before=True),)


def test_a_long_turn_is_told_in_short() -> None:
    asked = Memory(id=1, content=f"{'really ' * 60}?", thread="ops", turn=4)

    (turn,) = exchanges_told(found(REPLY, asked))[2]

    assert len(turn.text) <= 160
    assert turn.text.endswith("…")


def test_a_turn_that_is_trusted_otherwise_is_not_told() -> None:
    asked = replace(ASKED, trust="untrusted")

    assert exchanges_told(found(REPLY, asked))[2] == ()
