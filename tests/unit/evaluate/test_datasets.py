"""Judged collections are read as their makers wrote them, and refused with a reason when broken."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.errors import FileError
from recollect.evaluate.datasets import as_memories, read_dataset, select, split_of

NAMES = (
    "code_cosqa",
    "cranfield",
    "ja_jsquad",
    "locomo",
    "locomo_typo",
    "scifact",
    "scifact_typo",
    "zh_cmrc2018",
)
HALVES = (("q1", "dev"), ("q2", "dev"), ("conv-26:q0", "dev"), ("q4", "test"), ("日本語", "test"))
"""Ids whose CRC-32 is even, and ids whose CRC-32 is odd."""
STUDY_SPLITS = {"locomo": (995, 987), "scifact": (160, 140), "cranfield": (110, 115), "code_cosqa": (522, 478)}

DOCUMENTS = [
    {"_id": "d1", "title": "Ducks", "text": "Ducks swim.", "metadata": {}},
    {"_id": "d2", "title": "", "text": "Geese fly south."},
]
QUERIES = [{"_id": "q1", "text": "who swims?", "metadata": {}}, {"_id": "q2", "text": "who flies?"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td2\t1\n"


def lines(records: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def beir(
    folder: Path,
    documents: Sequence[Mapping[str, object]] | None = DOCUMENTS,
    queries: Sequence[Mapping[str, object]] = QUERIES,
    qrels: Mapping[str, str] | None = None,
) -> Path:
    (folder / "qrels").mkdir(parents=True)
    if documents is not None:
        (folder / "corpus.jsonl").write_text(lines(documents), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(queries), encoding="utf-8")
    for name, text in ({"test": QRELS} if qrels is None else qrels).items():
        (folder / "qrels" / f"{name}.tsv").write_text(text, encoding="utf-8")
    return folder


def in_conversation(name: str, session: int | None, text: str, **more: object) -> dict[str, object]:
    metadata = {"conversation": name, "speaker": "Ann", **more}
    return {"_id": text, "text": text, "metadata": metadata if session is None else metadata | {"session": session}}


# --- the BEIR layout ------------------------------------------------------------------------


def test_a_beir_folder_gives_its_documents_queries_and_gains(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds")

    found = read_dataset(folder)

    assert found.name == "birds"
    assert [(one.id, one.title, one.text) for one in found.documents] == [
        ("d1", "Ducks", "Ducks swim."),
        ("d2", "", "Geese fly south."),
    ]
    assert [(one.id, one.text, one.group, one.unanswerable) for one in found.queries] == [
        ("q1", "who swims?", None, False),
        ("q2", "who flies?", None, False),
    ]
    assert found.judgements == {"q1": {"d1": 2}, "q2": {"d2": 1}}


def test_turns_carry_conversation_session_order_speaker_and_date(tmp_path: Path) -> None:
    spoken = [
        in_conversation("c1", 1, "one", date_time="1:56 pm on 8 May, 2023"),
        in_conversation("c1", 1, "two", date_time="1:56 pm on 8 May, 2023"),
        in_conversation("c1", 2, "three", date_time="someday"),
        in_conversation("c2", 1, "four"),
        in_conversation("c2", None, "five"),
    ]
    asked = [{"_id": "q", "text": "?", "metadata": {"conversation": "c1", "category": 2, "category_name": "temporal"}}]

    found = read_dataset(beir(tmp_path / "talk", spoken, asked, {"test": "q\ttwo\t1\n"}))

    assert [(one.group, one.session, one.turn, one.thread) for one in found.documents] == [
        ("c1", "1", 1, "c1/1"),
        ("c1", "1", 2, "c1/1"),
        ("c1", "2", 1, "c1/2"),
        ("c2", "1", 1, "c2/1"),
        ("c2", None, None, None),
    ]
    assert found.documents[0].said_at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert found.documents[2].said_at is None
    assert found.documents[0].speaker == "Ann"
    assert (found.queries[0].group, found.queries[0].category) == ("c1", "temporal")


def test_a_set_with_typos_takes_the_corpus_of_its_parent(tmp_path: Path) -> None:
    parent = beir(tmp_path / "birds")
    typo = beir(tmp_path / "birds_typo", None, [{"_id": "q1", "text": "who swmis?"}])

    found = read_dataset(typo)

    assert found.documents == read_dataset(parent).documents
    assert found.name == "birds_typo"


def test_the_judgements_of_the_test_split_are_taken_where_there_are_several(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds", qrels={"test": QRELS, "train": "q1\td2\t3\n"})

    found = read_dataset(folder)

    assert found.judgements == {"q1": {"d1": 2}, "q2": {"d2": 1}}


def test_without_test_judgements_every_file_counts(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds", qrels={"dev": "q1\td1\t1\n", "train": "q2\td2\t1\n"})

    found = read_dataset(folder)

    assert set(found.judgements) == {"q1", "q2"}


def test_a_folder_without_judgements_is_refused(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds", qrels={})

    with pytest.raises(FileError, match="birds has no judgements") as refused:
        read_dataset(folder)

    assert "qrels/test.tsv" in refused.value.hint


def test_queries_without_a_relevant_document_are_left_out_unless_unanswerable(tmp_path: Path) -> None:
    silent = {"_id": "q4", "text": "?", "metadata": {"unanswerable": True}}
    queries = [*QUERIES, {"_id": "q3", "text": "?"}, silent]
    folder = beir(tmp_path / "birds", queries=queries, qrels={"test": "q1\td1\t1\nq2\td2\t0\n"})

    found = read_dataset(folder)

    assert [(one.id, one.unanswerable) for one in found.queries] == [("q1", False), ("q4", True)]
    assert set(found.judgements) == {"q1"}


def test_blank_lines_a_byte_order_mark_and_windows_line_ends_are_no_trouble(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds")
    for path in (folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / "test.tsv"):
        text = path.read_text(encoding="utf-8")
        path.write_bytes(("\ufeff" + text.replace("\n", "\r\n") + "\r\n").encode())

    found = read_dataset(folder)

    assert [one.id for one in found.documents] == ["d1", "d2"]
    assert found.judgements == {"q1": {"d1": 2}, "q2": {"d2": 1}}


def test_a_line_separator_inside_a_text_does_not_end_its_line(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds", [{"_id": "d1", "text": "one\u2028two"}])

    found = read_dataset(folder)

    assert found.documents[0].text == "one\u2028two"


def test_numbers_may_serve_as_ids(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds", [{"_id": 7, "text": "seven"}], [{"_id": 1, "text": "?"}], {"test": "1\t7\t1\n"})

    found = read_dataset(folder)

    assert (found.documents[0].id, found.judgements) == ("7", {"1": {"7": 1}})


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}\n{broken\n', "corpus.jsonl line 2 is not JSON"),
        ("corpus.jsonl", "[1]\n", "corpus.jsonl line 1 is not an object"),
        ("corpus.jsonl", '{"_id": "d1"}\n', "corpus.jsonl line 1 has no 'text'"),
        ("corpus.jsonl", '\n{"text": "a"}\n', "corpus.jsonl line 2 has no '_id'"),
        ("corpus.jsonl", '{"_id": "d1", "text": "a", "metadata": 3}\n', "corpus.jsonl line 1 has no 'metadata'"),
        ("corpus.jsonl", '{"_id": "d1", "text": "a"}\n' * 2, "holds the id 'd1' more than once"),
        ("corpus.jsonl", "", "has no documents"),
        ("queries.jsonl", '{"_id": "q1", "text": "a"}\n' * 2, "holds the id 'q1' more than once"),
        ("queries.jsonl", '{"_id": "q1", "text": 5}\n', "queries.jsonl line 1 has no 'text'"),
        ("queries.jsonl", "\n", "has no queries"),
        ("qrels/test.tsv", QRELS + "q1 d1 1\n", "test.tsv line 4 is not a judgement"),
        ("qrels/test.tsv", "q1\td1\tmuch\n", "test.tsv line 1 is not a judgement"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", "has no judgements"),
        ("qrels/test.tsv", "other\td1\t1\n", "has no judgements"),
    ],
)
def test_a_broken_file_is_refused_with_its_place_and_a_hint(tmp_path: Path, name: str, text: str, told: str) -> None:
    folder = beir(tmp_path / "birds")
    (folder / name).write_text(text, encoding="utf-8")

    with pytest.raises(FileError, match=re.escape(told)) as refused:
        read_dataset(folder)

    assert refused.value.hint


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    folder = beir(tmp_path / "birds")
    (folder / "corpus.jsonl").write_bytes(b'{"_id": "d1", "text": "\xff\xfe"}\n')

    with pytest.raises(FileError, match=r"corpus\.jsonl line 1 is not JSON"):
        read_dataset(folder)


def test_a_query_within_an_unknown_conversation_is_refused(tmp_path: Path) -> None:
    queries = [{"_id": "q1", "text": "?", "metadata": {"conversation": "elsewhere"}}]
    folder = beir(tmp_path / "birds", queries=queries)

    with pytest.raises(FileError, match="asks 'q1' within a conversation that has no documents"):
        read_dataset(folder)


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_is_refused(tmp_path: Path, missing: str) -> None:
    folder = beir(tmp_path / "birds")
    (folder / missing).unlink()

    with pytest.raises(FileError) as refused:
        read_dataset(folder)

    assert refused.value.hint


def test_a_place_where_nothing_is_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no dataset"):
        read_dataset(tmp_path / "nowhere")


# --- LongMemEval ----------------------------------------------------------------------------


def question(name: str, sessions: Mapping[str, Sequence[Mapping[str, object]]], **more: object) -> dict[str, object]:
    return {
        "question_id": name,
        "question_type": "multi-session",
        "question": "Where is my bike?",
        "answer": "in the shed",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * len(sessions),
        "haystack_session_ids": list(sessions),
        "haystack_sessions": list(sessions.values()),
        "answer_session_ids": ["s1"],
    } | more


def said(text: str, *, role: str = "user", **more: object) -> dict[str, object]:
    return {"role": role, "content": text, **more}


def written(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_longmemeval_gives_every_question_a_history_of_its_own(tmp_path: Path) -> None:
    talk = {
        "s1": [said("The bike is in the shed.", has_answer=True), said("Noted.", role="assistant")],
        "s2": [said("I like tea.", has_answer=False)],
    }
    path = written(tmp_path / "memory.json", [question("a", talk), question("b", talk)])

    found = read_dataset(path)

    assert found.name == "memory"
    assert [one.id for one in found.documents] == [f"{q}:{t}" for q in "ab" for t in ("s1:1", "s1:2", "s2:1")]
    assert found.judgements == {"a": {"a:s1:1": 1}, "b": {"b:s1:1": 1}}
    turn = found.documents[1]
    assert (turn.text, turn.speaker, turn.group, turn.thread, turn.turn) == ("Noted.", "assistant", "a", "a/s1", 2)
    assert turn.said_at == datetime(2023, 5, 20, 2, 21, tzinfo=UTC)
    asked = found.queries[0]
    assert (asked.text, asked.group, asked.category) == ("Where is my bike?", "a", "multi-session")
    assert asked.asked_at == datetime(2023, 5, 30, 23, 40, tzinfo=UTC)


def test_longmemeval_questions_for_abstention_are_unanswerable_and_unjudged(tmp_path: Path) -> None:
    talk = {"s1": [said("The bike is in the shed.", has_answer=True)]}
    path = written(tmp_path / "memory.json", [question("a", talk), question("b_abs", talk)])

    found = read_dataset(path)

    assert [(one.id, one.unanswerable) for one in found.queries] == [("a", False), ("b_abs", True)]
    assert set(found.judgements) == {"a"}


def test_longmemeval_evidence_without_a_marked_turn_is_the_whole_answer_session(tmp_path: Path) -> None:
    talk = {"s1": [said("one"), said("two")], "s2": [said("three", has_answer=True)]}

    found = read_dataset(written(tmp_path / "memory.json", [question("a", talk)]))

    assert found.judgements == {"a": {"a:s1:1": 1, "a:s1:2": 1}}


def test_a_session_that_longmemeval_holds_twice_keeps_both(tmp_path: Path) -> None:
    twice = {
        "haystack_session_ids": ["s1", "s1"],
        "haystack_sessions": [[said("one", has_answer=True)], [said("two")]],
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 2,
    }

    found = read_dataset(written(tmp_path / "memory.json", [question("a", {}, **twice)]))

    assert [one.id for one in found.documents] == ["a:s1:1", "a:s1#2:1"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"haystack_dates": []}, "differ in number"),
        ({"question": None}, "has no 'text'"),
        ({"question_id": None}, "has no 'question_id'"),
        ({"haystack_sessions": [["a"]]}, "has no 'content'"),
        ({"haystack_sessions": [5]}, "has no 'content'"),
        ({"answer_session_ids": None}, "has no 'answer_session_ids'"),
    ],
)
def test_a_broken_longmemeval_item_is_refused_with_its_number(
    tmp_path: Path, change: Mapping[str, object], told: str
) -> None:
    good = question("a", {"s1": [said("one", has_answer=True)]})

    with pytest.raises(FileError, match=f"memory.json item 2.*{told}"):
        read_dataset(written(tmp_path / "memory.json", [good, good | {"question_id": "b"} | change]))


# --- LoCoMo ---------------------------------------------------------------------------------


def conversation(**more: object) -> dict[str, object]:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_2_date_time": "9:05 am on 1 June, 2023",
            "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "Back again."}],
            "session_1_date_time": "12:09 am on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Hello."},
                {"speaker": "Bo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a photo of a kite"},
            ],
            "session_3_date_time": "a session that never took place",
        },
        "qa": [
            {"question": "What flew?", "answer": "a kite", "evidence": ["D1:2"], "category": 4},
            {"question": "Who came?", "answer": 2, "evidence": ["D1:1; D2:01", "D9:9", "D"], "category": 1},
            {"question": "Why?", "evidence": [], "category": 3},
            {"question": "What sank?", "adversarial_answer": "a kite", "evidence": ["D1:2"], "category": 5},
        ],
    } | more


def test_locomo_gives_turns_in_the_order_of_the_sessions(tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path / "locomo10.json", [conversation()]))

    assert [(one.id, one.text, one.thread, one.turn) for one in found.documents] == [
        ("conv-1:D1:1", "Ann: Hello.", "conv-1/1", 1),
        ("conv-1:D1:2", "Bo: Look! [shares a photo of a kite]", "conv-1/1", 2),
        ("conv-1:D2:1", "Bo: Back again.", "conv-1/2", 1),
    ]
    assert found.documents[0].said_at == datetime(2023, 5, 8, 0, 9, tzinfo=UTC)


def test_locomo_evidence_is_read_however_it_is_written_and_only_where_the_turn_exists(tmp_path: Path) -> None:
    found = read_dataset(written(tmp_path / "locomo10.json", [conversation()]))

    assert found.judgements == {
        "conv-1:q0": {"conv-1:D1:2": 1},
        "conv-1:q1": {"conv-1:D1:1": 1, "conv-1:D2:1": 1},
        "conv-1:q3": {"conv-1:D1:2": 1},
    }
    assert [(one.id, one.category, one.unanswerable) for one in found.queries] == [
        ("conv-1:q0", "single-hop", False),
        ("conv-1:q1", "multi-hop", False),
        ("conv-1:q3", "adversarial", False),
    ]


def test_a_folder_with_one_json_file_is_that_dataset(tmp_path: Path) -> None:
    written(tmp_path / "locomo10.json", [conversation()])

    found = read_dataset(tmp_path)

    assert found.name == "locomo10"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "x.json is not JSON"),
        ("[]", "has no documents"),
        ("[3]", "item 1 is neither"),
        ('{"other": 1}', "item 1 is neither"),
        ('[{"conversation": 1, "sample_id": "a"}]', "item 1 has no 'conversation'"),
        ('[{"conversation": {"session_1": [7]}, "sample_id": "a", "qa": []}]', "item 1 has no 'speaker'"),
        ('[{"conversation": {}, "sample_id": "a", "qa": [7]}]', "item 1 has no 'question'"),
        ("[" * 100_000, "x.json is not JSON"),
    ],
)
def test_broken_json_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(FileError, match=told) as refused:
        read_dataset(path)

    assert refused.value.hint


# --- memories, halves, dates, fingerprints --------------------------------------------------


def test_documents_become_memories_with_their_ids_scope_thread_and_date(tmp_path: Path) -> None:
    memories = as_memories(read_dataset(written(tmp_path / "locomo10.json", [conversation()])))

    second = memories[1]
    assert (second.id, second.external_id, second.project) == (0, "conv-1:D1:2", "conv-1")
    assert (second.thread, second.turn) == ("conv-1/1", 2)
    assert second.observed_at == datetime(2023, 5, 8, 0, 9, tzinfo=UTC)
    assert (second.context.before, second.tags, dict(second.metadata)) == ("", (), {})


def test_documents_without_a_conversation_share_the_project_of_the_dataset(tmp_path: Path) -> None:
    dataset = read_dataset(beir(tmp_path / "birds"))

    memories = as_memories(dataset)

    assert [(one.project, one.title, one.content, one.thread) for one in memories] == [
        ("birds", "Ducks", "Ducks swim.", None),
        ("birds", "", "Geese fly south.", None),
    ]
    assert dataset.project_of(None) == "birds"


def test_a_document_with_only_a_title_keeps_its_words_and_one_without_words_is_left_out(tmp_path: Path) -> None:
    documents = [{"_id": "d1", "title": "Ducks", "text": " "}, {"_id": "d2", "title": "", "text": ""}]

    memories = as_memories(read_dataset(beir(tmp_path / "birds", documents)))

    assert [(one.external_id, one.title, one.content) for one in memories] == [("d1", "", "Ducks")]


@pytest.mark.parametrize(("name", "half"), HALVES)
def test_an_even_checksum_makes_a_query_dev(name: str, half: str) -> None:
    assert split_of(name) == half


def test_the_halves_part_the_queries(tmp_path: Path) -> None:
    queries = [{"_id": f"q{number}", "text": "?"} for number in range(20)]
    qrels = "".join(f"q{number}\td1\t1\n" for number in range(20))
    dataset = read_dataset(beir(tmp_path / "birds", queries=queries, qrels={"test": qrels}))

    dev, test = select(dataset.queries, "dev"), select(dataset.queries, "test")

    assert dev
    assert test
    assert sorted((*dev, *test), key=lambda one: int(one.id[1:])) == list(select(dataset.queries, "all"))


def test_the_fingerprint_of_one_file_is_its_sha256(tmp_path: Path) -> None:
    path = written(tmp_path / "locomo10.json", [conversation()])

    found = read_dataset(path)

    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_fingerprint_changes_with_any_file_and_not_with_the_folder(tmp_path: Path) -> None:
    first, same = read_dataset(beir(tmp_path / "a")), read_dataset(beir(tmp_path / "b"))
    other = read_dataset(beir(tmp_path / "c", qrels={"test": QRELS.replace("2", "3")}))

    assert set(first.files) == {"corpus.jsonl", "queries.jsonl", "qrels/test.tsv"}
    assert first.sha256 == same.sha256
    assert first.sha256 != other.sha256


# --- the public sets ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_public_set_loads_with_the_counts_its_readme_states(shared_data: Path, name: str) -> None:
    readme = (shared_data / name / "README.md").read_text(encoding="utf-8")
    counts = re.search(r"Counts: (\d+) docs, (\d+) queries, (\d+) qrels", readme)
    assert counts

    found = read_dataset(shared_data / name)

    judged = sum(map(len, found.judgements.values()))
    assert [len(found.documents), len(found.queries), judged] == list(map(int, counts.groups()))
    assert {one for gains in found.judgements.values() for one in gains} <= {one.id for one in found.documents}


@pytest.mark.parametrize("name", STUDY_SPLITS)
def test_the_halves_of_the_public_sets_are_those_of_the_study(shared_data: Path, name: str) -> None:
    queries = read_dataset(shared_data / name).queries

    halves = len(select(queries, "dev")), len(select(queries, "test"))

    assert halves == STUDY_SPLITS[name]


def test_every_turn_of_locomo_is_dated_and_stands_in_a_session(shared_data: Path) -> None:
    found = read_dataset(shared_data / "locomo")

    assert all(one.said_at and one.thread and one.turn and one.speaker for one in found.documents)
    assert len({one.group for one in found.documents}) == 10
    assert all(one.id.endswith(f":{one.turn}") for one in found.documents)
