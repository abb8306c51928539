"""Tell text that carries nothing worth keeping: an acknowledgement, a heartbeat, a nudge."""

import re
import unicodedata
from typing import Final

_ACKNOWLEDGING: Final = frozenset(
    re.findall(
        r"\S+",
        """ok okay k kk yes yep yeah yup no nope sure thanks thank thx ty you very much cool great nice perfect
        awesome good fine done noted understood roger ack acknowledged lgtm got it sounds right alright please continue
        proceed go on ahead next hi hello hey bye ping pong test testing
        好 好的 谢谢 收到 はい ありがとう 了解 네 감사합니다""",
    )
)
"""Words of which an acknowledgement is made; a text of up to six of them says nothing else."""

_NUDGE: Final = re.compile(
    r"heartbeat(?:[ _-]?(?:ok|ping|check|poll))?"
    r"|(?:fire|run|start|trigger|rerun|re-run)(?: the| a)? tests?(?: now| again| please)?"
    r"|(?:try|do it|run it) (?:again|now)"
    r"|no (?:reply|response|output|changes)"
)


def low_signal(text: str) -> bool:
    """Return whether *text* as a whole is an acknowledgement, a heartbeat or a nudge, or has no word at all."""
    words = re.findall(r"[\w'-]+", unicodedata.normalize("NFKC", text).casefold())
    said = " ".join(words)
    return _NUDGE.fullmatch(said) is not None or (len(words) <= 6 and all(word in _ACKNOWLEDGING for word in words))
