"""Documents as the texts of their tokens: written in one row each, and searched as they are where there are few."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from recollect.records import FIELDS, Bigram, Form, Leaf, Phrase, Prefix, TokenizedMemory, Word
from recollect.stores.bm25 import Postings, count_of, form_of

NAMED = ("title", "body")
"""The fields whose words count as those of a document."""


def text_of(tokens: Mapping[str, tuple[str, ...]]) -> str:
    """Return tokens as one text: a line for each field, a space between two tokens."""
    return "\n".join([" ".join(tokens.get(name, ())) for name in FIELDS])


def tokens_of(text: str) -> dict[str, tuple[str, ...]]:
    """Return the tokens that `text_of` wrote; none if a damaged row holds something else."""
    if not isinstance(text, str):
        return {}
    return {name: tuple(line.split(" ")) for name, line in zip(FIELDS, text.split("\n"), strict=False) if line}


def packed(stem: str, exact: str) -> bytes:
    """Return both texts of a document compressed: most exact forms are like their stems."""
    return zlib.compress(f"{stem}\n{exact}".encode("utf-8", "surrogatepass"), 1)


def unpacked(data: bytes) -> tuple[str, str]:
    """Return the texts that `packed` was given; a ValueError says that *data* is something else."""
    try:
        lines = zlib.decompress(data).decode("utf-8", "surrogatepass").split("\n")
        return "\n".join(lines[: len(FIELDS)]), "\n".join(lines[len(FIELDS) :])
    except zlib.error as error:
        raise ValueError(str(error)) from error


class TokenText(Struct, frozen=True):
    """One document: to whom it belongs, and its tokens with a space on both sides of each."""

    project: str
    superseded: bool
    stem: str
    exact: str
    stem_length: int
    exact_length: int

    @classmethod
    def of(cls, tokens: TokenizedMemory, *, project: str = "") -> "TokenText":
        """Return a document whose tokens are at hand."""
        stem, exact = (sum(map(len, fields.values())) for fields in (tokens.stem, tokens.exact))
        return cls(project, False, spaced(text_of(tokens.stem)), spaced(text_of(tokens.exact)), stem, exact)

    def text(self, form: Form) -> str:
        """Return the tokens of one form."""
        return self.stem if form == "stem" else self.exact

    def fields(self, form: Form) -> dict[str, tuple[str, ...]]:
        """Return the tokens of one form, by field."""
        return tokens_of(self.text(form)[1:-1].replace(" \n ", "\n"))

    def length(self, form: Form) -> int:
        """Return how many tokens of one form there are."""
        return self.stem_length if form == "stem" else self.exact_length


def spaced(text: str) -> str:
    """Return *text* with a space on both sides of each token."""
    return f" {text} ".replace("\n", " \n ")


def postings_in(leaf: Leaf, documents: Mapping[int, TokenText], weights: Mapping[str, float]) -> Postings:
    """Return where *leaf* stands among *documents*: most are passed over without a look at their tokens."""
    form, needle = form_of(leaf), _needle(leaf)
    found = {}
    for row, each in documents.items():
        if needle in each.text(form):
            count = count_of(leaf, each.fields(form), weights)
            if count > 0:
                found[row] = (count, each.length(form))
    return found


def _needle(leaf: Leaf) -> str:
    match leaf:
        case Word(text=text):
            return f" {text} "
        case Prefix(text=text):
            return f" {text}"
        case Phrase(texts=texts):
            return f" {' '.join(texts)} "
        case Bigram(first=first, second=second):
            return f" {first} {second} "


def frequencies_in(documents: Iterable[TokenText], form: Form, words: Iterable[str]) -> dict[str, int]:
    """Return how many *documents* hold each of *words* in title or body."""
    counts = dict.fromkeys(words, 0)
    for each in documents:
        held = [word for word in counts if f" {word} " in each.text(form)]
        if held:
            named = _named(each, form)
            for word in held:
                counts[word] += word in named
    return counts


def vocabulary_of(documents: Iterable[TokenText], form: Form) -> Counter[str]:
    """Return how many *documents* hold each word that stands in a title or body."""
    counts: Counter[str] = Counter()
    for each in documents:
        counts.update(_named(each, form))
    return counts


def _named(document: TokenText, form: Form) -> set[str]:
    fields = document.fields(form)
    return {token for name in NAMED for token in fields.get(name, ())}
