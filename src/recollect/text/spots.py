"""Find where a text holds what was asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from recollect.text.normalise import is_cjk
from recollect.text.reading import READINGS, Reading, characters
from recollect.text.written import places


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for: stems, exact forms, and beginnings of exact forms."""

    stems: frozenset[str] = frozenset()
    atoms: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()


class Spot(NamedTuple):
    """A place in a text, and which wanted tokens stand there."""

    start: int
    end: int
    found: frozenset[str]
    cjk: bool


def find_spots(text: str, wanted: Wanted) -> list[Spot]:
    """Return where *text* holds what is wanted, in order.

    CJK characters of a wanted pair count only together, unless nothing else is found: alone they are anywhere.
    """
    telling = _telling(wanted)
    return _spots(text, telling) or (_spots(text, wanted) if telling != wanted else [])


def _telling(wanted: Wanted) -> Wanted:
    """Return *wanted* without the CJK characters that a wanted pair holds."""
    pairs = "".join(stem for stem in wanted.stems if len(stem) == 2 and is_cjk(stem))
    return replace(wanted, stems=wanted.stems.difference(pairs), atoms=wanted.atoms.difference(pairs))


def _spots(text: str, wanted: Wanted) -> list[Spot]:
    singly = {token: frozenset({token}) for token in (*wanted.stems, *wanted.atoms, *wanted.prefixes) if is_cjk(token)}
    known: dict[str, frozenset[str]] = {}
    spots: list[Spot] = []
    for place in places(text):
        word = place[0]
        found = known.get(word)
        if found is None:
            if is_cjk(word):
                spots += _run_spots(word, place.start(), singly)
                continue
            found = known[word] = _found(READINGS[word], wanted)
        if found:
            spots.append(Spot(place.start(), place.end(), found, cjk=False))
    return spots


def _run_spots(run: str, at: int, singly: Mapping[str, frozenset[str]]) -> Iterator[Spot]:
    """Yield the spots of a CJK run that begins *at*; a pair that is wanted holds both its characters."""
    if not singly:
        return
    for (start, end, atom), (_, pair_end, after) in pairwise((*characters(run), (0, 0, ""))):
        if atom in singly:
            yield Spot(at + start, at + end, singly[atom], cjk=True)
        if after and atom + after in singly:
            yield Spot(at + start, at + pair_end, singly[atom + after], cjk=True)


def _found(reading: Reading, wanted: Wanted) -> frozenset[str]:
    """Return the wanted tokens that a word holds."""
    stems, atoms, prefixes = wanted.stems, wanted.atoms, wanted.prefixes
    # Most words hold none, which is quickly seen.
    if not prefixes and stems.isdisjoint(reading.stems) and atoms.isdisjoint(reading.atoms + reading.parts):
        return frozenset()
    exact = (*reading.atoms, *reading.parts)
    begun = (prefix for prefix in prefixes if prefix and any(form.startswith(prefix) for form in exact))
    return stems.intersection(reading.stems) | atoms.intersection(exact) | frozenset(begun)
