"""What secrets look like: what a name says of its value, and whether a value is a secret, a word, a name or a path."""

import re
from binascii import a2b_base64
from functools import lru_cache
from typing import Final, Literal

Strength = Literal["password", "secret", "opaque", "none"]
"""What a name says of its value: a password, another secret, a secret only if it looks like one, nothing."""


PATTERNS: Final[dict[str, re.Pattern[str]]] = {}
"""Every pattern that a text has needed so far."""


def compiled(pattern: str) -> re.Pattern[str]:
    """Return *pattern* ready for use; it is compiled when it is first needed."""
    found = PATTERNS.get(pattern)
    if found is None:
        found = PATTERNS[pattern] = re.compile(pattern)
    return found


def _each(words: str) -> frozenset[str]:
    return frozenset(words.split())


# --- names ----------------------------------------------------------------------------------

FOREIGN: Final = ("contraseña", "Contraseña", "пароль", "Пароль", "密码", "密碼", "口令", "パスワード", "비밀번호")
"""What a password is called in other scripts; the rest of the names are identifiers."""

_PASSWORDS: Final = _each(
    "password passwd pass pwd pw passphrase passcode psk bindpw requirepass dbpass userpass rootpass adminpass "
    "storepass keypass smtppass passwort kennwort senha wachtwoord passe"
)
_SECRETS: Final = _each("secret token credential cred pat apikey jwt sessionid phpsessid jsessionid sid")
_PASSWORD_ENDINGS: Final = ("password", "passwd", "passphrase", "passcode")
_SECRET_ENDINGS: Final = ("secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "authkey")
_KEYS: Final = _each(
    "api app application access account secret private encryption encrypt decryption encrypted signing sign signature "
    "master auth authorization shared service client admin deploy session jwt hmac aes cipher crypto license licence "
    "subscription consumer webhook storage root live server security fernet cookie validation product unseal seal "
    "symmetric write management project user machine recovery activation rsa ec data"
)
_HARMLESS: Final = _each(
    "public pub primary foreign cache sort partition row idempotency object unique index hash group routing registry "
    "map dict parent composite natural surrogate lookup translation i18n message order dedup dedupe s3 site "
    "publishable host known hot shortcut arrow function home end enter return escape gpg pgp tls ssl cert locale "
    "config feature event node trace span batch job task column field range next page continuation pagination cursor "
    "lock change input output pad eos bos unk mask sep cls special result"
)
_QUALIFIERS: Final = _each(
    "prod production dev development test testing stage staging live sandbox old new backup primary secondary base64 "
    "b64 hex value string text plain plaintext raw default local main env eu us"
)


@lru_cache(maxsize=4096)
def strength_of(identifier: str) -> Strength:
    """Tell by its last word what a name stands for: `password_reset_at` is a time, `secret_name` a name."""
    words = _without_qualifiers(words_of(identifier))
    if not words:
        return "none"
    head, before = words[-1], words[:-1]
    single = head if head.endswith("ss") else head.removesuffix("s")
    if single in _PASSWORDS or single.endswith(_PASSWORD_ENDINGS):
        return "password"
    if _HARMLESS.intersection(before):
        return "none"
    if single in _SECRETS or single.endswith(_SECRET_ENDINGS) or words[-2:] == ("key", "base"):
        return "secret"
    if single == "key" and before:
        return "secret" if before[-1] in _KEYS else "opaque"
    return "opaque" if single == "session" else "none"


def _without_qualifiers(words: tuple[str, ...]) -> tuple[str, ...]:
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _QUALIFIERS):
        words = words[:-1]
    return words


@lru_cache(maxsize=4096)
def words_of(identifier: str) -> tuple[str, ...]:
    """Return the words of an identifier in any case: `dbPassword2` is db, password, 2."""
    found = compiled(r"[A-Z]{1,99}(?![a-z])|[A-Z]?[a-z]++|[0-9]++").findall(identifier)
    return tuple(word.lower() for word in found)


# --- values ---------------------------------------------------------------------------------

