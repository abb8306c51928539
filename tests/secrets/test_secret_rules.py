"""Secrets are found as people write them, what looks like one stays, and the time grows with the text."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import Sample, decoys, formats, halves

from recollect.remember.secret_looks import PATTERNS
from recollect.remember.secret_rules import find_secrets, replace_secrets

SEEDS = (1, 2, 3)
LEAST_CAUGHT = 0.95
MOST_TAKEN = 0.02
# What may be taken beside a secret: the marks around a key, an address, the other codes of a list.
MOST_BESIDE = 80


def covered(sample: Sample) -> bool:
    """Tell whether every place of the secret is taken whole, and little beside it."""
    spans = find_secrets(sample.text, sample.key)
    places = [match.span() for match in re.finditer(re.escape(sample.secret), sample.text)]
    whole = all(any(span.start <= start and stop <= span.stop for span in spans) for start, stop in places)
    taken = sum(span.stop - span.start for span in spans)
    return whole and taken <= len(places) * len(sample.secret) + MOST_BESIDE


def redacted(text: str, key: str = "") -> str:
    return replace_secrets(text, find_secrets(text, key))


def told(kept: Sequence[Sample], every: Sequence[Sample]) -> str:
    return f"{len(kept)} of {len(every)}: " + "; ".join(f"{sample.name}: {sample.text!r}" for sample in kept)


# --- the bars -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("half", ["even", "odd"])
def test_nearly_every_secret_is_caught(half: str, seed: int) -> None:
    every = halves(formats(seed))[half]

    missed = [sample for sample in every if not covered(sample)]

    assert len(missed) <= (1 - LEAST_CAUGHT) * len(every), f"missed {told(missed, every)}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("half", ["even", "odd"])
def test_nearly_every_decoy_stays(half: str, seed: int) -> None:
    every = halves(decoys(seed))[half]

    taken = [sample for sample in every if find_secrets(sample.text, sample.key)]

    assert len(taken) <= MOST_TAKEN * len(every), f"took {told(taken, every)}"


def test_the_lists_are_long_enough_to_judge_by() -> None:
    counts = [len({sample.name for sample in each}) for each in (formats(1), decoys(1))]

    assert counts == [len(formats(1)), len(decoys(1))]
    assert counts[0] >= 170
    assert counts[1] >= 120


# --- laws -----------------------------------------------------------------------------------

CAUGHT = [sample for sample in formats(1) if not sample.key and covered(sample)]
LEFT = [sample for sample in decoys(1) if not sample.key and not find_secrets(sample.text)]


@given(some=st.lists(st.sampled_from(CAUGHT), min_size=1, max_size=6), joint=st.sampled_from(["\n", "\n\n", "\n- "]))
def test_what_is_caught_alone_is_caught_in_company(some: list[Sample], joint: str) -> None:
    if any("\n" in sample.text for sample in some):
        joint = "\n\n"  # a table or a key of several lines stands by itself
    text = joint.join(sample.text for sample in some)

    left = redacted(text)

    assert [sample.name for sample in some if sample.secret in left] == []


@given(secrets=st.lists(st.sampled_from(CAUGHT), max_size=3), stay=st.lists(st.sampled_from(LEFT), max_size=3))
def test_what_stays_alone_stays_beside_secrets(secrets: list[Sample], stay: list[Sample]) -> None:
    text = "\n\n".join(sample.text for pair in zip(secrets, stay, strict=False) for sample in pair)

    left = redacted(text)

    assert [sample.name for _, sample in zip(secrets, stay, strict=False) if sample.text not in left] == []


FRAGMENTS = st.sampled_from(
    [
        *(sample.secret for sample in CAUGHT[::7]),
        *("password", "secret", "token", "api_key", "pwd", "Authorization: ", "Bearer ", "user", "eyJ", "sk-", "AIza"),
        *("=", ": ", " ", "\n", "\\n", "://", ":", "@", "/", "-", "_", '"', "'", "`", ",", ".", ")", "]", "*", "${X}"),
        *("[redacted:credential]", "[redacted:", "[redacted:private-key]", "curl -u a:", " is ", "--password ", "密码"),
    ]
)


@given(text=st.lists(FRAGMENTS, max_size=14).map("".join) | st.text(max_size=80), key=st.sampled_from(["", "password"]))
def test_spans_are_in_order_and_apart_and_nothing_is_left_behind_them(text: str, key: str) -> None:
    spans = find_secrets(text, key)

    places = [place for span in spans for place in (span.start, span.stop)]
    assert places == sorted(places)
    assert all(0 <= span.start < span.stop <= len(text) for span in spans)
    assert find_secrets(text, key) == spans
    assert find_secrets(redacted(text, key), key) == ()


# --- examples -------------------------------------------------------------------------------

TOKEN = "ghp" + "_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ70123456789"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DB_PASSWORD=Sup3rS3cret # old", "DB_PASSWORD=[redacted:credential] # old"),
        ("password: 'three blind mice 7x'", "password: '[redacted:credential]'"),
        ("tool --password Sup3rS3cret run", "tool --password [redacted:credential] run"),
        ("curl -u ann:b1x https://example.org", "curl -u ann:[redacted:credential] https://example.org"),
        ("https://x.org/?user=7&token=a1B2c3D4e5F6&page=2", "https://x.org/?user=7&token=[redacted:credential]&page=2"),
        ("<password>Sup3rS3cret</password>", "<password>[redacted:credential]</password>"),
        ('{"a": "{\\"password\\": \\"Sup3rS3cret\\"}"}', '{"a": "{\\"password\\": \\"[redacted:credential]\\"}"}'),
        (f'{{"log": "done\\n{TOKEN}"}}', '{"log": "done\\n[redacted:github]"}'),
        (f"OPENAI_API_KEY={TOKEN}", "OPENAI_API_KEY=[redacted:github]"),
        (f"discord.com/api/webhooks/1234567/{TOKEN[4:]}", "discord.com/api/webhooks/[redacted:discord]"),
    ],
)
def test_the_words_around_a_secret_stay(text: str, left: str) -> None:
    assert redacted(text) == left


def test_a_value_named_once_is_taken_wherever_it_stands() -> None:
    text = "CI_TOKEN=a1B2c3D4e5F6g7H8 and later a1B2c3D4e5F6g7H8, unnamed"

    left = redacted(text)

    assert left == "CI_TOKEN=[redacted:credential] and later [redacted:credential], unnamed"


@pytest.mark.parametrize(
    ("number", "taken"),
    [
        ("4539 1488 0343 6467", True),
        ("4539-1488-0343-6467", True),
        ("4539148803436467", True),
        ("4539 1488 0343 6466", False),
        ("4242 4242 4242 4242", False),
        ("4539 1488 0343 6467 2024", False),
        ("order-4539148803436467", False),
    ],
)
def test_a_card_is_known_by_its_check_digit(number: str, *, taken: bool) -> None:
    assert bool(find_secrets(f"Paid with {number} today.")) is taken


@pytest.mark.parametrize(
    ("key", "value", "taken"),
    [
        ("password", "hunter2", True),
        ("DB-Password", "swordfish", True),
        ("Passwort", "three blind mice 7x", True),
        ("密码", "hunter2", True),
        ("apiToken", "a1b2c3d4e5f6", True),
        ("Authorization", "Bearer a1b2c3d4e5f6", True),
        ("password_reset_at", "2024-05-01T10:00:00Z", False),
        ("secret_name", "prod-db-2024", False),
        ("password", "kept in the vault", False),
        ("password", "${DB_PASSWORD}", False),
        ("tokens", "4096", False),
        ("next_token", "a1b2c3d4e5f6", False),
        ("note", "hunter2", False),
    ],
)
def test_the_key_of_a_field_tells_what_its_value_is(key: str, value: str, *, taken: bool) -> None:
    assert (redacted(value, key) != value) is taken


# --- time -----------------------------------------------------------------------------------

HOSTILE = [
    *("token=", "token=a1", "password:[", "password is ", "password for the ", "--password ", "password='", "key key "),
    *("-----BEGIN PRIVATE" + " KEY-----", "-----BEGIN PRIVATE" + " KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n"),
    *(
        "eyJaaaaaaaa-",
        "eyJaaaaaaaa.",
        "eyJaaaaaaaa.eyJ",
        "sk-",
        "sk-a1B2-",
        "ghp_",
        "SG.aaaaaaaaaaaaaaaa.",
        "x.abcdef.",
    ),
    *("://a:", "://a:b@", "?sig=", "a:5432:b:c:", "a@", "=", "curl -u ", "curl -u a:", "mysql -p", "http -a "),
    *("Authorization: bearer ", "bearer ", "_auth=", "4539 1488 0343 6467 ", "4539148803436467", "$2a$10$"),
    *("mnemonic word ", "recovery codes: ab12 cd34 ", "Private-Lines: 2\nAAAA\n", '"kty""d":"', "密码：", "密码：a1"),  # noqa: RUF001
    *("[redacted:", "a", "1", "aB3", " ", "\n", "\\n", "'", '"', "é", "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_forty_kilobytes_of_a_hostile_repetition_are_read_to_their_end(piece: str) -> None:
    text = piece * (40_000 // len(piece))

    spans = find_secrets(text)

    assert all(span.stop <= len(text) for span in spans)


def steps(text: str) -> int:
    """Return how many functions are called, ours and those of the interpreter, to read *text*."""
    count = 0

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        find_secrets(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("piece", HOSTILE)
def test_twice_the_text_takes_no_more_than_twice_the_steps(piece: str) -> None:
    find_secrets(piece * (4_000 // len(piece)))

    once, twice = (steps(piece * (length // len(piece))) for length in (2_000, 4_000))

    assert twice <= 2.2 * once + 50, f"{once} steps, then {twice}"


def repeats(parsed: object) -> Iterator[tuple[str, int]]:
    """Yield how every repetition of a parsed pattern is bounded, however deep it stands."""
    if isinstance(parsed, tuple) and parsed and str(parsed[0]).endswith("REPEAT"):
        yield str(parsed[0]), int(parsed[1][1])
    if isinstance(parsed, tuple | list) or hasattr(parsed, "data"):
        for part in getattr(parsed, "data", parsed):
            yield from repeats(part)


def test_no_pattern_can_go_back_far() -> None:
    for sample in (*formats(1), *decoys(1)):
        find_secrets(sample.text, sample.key)

    found = {pattern: list(repeats(re._parser.parse(pattern))) for pattern in PATTERNS}  # noqa: SLF001

    free = {
        pattern for pattern, how in found.items() for kind, most in how if kind != "POSSESSIVE_REPEAT" and most > 300
    }
    assert len(found) > 40
    assert free == set()


def test_importing_compiles_nothing() -> None:
    script = (
        "import recollect.remember.secret_rules, recollect.remember.secret_looks as looks; print(len(looks.PATTERNS))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.split() == ["0"]
