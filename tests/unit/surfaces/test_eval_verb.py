"""`recollect eval`: judged sets through the real paths, scored, compared, exported, refused with a reason."""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from command import Ran, Run, on_a_terminal

from recollect.surfaces.cli import written

BIRDS = {
    "d1": "Ducks swim on the pond behind the mill.",
    "d2": "Geese fly south when the first frost comes.",
    "d3": "An owl hunts at night and sleeps by day.",
    "d4": "The heron waits for fish without moving.",
    "d5": "Swallows build their nests of mud under the roof.",
    "d6": "A woodpecker drums on hollow trees in spring.",
}
ASKED = {
    "q1": ("who swims on the pond?", "d1"),
    "q2": ("which birds fly south?", "d2"),
    "q3": ("what hunts at night?", "d3"),
    "q4": ("who waits for fish?", "d4"),
    "q5": ("nests of mud", "d5"),
    "q6": ("drumming on trees", "d6"),
}


def lines(path: Path, records: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def birds(folder: Path, **changes: Any) -> Path:
    """A tiny set in the BEIR layout; *changes* replace its documents, its questions or its judgements."""
    documents = changes.get("documents", BIRDS)
    asked = changes.get("asked", ASKED)
    (folder / "qrels").mkdir(parents=True)
    if documents is not None:
        lines(folder / "corpus.jsonl", [{"_id": name, "text": text} for name, text in documents.items()])
    lines(folder / "queries.jsonl", [{"_id": name, "text": text} for name, (text, _) in asked.items()])
    judged = changes.get("judged", {name: answer for name, (_, answer) in asked.items()})
    rows = "".join(f"{query}\t{document}\t1\n" for query, document in judged.items())
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", encoding="utf-8")
    return folder


@pytest.fixture
def evaluate(run: Run, tmp_path: Path) -> Run:
    """Evaluate with a small model whose vectors are kept in the test's own folder."""

    def asked(*words: str) -> Ran:
        model = () if "--model" in words else ("--model", "hashing")
        return run("eval", *words, *model, "--vectors", str(tmp_path / "kept"))

    return asked


def by_way(ran: Ran) -> dict[tuple[str, str, str], dict[str, Any]]:
    assert ran.code == 0, ran.err
    return {(each["dataset"], each["profile"], each["mode"]): each for each in ran.value["runs"]}


# --- what is measured -----------------------------------------------------------------------


def test_one_run_stands_at_the_top_with_its_measures_and_where_they_come_from(evaluate: Run, tmp_path: Path) -> None:
    ran = evaluate(str(birds(tmp_path / "birds")), "--json")

    told = ran.value
    assert {name: told[name] for name in ("dataset", "profile", "mode", "split", "queries")} == {
        "dataset": "birds",
        "profile": "default",
        "mode": "hybrid",
        "split": "all",
        "queries": 6,
    }
    assert told["measures"]["ndcg@10"] == 1.0
    assert {"recall@5", "recall_any@10", "recall_all@100", "mrr@10", "hit@1"} <= told["measures"].keys()
    assert 0 < told["latency_ms"]["median"] <= told["latency_ms"]["p95"]
    assert told["outcomes"] == {"answered": 6}
    (dataset,) = told["datasets"]
    assert re.fullmatch("[0-9a-f]{64}", dataset["sha256"])
    assert {"cpu", "cores", "memory", "system", "python", "sqlite", "recollect", "model", "date"} <= told[
        "facts"
    ].keys()
    assert "hashing" in told["facts"]["model"]


def test_the_users_own_store_is_neither_opened_nor_made(evaluate: Run, run: Run, tmp_path: Path) -> None:
    evaluate(str(birds(tmp_path / "birds")), "--mode", "keyword")

    assert not (tmp_path / "notes.db").exists()
    assert "notes.db" in run("stats").out


def test_people_get_a_table_by_set_and_what_each_way_gained(evaluate: Run, tmp_path: Path) -> None:
    folder = birds(tmp_path / "birds")

    text = evaluate(str(folder), "--mode", "keyword", "--mode", "hybrid", "--queries", "5").out

    assert text.startswith("split all, the first 5 queries of each set only; scored by document; model hashing")
    assert re.search(r"birds: 5 queries, sha256 [0-9a-f]{12}\n +nDCG@10 +R@1 +MRR@10", text)
    assert re.search(r"\n  default keyword +1\.000 ", text)
    assert re.search(r"default hybrid against default keyword, nDCG@10:\n  birds  [+-]0\.\d{3} \[", text)


def test_several_sets_end_in_an_overview(evaluate: Run, tmp_path: Path) -> None:
    first = birds(tmp_path / "birds")
    second = birds(tmp_path / "others", asked={"q1": ("ducks or geese", "d1"), "q2": ("mud", "d5")})

    text = evaluate(str(first), str(second), "--mode", "keyword").out

    overview = text.split("\n\n")[-1].splitlines()
    assert overview[0].split() == ["nDCG@10", "birds", "others", "mean"]
    assert overview[1].split()[:3] == ["default", "keyword", "1.000"]
    assert float(overview[1].split()[4]) == pytest.approx((1 + float(overview[1].split()[3])) / 2, abs=0.001)


def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    folder = birds(tmp_path / "birds")

    code, drawn = on_a_terminal("eval", str(folder), "--mode", "keyword", folder=tmp_path)

    assert code == 0
    assert "6/6 birds: documents" in drawn
    assert "6/6 birds: default keyword" in drawn
    assert drawn.endswith("\r\x1b[K")


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_longmemeval_file_is_asked_history_by_history_at_its_own_date(
    evaluate: Run, tmp_path: Path, mode: str
) -> None:
    def question(name: str, told: str) -> dict[str, object]:
        turns = [{"role": "user", "content": told, "has_answer": True}, {"role": "user", "content": "I like tea."}]
        return {
            "question_id": name,
            "question_type": "single-session-user",
            "question": "Where is my bike?",
            "question_date": "2023/05/30 (Tue) 23:40",
            "haystack_dates": ["2023/05/20 (Sat) 02:21"],
            "haystack_session_ids": ["s1"],
            "haystack_sessions": [turns],
            "answer_session_ids": ["s1"],
        }

    items = [question("a", "My bike is in the shed."), question("b", "My bike is at work.")]
    path = tmp_path / "memory.json"
    path.write_text(json.dumps([*items, question("c_abs", "The cat sleeps.")]), encoding="utf-8")

    told = evaluate(str(path), "--mode", mode, "--json").value

    assert (told["dataset"], told["queries"], told["measures"]["hit@1"]) == ("memory", 2, 1.0)
    assert told["unanswerable"]["asked"] == 1
    assert told["categories"] == {"single-session-user": {"queries": 2, "ndcg@10": 1.0, "hit@1": 1.0}}


def test_a_locomo_file_is_asked_within_each_conversation(evaluate: Run, tmp_path: Path) -> None:
    def conversation(name: str, place: str) -> dict[str, object]:
        turns = [
            {"speaker": "Ann", "dia_id": "D1:1", "text": f"I moved to {place} last week."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "How do you like it there?"},
        ]
        qa = [{"question": "Where did Ann move to?", "answer": place, "evidence": ["D1:1"], "category": 4}]
        return {
            "sample_id": name,
            "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"},
            "qa": qa,
        }

    path = tmp_path / "talks.json"
    path.write_text(json.dumps([conversation("x", "Oslo"), conversation("y", "Rome")]), encoding="utf-8")
    folder = tmp_path / "out"

    told = evaluate(str(path), "--export", str(folder), "--json").value

    assert told["measures"]["hit@1"] == 1.0
    assert told["measures"]["recall@100"] == 1.0
    exported = (folder / "talks.default.hybrid.trec").read_text(encoding="utf-8")
    assert {tuple(line.split()[0:3:2]) for line in exported.splitlines()} == {
        (f"{name}:q0", f"{name}:D1:{turn}") for name in "xy" for turn in (1, 2)
    }


