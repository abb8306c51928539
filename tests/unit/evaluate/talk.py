"""A set of two short conversations, small enough to score by hand."""

from datetime import UTC, datetime

from recollect.evaluate.datasets import Dataset, Document, EvalQuery

MAY, JUNE = datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)
TALK = Dataset(
    name="talk",
    documents=(
        Document(id="a1", text="The bike is in the shed.", group="a", session="1", turn=1, said_at=MAY),
        Document(id="a2", text="Then I will walk.", group="a", session="1", turn=2, said_at=MAY),
        Document(id="b1", text="The bike is at work.", group="b", session="1", turn=1, said_at=JUNE),
    ),
    queries=(
        EvalQuery(id="qa", text="where is the bike?", group="a", category="place"),
        EvalQuery(id="qb", text="where is the bike?", group="b", category="place"),
        EvalQuery(id="q", text="who will walk?", category="person"),
    ),
    judgements={"qa": {"a1": 1}, "qb": {"b1": 1}, "q": {"a2": 1}},
    files={"talk.json": "0" * 64},
)
