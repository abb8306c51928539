"""Every field that is stored loses its secrets; names stay apart and stay the same; the report says where they were."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields
from samples import formats

from kit import NOON, STORES
from oracle import OracleStore
from recollect import Memory, Recollection
from recollect.profile import load_profile
from recollect.recall.lens import Lens
from recollect.remember.redact import FoundSecret, digests_of, redact_name, redact_record
from recollect.text.analyser import analyse

TOKENS = ["ghp" + "_" + letter * 3 + "dE6gH9jK2mN5pQ8sT1vW4yZ70123456789" for letter in "aBc"]
TOKEN, OTHER, _ = TOKENS
LOGIN = "https://ann:" + "Sup3rS3cret" + "@host/x"
TEXTS = [each.name for each in fields(Memory) if get_type_hints(Memory)[each.name] in (str, str | None)]


def opened(folder: Path, kind: str = "sqlite") -> Recollection:
    store = STORES[kind](folder, analyse)
    return Recollection(store=store, profile=load_profile("default"), clock=lambda: NOON)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Recollection]:
    with opened(tmp_path) as recollection:
        yield recollection


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("notes.db*"))


# --- every field ----------------------------------------------------------------------------


@pytest.mark.parametrize("field", TEXTS)
def test_no_field_of_a_memory_keeps_a_secret(field: str) -> None:
    memory = Memory(**{"content": "a text", field: f"see {TOKEN} there"})

    redacted = redact_record(memory, digests_of(OracleStore(analyse)))

    assert TOKEN not in repr(redacted.record)
    assert redacted.secrets == (FoundSecret(field=field, kind="github"),)


def test_whatever_is_said_of_a_memory_is_stored_without_secrets(db: Recollection, tmp_path: Path) -> None:
    everywhere: dict[str, Any] = {name: TOKEN for name in TEXTS if name not in ("content", "trust")}
    db.add(f"the key {TOKEN}", **everywhere, tags=[TOKEN], metadata={TOKEN: [{TOKEN: TOKEN}]}, path=TOKEN)
    db.capture(f"[MEMORY] type={TOKEN} tags={TOKEN}: the key is {TOKEN}")
    db.lenses.keep(Lens(name=TOKEN, types=(TOKEN,), sources=(TOKEN,), boosts={f"type:{TOKEN}": 2.0}))
    seen = db.search(f"the key {TOKEN}", session=TOKEN, lens=TOKEN)
    db.inject(f"the key {TOKEN}", session=TOKEN)
    db.feedback(1, "used", session=TOKEN, query=f"what is {TOKEN}")
    db.forget(1, reason=f"it said {TOKEN}")
    db.in_project(TOKEN).add("a note of a project")
    db.flush()

    assert seen.query == f"the key {TOKEN}", "what is asked is asked as it is"
    assert {each.query for each in db.log.recent(session=TOKEN)} == {"the key [redacted:github]"}
    assert [db.in_project(TOKEN).show(row).memory.id for row in (1, 3)] == [1, 3]
    assert db.show(1).events[-1].detail["reason"] == "it said [redacted:github]"
    assert TOKEN.encode() not in raw(tmp_path)
    assert TOKEN.lower().encode() not in raw(tmp_path)
    assert db.why(2, "the key", lens=TOKEN).id == 2
    db.lenses.drop(TOKEN)
    assert db.lenses.list() == ()


def test_names_and_keys_of_files_are_stored_without_secrets(db: Recollection, tmp_path: Path) -> None:
    folder = tmp_path / f"notes {TOKEN}"
    folder.mkdir()
    (folder / f"{OTHER}.md").write_text("# A\n\nThe first note.\n\n# B\n\nThe second note.\n")
    (folder / "b.csv").write_text(f"text,{TOKEN}\na row,of a table\n")
    (folder / "c.json").write_text(json.dumps([{"text": "a record", TOKEN: {OTHER: 1}, "id": OTHER, "type": TOKEN}]))
    (folder / "d.txt").write_text(f"Ann: hello\nBen: take {TOKEN}\nAnn: thanks\nBen: bye\nAnn: bye\n")

    first, again = db.import_(folder), db.import_(folder)
    (folder / "b.csv").unlink()
    after = db.import_(folder)

    assert (first.memories["new"] > 4, again.memories["new"], again.memories["removed"]) == (True, 0, 0)
    assert (again.files["skipped"], after.files["skipped"], after.memories["removed"]) == (4, 3, 0)
    assert not any(token.encode() in raw(tmp_path) for token in (TOKEN, OTHER, TOKEN.lower(), OTHER.lower()))


def test_an_export_of_another_store_loses_its_secrets_when_it_is_restored(db: Recollection, tmp_path: Path) -> None:
    names = {"external_id": TOKEN, "source": f"/n/{TOKEN}", "thread": TOKEN}
    record = {"recollect": 2, "record": "memory", "content": "a note", **names}
    (tmp_path / "all.jsonl").write_text(json.dumps({**record, "metadata": {TOKEN: TOKEN}, "wordings": [f"x {TOKEN}"]}))

    db.import_(tmp_path / "all.jsonl")

    assert TOKEN.encode() not in raw(tmp_path)


# --- names stay apart and stay the same -------------------------------------------------------


def test_two_ids_stay_two_and_the_same_id_stays_the_same(db: Recollection) -> None:
    ids = [db.add(f"record {at}", external_id=token).id for at, token in enumerate((*TOKENS, *TOKENS))]
    logins = [db.add(f"login {at}", external_id=LOGIN.replace("3", str(at))).id for at in range(3)]

    assert ids == [1, 2, 3, 1, 2, 3]
    assert len(set(logins)) == 3


def test_a_number_is_an_id_and_no_card(db: Recollection) -> None:
    db.add("a message", external_id="4539578763621486")

    assert db.show(1).memory.external_id == "4539578763621486"


def test_a_digest_says_nothing_outside_its_store() -> None:
    one, other = (digests_of(OracleStore(analyse)) for _ in range(2))

    assert one(TOKEN) == one(TOKEN) != other(TOKEN)
    assert (len(one(TOKEN)), len(one("hunter2hunter2"))) == (8, 4)
    assert redact_name(f"a/{TOKEN}", one).text == f"a/[redacted:github:{one(TOKEN)}]"


@given(sample=st.sampled_from([each for each in formats(1) if not each.key]), path=st.booleans())
def test_a_name_that_lost_its_secrets_has_none_left(sample: Any, path: bool) -> None:  # noqa: FBT001
    def digest(secret: str) -> str:
        return f"{len(secret):08x}"

    once = redact_name(sample.text, digest, path=path)

    again = redact_name(once.text, digest, path=path)

    assert (again.text, again.count) == (once.text, 0)


# --- the report -----------------------------------------------------------------------------


def test_the_report_says_which_field_of_which_memory(db: Recollection, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"text": "one"}, {"text": f"two {TOKEN}", "team": {TOKEN: 1}}]))

    added = db.add(f"zero {TOKEN} {OTHER}", title=TOKEN, source="by hand")
    report = db.import_(tmp_path / "a.json")

    told = [(each.field, each.kind, each.memory_id) for each in (*added.secrets, *report.secrets)]
    assert told == [
        *[("content", "github", 1)] * 2,
        ("title", "github", 1),
        ("content", "github", 3),
        ("metadata key", "github", 3),
    ]
    assert {each.source for each in report.secrets} == {str(tmp_path / "a.json")}
    assert (added.redacted, report.redacted) == (3, 2)


def test_what_all_memories_of_a_file_have_alike_is_told_once(db: Recollection, tmp_path: Path) -> None:
    (tmp_path / f"{TOKEN}.md").write_text("# A\n\nThe first note.\n\n# B\n\nThe second note.\n")

    report = db.import_(tmp_path / f"{TOKEN}.md")

    assert [each.field for each in report.secrets].count("source") == 1
    assert TOKEN not in repr(report.secrets)