def test_dev_and_test_part_the_queries_between_them(evaluate: Run, tmp_path: Path) -> None:
    folder, out = birds(tmp_path / "birds"), tmp_path / "out"

    halves = {}
    for split in ("dev", "test"):
        told = evaluate(
            str(folder), "--mode", "keyword", "--split", split, "--export", str(out / split), "--json"
        ).value
        text = (out / split / "birds.default.keyword.trec").read_text(encoding="utf-8")
        halves[split] = {line.split()[0] for line in text.splitlines()}
        assert (told["split"], told["queries"]) == (split, len(halves[split]))

    assert halves["dev"] == {name for name in ASKED if zlib.crc32(name.encode()) % 2 == 0}
    assert halves["dev"] | halves["test"] == set(ASKED)
    assert not halves["dev"] & halves["test"]


def test_sets_that_ask_the_same_documents_are_imported_once(tmp_path: Path) -> None:
    parent = birds(tmp_path / "birds")
    typo = birds(tmp_path / "birds_typo", documents=None, asked={"q1": ("who swmis on the pomd?", "d1")})

    _, drawn = on_a_terminal("eval", str(parent), str(typo), "--mode", "keyword", folder=tmp_path)

    assert drawn.count(": documents") == 1
    assert "1/1 birds_typo: default keyword" in drawn


