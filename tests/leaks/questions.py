"""How every verb and every method is asked about another project. One that is missing here fails the test.

Words of the other project are asked for by their beginnings, with a letter missing, and by the words around them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from two_projects import MARK, THEIR_ID, THEIRS

from recollect.recall.lens import Lens
from recollect.records import Filter, Memory
from recollect.remember.import_files import ImportReport

Values = Mapping[str, Any]
Call = tuple[tuple[Any, ...], Mapping[str, Any]]

ASKED = (
    "lighthouse",
    "",
    f"content{MARK[:-1]}",
    "content*",
    f"content{MARK}",
    f"project:{THEIRS} lighthouse",
    "-storm",
)
FOUND: Sequence[Values] = (
    *({"query": query, "facets": True, "explain": True, "limit": 50} for query in ASKED),
    {"query": "lighthouse", "include_superseded": True, "as_of": "2030-01-01"},
    {"query": "lighthouse", "mode": "semantic", "session": "talk"},
    {"query": "lighthouse", "tag": [f"tag{MARK}"], "type": [f"type{MARK}"]},
    {"query": "lighthouse", "source": ["notes"], "facets": True},
    {"query": "lighthouse", "lens": f"lens{MARK}"},
    {"query": "lighthouse", "lens": "none"},
)
ONE: Sequence[Values] = ({"id": THEIR_ID}, {"id": 10**6})
MODEL_ACTIONS_ELSEWHERE = {"install", "use"}
"""What changes this machine's models and settings, and reads no store."""


