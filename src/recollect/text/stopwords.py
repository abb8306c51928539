"""English words that say how a sentence is built and not what it is about; only questions drop them."""

from typing import Final

_WORDS: Final = """
    a an the this that these those such same other another each every any all both either neither some none
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves one
    who whom whose which what when where why how whoever whatever whichever whenever wherever
    am is are was were be been being have has had having do does did doing done
    can could might must shall should will would ought
    and or but nor so yet if then else than as because while until unless although though whether
    about above after against among around at before below between by
    down during for from in into of off on onto out over per since through throughout to toward
    towards under up upon via with within without
    again also already always just even ever only very too more most much many few less least own
    not no now there here
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mustn't shouldn't wasn't weren't won't
    wouldn't cannot dont didnt doesnt isnt im ive
"""

STOPWORDS: Final = frozenset(_WORDS.split())
"""Folded forms; a contraction of one of them with a clitic (`what's`, `they'll`) counts as well."""
