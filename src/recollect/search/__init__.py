"""The way of a query: parse, retrieve, fuse, weigh, rerank, diversify, judge. `pipeline` has the stages."""

from typing import TYPE_CHECKING

from recollect.lazy import lazily

if TYPE_CHECKING:
    from recollect.search import answer, intent, related, state, why

__all__ = ["answer", "intent", "related", "state", "why"]
__getattr__ = lazily(__name__)
