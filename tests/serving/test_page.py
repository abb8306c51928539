"""The page for people: from local files, within its own content policy."""

import re

from served import Served

from recollect.surfaces.serve.page import PAGES


def test_the_page_and_its_files_are_sent_from_here(server: Served) -> None:
    said = {path: server.ask("GET", path) for path in PAGES}

    assert {path: each.status for path, each in said.items()} == dict.fromkeys(PAGES, 200)
    assert [said[path].headers["content-type"].partition(";")[0] for path in PAGES] == [
        each for _, each in PAGES.values()
    ]
    named = re.findall(r'(?:src|href)="([^"]+)"', said["/docs"].body.decode())
    assert {server.ask("GET", each).status for each in named} == {200}


def test_the_page_holds_nothing_that_its_policy_forbids(server: Served) -> None:
    page, script = (server.ask("GET", path).body.decode() for path in ("/docs", "/docs/docs.js"))
    policy = server.ask("GET", "/docs").headers["content-security-policy"]

    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|https?://", page) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|https?://", script) == []