_PLACEHOLDERS: Final = (
    *("***", "xxxx", "...", "…", "your", "example", "changeme", "change_me", "change-me", "placeholder", "redacted"),
    *("dummy", "abcdefghij"),
)
_HOLES: Final = _each("insert replace sample fake mock todo fixme here none null")
_REFERENCE: Final = (
    r"(?i)\$2[abxy]?\$\d\d\$|\$[{(]|\$[a-z_]\w*+(?![!@#%^&*?+~=])|%\w++%|[{\[(<]|#\{|[@&]\w++\Z|~/|\.{1,2}/|\.values\."
    r"|[a-z][a-z0-9+.-]{1,20}://|\S{0,20}%[sdr(]|\S{0,20}\{\w*+\}"
    r"|(?:ssm|arn|vault|env|file|op|secret|projects|keyring|sops|kms|ref):"
)
_CODE: Final = r"[A-Za-z_]\w*+(?:(?:\.|::|->)[A-Za-z_]\w*+)++\Z|[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++\Z"
_PLAIN: Final = (
    r"\A(?:\d{4}-\d{2}-\d{2}\S*+|\d{1,4}[-.]?[A-Za-z]?[a-z]{0,10}|[$€£]?[-+]?[\d.,:/_-]++%?"
    r"|v?\d{1,9}(?:\.\d{1,9}){1,9}\S{0,20})\Z"
)
_WORDY: Final = r"(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,5}(?![a-z])|[A-Z]?[0-9]{1,4}|[_.:/-])*+\Z"
_SEGMENT: Final = r"[A-Za-z]{2,}+\d{0,4}|\d{1,4}[a-z]{0,4}|\d++|[A-Za-z]\d{0,3}|"
_NO_SECRETS: Final = _each(
    "password passwd pass secret token string text required optional none null true false hidden encrypted plain "
    "bearer basic default bytes varchar undefined unknown empty missing invalid hashed passwort kennwort contraseña "
    "admin user username root guest postgres mysql access refresh inherit credential credentials environment prompt "
    "enter always never"
)
_FUNCTION_WORDS: Final = _each(
    "the a an is are be in of on to for at by your our must and or not see ask from with please enter new access this "
    "that it was siehe eingeben bitte der die das password token secret passwort"
)


def is_password(written: str, *, sure: bool, noted: bool, quoted: bool, letters: bool) -> bool:
    """Tell whether a word under the name of a password is one.

    *sure* is a value that is written as one, *noted* one in running text; *letters* says whether letters alone will do.
    """
    if len(written) < (4 if sure else 6) or names_itself(written, quoted=quoted):
        return False
    if written.isalpha():
        return len(written) >= 6 and (letters or _is_scrambled(written))
    if written.isdigit():
        return len(written) >= 6
    if noted and compiled(_PLAIN).match(written):
        return False
    return has_digit(written) or bool(compiled(r"[!$%^#@&*?+~=]\S|[$#@^&~=]\Z").search(written))


def is_passphrase(written: str) -> bool:
    """Tell a passphrase from a remark: it has no function words, or a word that is more than letters."""
    words = written.split()
    if len(words) > 12 or any(compiled(r"[<>(){}\[\]|*=]|\A\W++\Z").search(word) for word in words):
        return False
    odd = [word for word in words if not word.strip(".,:;!?'").isalpha() and not word.strip(".,:;").isdigit()]
    return bool(odd) or not has_function_word(written)


def is_opaque(written: str, least: int, *, quoted: bool) -> bool:
    """Tell whether a value mixes letters with digits or symbols and is no name, date, number or version."""
    if len(written) < least or names_itself(written, quoted=quoted) or is_slug(written):
        return False
    if compiled(_PLAIN).match(written) or not compiled(r"[^\W\d_]").search(written):
        return False
    return has_digit(written) or bool(compiled(r"[!$%^]").search(written))


def is_random(written: str, least: int) -> bool:
    """Tell whether a value changes between small letters, capitals and digits as only chance makes it."""
    if len(written) < least or not is_mixed(written) or is_slug(written) or is_placeholder(written):
        return False
    if compiled(_WORDY).match(written) and _has_long_words(written):
        return False
    changes = len(compiled(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])").findall(written))
    return changes * 6 >= len(written)


