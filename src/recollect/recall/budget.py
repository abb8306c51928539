"""Estimate what a text costs a reader who pays by the token."""

import re
from collections.abc import Callable
from typing import Final

Counter = Callable[[str], int]
"""How many tokens a text costs; any function will do, a model's own tokenizer included."""

_CJK: Final = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]|[\U00020000-\U0003ffff]"
)


def count_tokens(text: str) -> int:
    """Return a token for every four characters, at least one if there is any text."""
    return max(1, len(text) // 4) if text else 0


def count_tokens_mixed(text: str) -> int:
    """Return a token for every CJK character and for every four of the others, at least one if there is any text."""
    dense = len(_CJK.findall(text))
    return max(1, dense + (len(text) - dense) // 4) if text else 0
