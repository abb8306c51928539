"""The page for people: from local files, within its own content policy."""

import json
import re
from pathlib import Path
from typing import get_args

from served import Served

import recollect.search
from recollect.render.text import BLOCKED, DEGRADED
from recollect.replies import Degraded
from recollect.surfaces.serve.page import PAGES


def test_the_page_and_its_files_are_sent_from_here(server: Served) -> None:
    said = {path: server.ask("GET", path) for path in PAGES}

    assert {path: each.status for path, each in said.items()} == dict.fromkeys(PAGES, 200)
    assert [said[path].headers["content-type"].partition(";")[0] for path in PAGES] == [
        each for _, each in PAGES.values()
    ]
    named = re.findall(r'(?:src|href)="([^"]+)"', said["/docs"].body.decode())
    assert {server.ask("GET", each).status for each in named} == {200}


def test_the_pages_hold_nothing_that_their_policy_forbids(server: Served) -> None:
    said = {path: server.ask("GET", path) for path in PAGES}
    policies = {each.headers["content-security-policy"] for each in said.values()}
    bodies = {path: each.body.decode() for path, each in said.items()}

    assert len(policies) == 1
    assert "script-src 'self'" in policies.copy().pop()
    assert "unsafe" not in policies.pop()
    for path, body in bodies.items():
        if path in ("/", "/docs"):
            assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|https?://", body) == []
        elif path.endswith(".js"):
            forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage"
            assert re.findall(forbidden, body) == [], path
            assert re.sub(r"http://www\.w3\.org/2000/svg", "", body).count("://") == 0, path


def test_the_page_weighs_less_than_200_kilobytes(server: Served) -> None:
    sizes = {path: len(server.ask("GET", path).body) for path in PAGES}

    assert sum(sizes.values()) < 200_000


def test_the_page_says_why_in_the_words_of_the_terminal(server: Served) -> None:
    script = server.ask("GET", "/ui/messages.js").body.decode()
    messages = json.loads(script.removeprefix("export const MESSAGES = ").removesuffix(";\n"))

    assert messages == {"degraded": DEGRADED, "blocked": BLOCKED}


def test_every_code_that_a_search_can_send_has_a_message() -> None:
    (folder,) = recollect.search.__path__
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("*.py")))
    dropped = set(re.findall(r'Drop\(code="(\w+)"', source))

    assert {"floor", "limit", "imprecise"} <= dropped <= BLOCKED.keys()
    assert set(get_args(Degraded)) == DEGRADED.keys()


def test_what_the_page_says_stands_in_one_file(server: Served) -> None:
    scripts = [path for path in PAGES if path.endswith(".js") and path not in ("/ui/text.js", "/docs/docs.js")]

    spoken = {
        path: re.findall(r'[>\s(,]"([A-Z][a-z]+ [a-z ]+[.!?]?)"', server.ask("GET", path).body.decode())
        for path in scripts
    }

    assert {path: texts for path, texts in spoken.items() if texts} == {}