def is_more_than_letters(written: str) -> bool:
    """Tell whether a value has a digit or a symbol, or changes its case as only chance makes it."""
    return bool(compiled(r"[0-9!$%^#@&*?+~=]").search(written)) or _is_scrambled(written)


def is_mixed(written: str) -> bool:
    """Tell whether *written* has a digit, or changes its case more often than the words of an identifier do."""
    return has_digit(written) or _is_scrambled(written)


def is_made_by_machine(body: str) -> bool:
    """Tell the random body of a token from a sample (`xxxx`) and from words with hyphens."""
    return len(set(body)) > 3 and not is_placeholder(body) and is_mixed(body) and not is_slug(body)


def is_slug(written: str) -> bool:
    """Tell whether a value is words and small numbers, joined: `prod-db-2024`, `kv/data/app2`, `user:12:v2`."""
    segments = compiled(r"[-_./:@+#]").split(written[:400])
    segment = compiled(_SEGMENT)
    return len(segments) > 1 and all(segment.fullmatch(each) for each in segments)


def is_digest(written: str) -> bool:
    """Tell whether a value has the form of a commit or a checksum."""
    return bool(compiled(r"(?i)(?:[0-9a-f]{40}|[0-9a-f]{64})\Z").match(written))


def is_id(written: str) -> bool:
    """Tell whether a value has the form of a commit, a checksum or a UUID."""
    uuid = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z"
    return is_digest(written) or bool(compiled(uuid).match(written))


def is_login(written: str) -> bool:
    """Tell whether a value is `name:password` in base64."""
    try:
        plain = a2b_base64(written, strict_mode=True)
    except ValueError:
        return False
    return b":" in plain[1:-1] and all(32 <= byte < 127 for byte in plain)


def is_code(written: str) -> bool:
    """Tell whether a value is a call, an attribute or a constant."""
    called = bool(compiled(r"\w[(\[{]").search(written)) if any(map(written.__contains__, "([{")) else False
    return (called or bool(compiled(_CODE).match(written))) and not is_random(written, 16)


def is_reference(written: str) -> bool:
    """Tell whether a value stands for a secret kept elsewhere: a variable, a path, an address, a form to fill in."""
    return bool(compiled(_REFERENCE).match(written) or is_placeholder(written))


def is_placeholder(written: str) -> bool:
    """Tell whether a value is a mask, a sample or a hole to be filled."""
    lowered = written.lower()
    if any(map(lowered.__contains__, _PLACEHOLDERS)):
        return True
    return any(map(lowered.__contains__, _HOLES)) and not _HOLES.isdisjoint(compiled(r"[a-z]++").findall(lowered))


def names_itself(written: str, *, quoted: bool) -> bool:
    """Tell whether a value is a word such as `required`, or the name of a variable such as `password2`."""
    words = words_of(written[:60])
    if "".join(words) in _NO_SECRETS:
        return True
    letters = [word for word in words if not word.isdigit()]
    if not letters or not compiled(r"[\w.]++\Z").match(written):
        return False
    if not quoted and words[-1] == letters[-1] and _is_name_word(letters[-1]):
        return True
    few = all(len(word) <= 2 for word in words if word.isdigit())
    return few and any(map(_is_name_word, letters)) and (not quoted or len(letters) == 1)


def has_function_word(written: str) -> bool:
    """Tell whether a value reads like a sentence."""
    return not _FUNCTION_WORDS.isdisjoint(compiled(r"[a-zß-ÿ]++").findall(written.lower()))


def has_digit(written: str) -> bool:
    """Tell whether a value has a digit from 0 to 9."""
    return bool(compiled(r"[0-9]").search(written))


def _is_name_word(word: str) -> bool:
    return word in _PASSWORDS or word in _SECRETS or word in {"key", "str", "bytes"}


def _is_scrambled(written: str) -> bool:
    return len(written) >= 8 and len(words_of(written[:60])) * 3 > len(written[:60])


def _has_long_words(written: str) -> bool:
    letters = [word for word in words_of(written[:400]) if not word.isdigit()]
    return sum(map(len, letters)) >= 3.5 * len(letters)