def test_a_set_scores_alike_alone_and_beside_its_parent(evaluate: Run, tmp_path: Path) -> None:
    parent = birds(tmp_path / "birds")
    typo = birds(tmp_path / "birds_typo", documents=None, asked={"q1": ("who swmis on the pomd?", "d1")})

    alone = by_way(evaluate(str(typo), "--json"))
    beside = by_way(evaluate(str(parent), str(typo), "--json"))

    way = ("birds_typo", "default", "hybrid")
    assert beside[way]["measures"] == alone[way]["measures"]
    assert beside[way]["measures"]["hit@1"] == 1.0


# --- what is compared -----------------------------------------------------------------------


def test_profiles_are_compared_with_the_first_and_hybrid_with_its_legs(evaluate: Run, tmp_path: Path) -> None:
    folder = birds(tmp_path / "birds")
    ways = ("--profile", "default", "--profile", "cortex", "--mode", "keyword", "--mode", "hybrid")

    told = evaluate(str(folder), *ways, "--json").value

    pairs = [
        tuple(f"{each[side]['profile']} {each[side]['mode']}" for side in ("baseline", "new"))
        for each in told["comparisons"]
    ]
    assert pairs == [
        ("default keyword", "cortex keyword"),
        ("default hybrid", "cortex hybrid"),
        ("default keyword", "default hybrid"),
        ("cortex keyword", "cortex hybrid"),
    ]
    first = told["comparisons"][0]
    assert first["interval"][0] <= first["difference"] <= first["interval"][1]
    assert sum(first["datasets"]["birds"][kind] for kind in ("wins", "ties", "losses")) == 6


def test_two_profiles_of_one_name_are_told_apart(evaluate: Run, tmp_path: Path) -> None:
    own = tmp_path / "default.toml"
    own.write_text("limit = 3\nmax_limit = 3\n", encoding="utf-8")

    ran = evaluate(str(birds(tmp_path / "birds")), "--profile", "default", "--profile", str(own), "--json")

    assert [way[1] for way in by_way(ran)] == ["default", str(own)]


def test_an_exported_run_scores_as_the_search_that_made_it(evaluate: Run, tmp_path: Path) -> None:
    # Several documents share words, so that ranks beyond the first matter.
    documents = {f"d{number}": f"red fish number {number} {'swims ' * number}" for number in range(1, 9)}
    asked = {"q1": ("red fish swims", "d1"), "q2": ("fish number 4", "d4"), "q3": ("swims", "d2")}
    folder = birds(tmp_path / "fish", documents=documents, asked=asked)
    evaluate(str(folder), "--export", str(tmp_path / "out"))
    exported = tmp_path / "out" / "fish.default.hybrid.trec"

    runs = by_way(evaluate(str(folder), "--run-file", f"copy={exported}", "--json"))

    copied, made = runs["fish", "copy", "run-file"], runs["fish", "default", "hybrid"]
    assert copied["measures"] == made["measures"]
    assert 0 < made["measures"]["ndcg@10"] < 1
    assert copied["latency_ms"] is None


def test_reports_hold_the_sets_the_machine_and_the_queries_won_and_lost(evaluate: Run, tmp_path: Path) -> None:
    folder = birds(tmp_path / "birds")
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps({"q1": ["d2", "d1"], "q2": ["d2"]}), encoding="utf-8")
    texts = [tmp_path / "deep" / "report.md", tmp_path / "report.html"]
    outputs = [word for path in texts for word in ("--output", str(path))]

    ran = evaluate(str(folder), "--run-file", f"worse={worse}", *outputs)

    assert all(f"written: {path}" in ran.out for path in texts)
    markdown, page = (path.read_text(encoding="utf-8") for path in texts)
    for text in (markdown, page):
        assert "set birds: 6 queries scored of 6, 6 documents, sha256" in text
        assert "default hybrid against worse" in text
        assert "who swims on the pond?" in text
        assert all(name in text for name in ("nDCG@10", "Recall@100", "MRR@10", "Milliseconds", "cpu", "python"))
    assert "| worse | 0.272" in markdown
    assert "<svg" in page


