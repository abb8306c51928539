"""Make secrets and decoys at run time, from a seed, so that the repository holds none."""

import base64
import json
import re
import string
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

ALPHABETS = {
    "w": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "a": string.ascii_lowercase,
    "A": string.ascii_uppercase,
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "n": string.ascii_letters + string.digits + "-_",
    "s": string.ascii_letters + string.digits + "+/",
    "c": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "t": string.ascii_uppercase + "234567",
    "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "y": string.ascii_letters + string.digits + "./",
    "p": string.ascii_letters + string.digits + "!#*+?^_~-",
}
WORDS = (
    *("anchor", "basket", "candle", "dragon", "engine", "falcon", "garden", "hammer", "island", "jacket", "kitten"),
    *("ladder", "magnet", "needle", "orange", "pepper", "quartz", "rocket", "saddle", "temple", "umbrella", "velvet"),
    *("walnut", "yellow", "zipper"),
)
PIECE = re.compile(r"<(?:(?P<name>uuid|word|basic)|card(?P<start>\d+):(?P<length>\d+)|(?P<alphabet>\w)(?P<count>\d+))>")
PLACE = "§"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A text as people write it, the secret inside it (none in a decoy), and the key it stands under."""

    name: str
    text: str
    secret: str = ""
    key: str = ""


def filled(template: str, chance: Random) -> str:
    """Return *template* with each piece such as `<w20>` (20 letters or digits) made by *chance*."""
    return PIECE.sub(lambda piece: _made(piece, chance), template)


def _made(piece: re.Match[str], chance: Random) -> str:
    if piece["name"] == "uuid":
        return filled("<h8>-<h4>-4<h3>-a<h3>-<h12>", chance)
    if piece["name"] == "word":
        return chance.choice(WORDS)
    if piece["name"] == "basic":
        return base64.b64encode(filled("<word>:<w6><d2>!<w6>", chance).encode()).decode()
    if piece["start"]:
        return card(piece["start"], int(piece["length"]), chance)
    return "".join(chance.choices(ALPHABETS[piece["alphabet"]], k=int(piece["count"])))


def card(start: str, length: int, chance: Random) -> str:
    """Return a card number of *length* digits that begins with *start*; its last digit checks the others (Luhn)."""
    digits = start + "".join(chance.choices(string.digits, k=length - len(start) - 1))
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(digits))]
    return digits + str(-sum(value - 9 if value > 9 else value for value in doubled) % 10)


def halves(every: tuple[Sample, ...]) -> dict[str, tuple[Sample, ...]]:
    """Return *every* sample by the half it is in: rules are written with the even one and judged by both."""
    return {"even": every[::2], "odd": every[1::2]}


@cache
def rows(name: str) -> tuple[list[str], ...]:
    """Read the rows of a table: a name, a text, in it at `§` a secret, and the key above it where there is one.

    `<>` stands for nothing, in places where a scanner would take a template for a leak.
    """
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return tuple([part.replace("<>", "") for part in json.loads(line)] for line in lines)


def formats(seed: int) -> tuple[Sample, ...]:
    """Return secrets as people write them down, in every format, with values made from *seed*."""
    return tuple(_sample(Random(f"{seed} {row[0]}"), *row) for row in rows("formats.jsonl"))


def decoys(seed: int) -> tuple[Sample, ...]:
    """Return texts that look a little like secrets and hold none; taking them would spoil a memory."""
    return tuple(_sample(Random(f"{seed} {row[0]}"), *row) for row in rows("decoys.jsonl"))


def _sample(chance: Random, name: str, text: str, secret: str = "", key: str = "") -> Sample:
    made = filled(secret, chance)
    return Sample(name=name, text=filled(text, chance).replace(PLACE, made), secret=made, key=key)