def verbs(folder: Path) -> dict[str, Sequence[Values]]:
    """Return what each verb is asked, by its name."""
    return {
        "add": (
            {"text": "The lighthouse port is 5432 and its keeper is unknown"},
            {"text": "Always lock the lighthouse before the storm because of wind said twice"},
            {"text": "Owner: nobody"},
        ),
        "import": (
            {"paths": [str(folder / "notes")]},
            {"paths": [str(folder / "notes")], "prune": True, "follow_links": True},
            {"paths": [str(folder / "nowhere")]},
            {},
        ),
        "roots": (
            *({"action": each, "path": str(folder / "notes")} for each in ("add", "list", "remove")),
            {"action": "remove", "path": f"/root{MARK}"},
        ),
        "project": (
            {"action": "list"},
            {"action": "rename", "name": THEIRS, "other": "taken"},
            {"action": "merge", "name": THEIRS, "other": "mine"},
            {"action": "alias", "name": THEIRS, "other": str(folder)},
        ),
        "capture": ({"text": "[MEMORY] type=gotcha: Lock the lighthouse before the storm"}, {"text": "nothing"}),
        "forget": (*ONE, {"id": ["20", f"#{THEIR_ID}"]}),
        "edit": tuple({"id": THEIR_ID, "content": text} for text in ("x", "The lighthouse port")),
        "tag": ({"id": [THEIR_ID], "add": ["x"]}, {"id": [20, THEIR_ID], "add": ["x"]}, {"id": 20, "add": ["x"]}),
        "open": ONE,
        "restore": (*ONE, {"id": 10}),
        "pin": (*ONE, {"id": THEIR_ID, "off": True}),
        "supersede": ({"id": THEIR_ID, "by": 20}, {"id": 20, "by": THEIR_ID}),
        "feedback": tuple({"id": THEIR_ID, "verdict": each} for each in ("used", "useful", "wrong")),
        "reinforce": ({"ids": ["1"]}, {"ids": ["2", "3"]}, {"ids": ["x"]}),
        "lens": (
            {"action": "list"},
            {"action": "create", "name": "mine", "type": ["note"]},
            {"action": "drop", "name": "mine"},
            {"action": "drop", "name": "none"},
            {"action": "drop", "name": f"lens{MARK}"},
        ),
        **dict.fromkeys(("search", "decisions", "changes", "how-it-works"), FOUND),
        "why": ({"id": THEIR_ID, "query": "lighthouse"}, {"id": 20, "query": "lighthouse"}),
        "related": (*ONE, *({"id": row, "limit": 50} for row in range(13, 30))),
        "inject": (
            {"task": "the lighthouse port", "session": "talk", "budget": 5000, "limit": 50},
            {"task": "the lighthouse port", "session": f"session{MARK}", "style": "xml"},
            {"task": "the lighthouse", "lens": "none"},
        ),
        "remind": (
            {"prompt": "prepare the lighthouse port"},
            {"prompt": f"the lighthouse{MARK}", "session": "talk", "limit": 50, "budget": 5000},
        ),
        "brief": ({}, {"session": "talk", "limit": 50, "budget": 5000}, {"session": f"session{MARK}"}),
        "show": (*ONE, *({"id": row} for row in range(1, 40))),
        "list": ({}, {"limit": 1000, "include_superseded": True}, {"as_of": "2030-01-01"}),
        "timeline": ({}, {"query": "lighthouse", "limit": 1000}),
        "facts": ({"limit": 1000}, {"subject": "Owner"}, {"subject": f"subject{MARK}"}),
        "stale": ({"below": 1.0, "days": 0},),
        "conflicts": ({},),
        "log": (
            *({"report": report} for report in ("recent", "never-recalled", "never-used", "unanswered", "prune")),
            {"report": "recent", "session": f"session{MARK}"},
            {"report": "recent", "session": "talk", "limit": 1000},
            *({"report": "provenance", "fact": fact} for fact in range(1, 9)),
        ),
        "activity": ({}, {"limit": 1000}, {"session": f"session{MARK}"}),
        "review": (
            {"action": "list"},
            {"action": "done", "key": f"trust:{THEIR_ID}"},
            {"action": "again", "key": f"trust:{THEIR_ID}"},
            {"action": "again", "key": "trust:0"},
        ),
        "stats": ({},),
        "token": (
            {"action": "list"},
            {"action": "create", "name": "mine"},
            {"action": "revoke", "name": f"token{MARK}"},
            {"action": "revoke", "name": "mine"},
        ),
        "doctor": ({},),
        "reindex": ({},),
        "init": ({},),
        "move": (
            {"old": str(folder / "notes.db"), "new": str(folder / "moved.db")},
            {"old": str(folder / "nowhere.db"), "new": str(folder / "other.db")},
            {"old": str(folder / "notes.db"), "new": str(folder / "notes.db")},
        ),
        "recover": ({"old": str(folder / "notes.db"), "new": str(folder / "saved.db")},),
        "export": ({}, {"path": str(folder / "export.jsonl")}, {"all": True, "vectors": True}),
        "backup": ({"path": str(folder / "copy.db")}, {"to": str(folder / "copies")}),
        "restore-backup": (
            {"path": str(folder / "notes.db")},
            {"path": str(folder / "notes.db"), "dry_run": True},
            {"path": str(folder / "nowhere.db")},
        ),
        "consolidate": ({"dry_run": True}, {"floor": 0.9, "dry_run": True}, {}, {"undo": True}),
        "embed": ({},),
        "model": (
            *({"action": each} for each in ("list", "verify")),
            {"action": "prune", "dry_run": True},
        ),
        "purge": (
            {"ids": [str(THEIR_ID)], "yes": True},
            {"source": "notes", "dry_run": True},
            {"older_than": "2100-01-01", "dry_run": True},
            {"source": f"source{MARK}", "yes": True, "verify": True},
            {"verify": True},
        ),
        "eval": ({"datasets": [str(folder / "nowhere")]},),
        "tune": ({}, {"judged": str(folder / "judged.tsv")}, {"show": True}, {"undo": True}, {"dry_run": True}),
    }


