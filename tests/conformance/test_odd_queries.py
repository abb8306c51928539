"""Any text is a query: nothing raises, and what can be looked up is looked up."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import NOON, STORES
from recollect import Filter, Memory, Recollection
from recollect.profile import BUILT_IN, load_profile
from recollect.text.analyser import analyse

LITERAL = {
    "C++": "The parser is C++ code",
    "foo-bar": "foo-bar is the flag",
    "user@example.com": "Write to user@example.com about it",
    '"unclosed': "The unclosed one remains",
    "AND": "NAND gates and others",
    "a OR": "either a or b",
    "2026.4.10": "Release 2026.4.10 is out",
    "it's": "it's late",
    "col:val": "pairs such as col:val in the header",
    "(x": "x marks the spot",
    "x)": "x marks the spot",
    "nul\0byte": "a nul byte",
    "half \udfff surrogate": "half a surrogate",
    "since:banana": "since: banana is no date",
    "NOT x": "x marks the spot",
    "a AND (b OR": "either a or b",
    "foo*bar": "foo-bar is the flag",
}
NOTHING = ("*", "**", "\ud800", "\udfff\ud800", "-", "--", "()", ")(", "!?", "...", ":", "-\u200b", '(")')
LONG = {
    "one word": "x" * 100_000,
    "many words": "word " * 20_000,
    "one run": "数" * 100_000,
    "quotes": '" ' * 50_000,
    "open brackets": "(" * 100_000,
    "nested": "(" * 3_000 + "a OR b" + ")" * 3_000,
    "alternatives": " OR ".join(f"w{n}" for n in range(12_000)),
    "exclusions": " NOT ".join(f"w{n}" for n in range(12_000)),
    "prefixes": " ".join(f"p{n}*" for n in range(12_000)),
    "filters": " ".join(f"tag:t{n}" for n in range(12_000)),
    "a phrase": '"' + "go " * 30_000 + '"',
    "marks": "e" + "\u0301" * 100_000,
    "dots": "a." * 50_000,
}


@pytest.mark.case(48)
@pytest.mark.parametrize("profile", ["default", "boocode"])
def test_what_is_no_valid_syntax_is_looked_up_as_it_stands(db: Recollection, profile: str) -> None:
    db.add_all([Memory(content=text) for text in sorted(set(LITERAL.values()))])

    found = {query: [hit.memory.content for hit in db.search(query, profile=profile).hits] for query in LITERAL}

    assert [query for query, texts in found.items() if LITERAL[query] not in texts] == []


@pytest.mark.case(48)
@pytest.mark.parametrize("profile", BUILT_IN)
def test_a_query_without_a_word_finds_nothing_and_says_why(db: Recollection, profile: str) -> None:
    db.add("a memory")

    replies = {query: db.search(query, profile=profile) for query in NOTHING}

    assert {query: reply.hits for query, reply in replies.items()} == dict.fromkeys(NOTHING, ())
    assert {reply.reason.code for reply in replies.values() if reply.reason} == {"blank_query"}
    assert all(reply.reason for reply in replies.values())


@pytest.mark.parametrize("query", LONG.values(), ids=LONG)
@pytest.mark.full
def test_a_query_may_be_very_long(db: Recollection, query: str) -> None:
    row = db.add("needle in the haystack").id

    alone = db.search(query)
    after = db.search(f"needle {query}")

    assert [hit.id for hit in alone.hits] in ([], [row])
    assert after.outcome in ("answered", "weak", "none")


def test_the_first_words_of_a_very_long_query_are_asked(db: Recollection) -> None:
    row = db.add("needle in the haystack").id

    reply = db.search("needle " + " ".join(f"w{n}" for n in range(15_000)))

    assert [hit.id for hit in reply.hits] == [row]


@pytest.mark.parametrize("store", sorted(STORES))
def test_no_text_raises_whatever_the_profile(store: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("odd")
    db = Recollection(store=STORES[store](folder, analyse), profile=load_profile("default"), clock=lambda: NOON)
    db.add_all([Memory(content=text) for text in (*LITERAL.values(), "数据库 keyword", "ชื่อ", "😀 done")])
    signs = st.sampled_from(['"', "*", "(", ")", "-", " ", "AND", "OR", "NOT", ":", "type:", "since:", "tag:", "\0"])
    pieces = st.one_of(signs, st.text(max_size=6), st.sampled_from(["code", "数据", "x", "it's", "\ud800", "C++"]))
    queries = st.one_of(st.text(st.characters()), st.lists(pieces, max_size=14).map("".join))

    @settings(max_examples=40)
    @given(query=queries, limit=st.one_of(st.none(), st.integers(1, 2**63 - 1)))
    def no_text_raises(query: str, limit: int | None) -> None:
        for profile in BUILT_IN:
            reply = db.search(query, profile=profile, limit=limit)

            assert (reply.reason is None) == bool(reply.hits)

    no_text_raises()
    db.close()


def test_half_a_character_in_a_source_filter_matches_nothing_and_raises_nothing(db: Recollection) -> None:
    db.add("hello world", source="notes/a.md")

    reply = db.search("hello", where=Filter(sources=("notes/\ud83d",)))

    assert (reply.hits, reply.outcome) == ((), "none")


def test_a_source_is_found_by_any_part_of_its_path_between_slashes(db: Recollection) -> None:
    row = db.add("We ship on Fridays", source="/ada/notes/work/a.md").id

    wishes = ("notes", "notes/", "notes/work", "a.md", "work/a.md", "/ada", "otes", "note", "b.md", "notes/a.md")
    found = {wish: [hit.id for hit in db.search("ship", source=[wish]).hits] for wish in wishes}

    assert [bool(found[wish]) for wish in wishes] == [True] * 6 + [False] * 4
    assert [hit.id for hit in db.search("ship source:notes").hits] == [row]


def test_thousands_of_source_filters_are_one_question(db: Recollection) -> None:
    db.add("hello world", source="notes/a.md")
    wanted = (*(f"other/{number}.md" for number in range(4000)), "notes")

    reply = db.search("hello", where=Filter(sources=wanted))

    assert [hit.memory.source for hit in reply.hits] == ["notes/a.md"]