# --- what is refused ------------------------------------------------------------------------


def test_a_baseline_that_found_nothing_fails_loudly(evaluate: Run, tmp_path: Path) -> None:
    judged = dict.fromkeys(ASKED, "no-such-document")

    ran = evaluate(str(birds(tmp_path / "birds", judged=judged)), "--mode", "keyword")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: birds, default keyword: the baseline is 0.0000: it found nothing")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--profile", "nobody"], "no profile is called 'nobody'"),
        (["--mode", "psychic"], "no mode is called 'psychic'"),
        (["--by", "session"], "birds has no sessions"),
        (["--queries", "0"], "queries cannot be 0"),
        (["--run-file", "bm25"], "--run-file 'bm25' is not NAME=PATH"),
        (["--run-file", "x=nowhere.trec"], "cannot read nowhere.trec"),
        (["--output", "report.pdf"], "--output report.pdf: a report is Markdown or HTML"),
        (["--output", "{set}/corpus.jsonl/report.md"], "cannot write to"),
        (["--export", "{set}/corpus.jsonl"], "cannot write to"),
        (["--split", "half"], "'half' is not one of"),
        (["--mode", "semantic", "--model", "none"], "no embedding model is chosen"),
        (["--model", "absent"], "absent"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line_with_a_hint(
    evaluate: Run, tmp_path: Path, words: list[str], told: str
) -> None:
    folder = birds(tmp_path / "birds")

    ran = evaluate(str(folder), *(word.replace("{set}", str(folder)) for word in words), "--json")

    assert ran.code in (2, 3)
    assert told in ran.error["message"]
    assert ran.error["hint"]


def test_a_folder_without_a_set_is_refused(evaluate: Run, tmp_path: Path) -> None:
    ran = evaluate(str(tmp_path / "nowhere"), "--json")

    assert ran.code == 2
    assert "holds no dataset" in ran.error["message"]


def test_a_set_without_judgements_is_refused(evaluate: Run, tmp_path: Path) -> None:
    folder = birds(tmp_path / "birds")
    (folder / "qrels" / "test.tsv").unlink()

    assert "has no judgements" in evaluate(str(folder), "--json").error["message"]


def test_a_split_without_queries_is_refused(evaluate: Run, tmp_path: Path) -> None:
    even = next(name for name in ASKED if zlib.crc32(name.encode()) % 2 == 0)
    folder = birds(tmp_path / "birds", asked={even: ASKED[even]})

    ran = evaluate(str(folder), "--split", "test", "--json")

    assert ran.error["message"] == "birds has no judged queries in the split test"


def test_another_tools_ranking_needs_one_set_and_its_queries(evaluate: Run, tmp_path: Path) -> None:
    one, two = birds(tmp_path / "birds"), birds(tmp_path / "others")
    run_file = tmp_path / "x.json"
    run_file.write_text(json.dumps({"elsewhere": ["d1"]}), encoding="utf-8")

    several = evaluate(str(one), str(two), "--run-file", f"x={run_file}", "--json")
    foreign = evaluate(str(one), "--run-file", f"x={run_file}", "--json")

    assert "for one set" in several.error["message"]
    assert "holds none of the queries of birds" in foreign.error["message"]


def test_two_sets_of_one_name_are_refused(evaluate: Run, tmp_path: Path) -> None:
    folders = [birds(tmp_path / place / "birds") for place in ("here", "there")]

    assert "two sets are called birds" in evaluate(*map(str, folders), "--json").error["message"]


def test_without_a_model_hybrid_says_that_words_answered_alone(evaluate: Run, tmp_path: Path) -> None:
    told = evaluate(str(birds(tmp_path / "birds")), "--model", "none", "--json").value

    assert told["degraded"] == ["no_model"]
    assert told["facts"]["model"] == "none"


def test_equal_runs_measure_alike(evaluate: Run, tmp_path: Path) -> None:
    folder = birds(tmp_path / "birds")

    first, second = (evaluate(str(folder), "--json").value for _ in range(2))

    assert written(first["measures"]) == written(second["measures"])
    assert first["datasets"] == second["datasets"]