def methods(folder: Path) -> dict[str, Sequence[Call]]:
    """Return how each public method is called, by its name."""
    one: Sequence[Call] = (((THEIR_ID,), {}),)
    plain: Sequence[Call] = (((), {}),)
    seen = Filter(include_superseded=True)
    found: Sequence[Call] = tuple(
        ((query,), more)
        for query in ASKED
        for more in ({}, {"mode": "semantic"}, {"facets": True, "session": "talk"}, {"lens": "none"}, {"where": seen})
    )
    return {
        "activity": (*plain, ((), {"session": "talk"}), ((), {"session": f"session{MARK}", "limit": 1000})),
        "add": ((("The lighthouse port is 5432, said again",), {}), (("x",), {"project": THEIRS})),
        "add_all": ((([Memory(content="Lock the lighthouse")],), {}), (([Memory(content="x", project=THEIRS)],), {})),
        "archive": (*plain, ((), {"everything": True, "vectors": True})),
        "backups.create": (((folder / "copy.db",), {}),),
        "backups.create_in": (((folder / "copies",), {}),),
        "brief": (*plain, ((), {"session": "talk", "limit": 50, "budget": 5000})),
        "capture": ((("Note: lock the lighthouse before the storm",), {}),),
        "changes": found,
        "conflicts": plain,
        "consolidate": (((), {"apply": True}), *plain),
        "tokens.create": (((), {"name": "kept"}), ((), {"name": f"token{MARK}"})),
        "lenses.create": ((("kept",), {"type": "note"}),),
        "decisions": found,
        "doctor": plain,
        "edit": (((THEIR_ID,), {"content": "x"}), ((20,), {"content": "The lighthouse port is 5432"})),
        "lenses.drop": ((("none",), {}), ((f"lens{MARK}",), {})),
        "roots.remove": (((folder / "notes",), {}), (("/theirs",), {})),
        "embed": plain,
        "eval": (((folder / "nowhere",), {"mode": "keyword"}),),
        "embed_imported": (((ImportReport(sources={(THEIRS, "/theirs")}),), {}),),
        "export": plain,
        "facts": (*plain, ((), {"subject": "Owner"})),
        "feedback": (((THEIR_ID, "useful"), {"session": f"session{MARK}"}),),
        "flush": plain,
        "forget": one,
        "generations": plain,
        "how_it_works": found,
        "import_": (((folder / "notes",), {"prune": True, "follow_links": True}),),
        "roots.import_": (plain[0], ((), {"prune": True})),
        "in_project": ((("ours",), {}),),
        "project_of": ((("theirs",), {}), (("theirs",), {"claim": True})),
        "inject": ((("the lighthouse port",), {"session": "talk", "limit": 50, "budget": 5000}),),
        "remind": ((("the lighthouse port",), {"session": "talk", "limit": 50, "budget": 5000}),),
        "lenses.keep": (((Lens(name="kept"),), {}),),
        "roots.add": (((folder / "notes",), {"trust": "agent"}),),
        "backups.last": plain,
        "lenses.list": plain,
        "list": (*plain, ((), {"where": seen, "limit": 1000})),
        "log.never_recalled": plain,
        "log.never_used": plain,
        "note_failures": (((ImportReport(sources={(THEIRS, "/theirs")}),), {}),),
        "now": plain,
        "pin": one,
        "log.prompts": plain,
        "log.prune": (*plain, ((), {"max_size": 0.0})),
        "prune_vectors": (((), {"dry_run": True}),),
        "purge": (*one, ((), {"project": THEIRS}), ((), {"older_than": "2100-01-01", "dry_run": True})),
        "log.recent": (
            *plain,
            ((), {"session": "talk"}),
            ((), {"session": f"session{MARK}"}),
            ((), {"fact": 1}),
            ((), {"memory": THEIR_ID}),
        ),
        "reindex": plain,
        "reinforce": one,
        "related": (*one, *(((row,), {"limit": 50}) for row in range(13, 30))),
        "restore": one,
        "backups.restore": (((folder / "notes.db",), {}), ((folder / "notes.db",), {"dry_run": True})),
        "roots.list": plain,
        "tokens.revoke": ((("kept",), {}), ((f"token{MARK}",), {})),
        "review": plain,
        "search": found,
        "settle": (((f"trust:{THEIR_ID}",), {}), ((f"trust:{THEIR_ID}",), {"again": True})),
        "show": tuple(((row,), {}) for row in range(1, 40)),
        "stale": (((), {"below": 1.0, "days": 0}),),
        "stats": plain,
        "supersede": (((THEIR_ID, 20), {}), ((20, THEIR_ID), {})),
        "tag": (((THEIR_ID,), {"add": ["x"]}), ((20, THEIR_ID), {"add": ["x"]}), ((20,), {"add": ["x"]})),
        "timeline": (*plain, (("lighthouse",), {})),
        "tokens.list": plain,
        "tune": (*plain, ((folder / "judged.tsv",), {})),
        "tuning": plain,
        "log.unanswered": plain,
        "undo_consolidation": plain,
        "untune": plain,
        "why": (((THEIR_ID, "lighthouse"), {}), ((20, "lighthouse"), {})),
        "close": plain,
    }
