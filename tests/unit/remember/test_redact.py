"""Taking secrets out of texts and out of whole memories."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.records import Context, Memory
from recollect.remember.redact import redact_record, redact_text

# Put together from parts, so that no scanner takes these tests for a leak.
LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
SAMPLES = {
    "aws": "AKIA" + "QWERTY7UIOPASDF2",
    "github": "ghp" + "_" + LETTERS + "0123456789",
    "gitlab": "glpat" + "-" + LETTERS,
    "slack": "xoxb" + "-" + "123456789012-" + LETTERS,
    "stripe": "sk" + "_live_" + LETTERS,
    "openai": "sk" + "-proj-" + LETTERS + LETTERS,
    "anthropic": "sk" + "-ant-api03-" + LETTERS,
    "google": "AIza" + LETTERS + "0123_567",
    "npm": "npm" + "_" + LETTERS + "0123456789",
    "huggingface": "hf" + "_" + LETTERS + "0123456789",
    "jwt": "eyJ" + LETTERS + "." + "eyJ" + LETTERS + "." + LETTERS,
}
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJD" * 16 + "\n" + "QUJD" * 5 + "==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(("kind", "secret"), SAMPLES.items())
def test_a_token_is_known_by_its_beginning(kind: str, secret: str) -> None:
    redacted = redact_text(f"We use ({secret}), see the wiki. And once more:{secret}.")

    assert redacted.text == f"We use ([redacted:{kind}]), see the wiki. And once more:[redacted:{kind}]."
    assert redacted.count == 2


def test_a_private_key_is_taken_whole() -> None:
    redacted = redact_text(f"before\n{KEY}\nafter")

    assert redacted.text == "before\n[redacted:private-key]\nafter"
    assert redacted.count == 1


def test_a_private_key_inside_a_json_text_is_taken() -> None:
    text = '{"key": "' + KEY.replace("\n", "\\n") + '"}'

    redacted = redact_text(text)

    assert redacted.text == '{"key": "[redacted:private-key]"}'


def test_a_private_key_that_was_cut_off_is_taken_as_far_as_it_goes() -> None:
    redacted = redact_text(KEY[:90] + "\n\nThen prose.")

    assert redacted.text == "[redacted:private-key]\n\nThen prose."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password = hunter2hunter2", "password = [redacted:credential]"),
        ("DB_PASSWORD=Sup3rS3cret", "DB_PASSWORD=[redacted:credential]"),
        ("password: 48151623", "password: [redacted:credential]"),
        ('"api_key": "9f8e7d6c5b4a"', '"api_key": "[redacted:credential]"'),
        ("cfg['token'] = 'a1b2c3d4e5'", "cfg['token'] = '[redacted:credential]'"),
        ("**Password:** s3cr3tsauce", "**Password:** [redacted:credential]"),
        ("(the pwd: qwe123rty.)", "(the pwd: [redacted:credential].)"),
        ("client_secret => zyx987wvu", "client_secret => [redacted:credential]"),
        ("aws_secret_access_key = " + "a1B2/" * 8, "aws_secret_access_key = [redacted:credential]"),
        ("password=" + "a1" * 300 + " end", "password=[redacted:credential] end"),
        ("note (token=abc12345x", "note (token=[redacted:credential]"),
        ("Authorization: Bearer abcdef.ghijkl", "Authorization: Bearer [redacted:bearer]"),
        ("postgres://ann:pa55w0rd@db:5432/x", "postgres://ann:[redacted:login]@db:5432/x"),
        ("redis://:p@ss@host/0", "redis://:[redacted:login]@host/0"),
    ],
)
def test_a_value_that_looks_secret_is_taken_and_its_name_stays(text: str, expected: str) -> None:
    redacted = redact_text(text)

    assert redacted.text == expected
    assert redacted.count == 1


@pytest.mark.parametrize(
    "text",
    [
        "I forgot my password again, so the password reset takes 15 minutes.",
        "The password: documented-in-the-wiki, ask ops.",
        "Token: the smallest unit of text, about 4 characters.",
        "token_count = 12345678",
        "max_tokens: 1000000000",
        "tokenizer = BertTokenizerFast2",
        "secretary: JohnSmith99x",
        "token = request.headers2",
        "token = get_token2(request)",
        "token = tokens[index+1]",
        "password = <your-password-1>",
        "password: ********",
        "password: **required**",
        "password=${DB_PASSWORD_1}",
        "password=$DB_PASSWORD_1",
        "api_key = {{ api_key_2 }}",
        "secret: /run/secrets/db-2",
        "secret: https://vault.internal/v1/kv",
        "api_key: your-api-key-123",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
        "id 123e4567-e89b-12d3-a456-426614174000 is the order",
        "https://host:8080/path?x=y@z and user@example.org",
        "postgres://user:${PASSWORD}@db/x",
        "A key begins with -----BEGIN PRIVATE KEY----- and finishes with -----END PRIVATE KEY----- as always.",
        "-----BEGIN CERTIFICATE-----\nQUJDREVGR0hJSktM\n-----END CERTIFICATE-----",
        "sk-some-long-css-class-name-of-a-skeleton",
        "the asian AKIAL ghp_short eyJ.a.b",
    ],
)
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    redacted = redact_text(text)

    assert redacted.text == text
    assert redacted.count == 0


FRAGMENTS = st.sampled_from(
    [
        *(*SAMPLES.values(), KEY, KEY[:60], KEY[-40:], *KEY.split("\n"), "a1" * 110, "abc12345x"),
        *("password", "secret", "token", "api_key", "pwd", "Authorization: ", "Bearer ", "user", "eyJ", "sk-", "AIza"),
        *("=", ": ", " ", "\n", "\\n", "://", ":", "@", "/", "-", "_", '"', "'", "`", ",", ".", ")", "]", "*", "${X}"),
        *("[redacted:credential]", "[redacted:", "[redacted:private-key]"),
    ]
)


@given(text=st.lists(FRAGMENTS, max_size=14).map("".join) | st.text(max_size=80))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact_text(text)

    twice = redact_text(once.text)

    assert twice.text == once.text
    assert twice.count == 0


@pytest.mark.parametrize(
    "piece",
    [
        "token=",
        "-----BEGIN PRIVATE KEY-----",
        "eyJaaaaaaaa-",
        "://a:",
        "sk-",
        "password:[",
        "ghp_",
        "=",
        "a@",
        "eyJaaaaaaaa.",
    ],
)
def test_a_hostile_repetition_is_read_to_its_end(piece: str) -> None:
    text = piece * (100_000 // len(piece))

    redacted = redact_text(text)

    assert redact_text(redacted.text).count == 0


# --- whole memories -------------------------------------------------------------------------


def test_each_field_of_a_memory_is_redacted_and_says_how_many_secrets_it_held() -> None:
    secret = SAMPLES["github"]
    memory = Memory(
        content=f"Use {secret} or {secret}",
        title=f"The key {secret}",
        section=f"Keys > {secret}",
        tags=("ci", secret),
        context=Context(before=f"earlier {secret}", after="later", around=secret),
        metadata={"env": [{"note": secret}], "password": "hunter" + "2abc", "size": 3},
    )

    redacted = redact_record(memory)

    assert Counter(each.field for each in redacted.secrets) == {
        "content": 2,
        "title": 1,
        "tags": 1,
        "metadata": 2,
        "section": 1,
        "context": 2,
    }
    assert len(redacted.own) == 6  # what stands in its section and its neighbours' words is counted where it belongs
    assert secret not in repr(redacted.record)
    assert redacted.record.tags == ("ci", "[redacted:github]")
    assert redacted.record.metadata == {
        "env": [{"note": "[redacted:github]"}],
        "password": "[redacted:credential]",
        "size": 3,
    }


def test_a_memory_without_secrets_stays_the_same_object() -> None:
    memory = Memory(content="Deploy at noon: ask Ida", tags=("ops",), metadata={"token": "$TOKEN", "n": [1, None]})

    redacted = redact_record(memory)

    assert redacted.record is memory
    assert (redacted.secrets, redacted.own) == ((), ())
