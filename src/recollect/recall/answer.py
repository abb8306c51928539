"""A search as a recollection makes it: through the lens that is asked for, with the model before this one at hand."""

from collections.abc import Callable
from datetime import datetime

from recollect.embedders.contract import Embedder
from recollect.profile import Profile
from recollect.recall.lens import look_through
from recollect.replies import Reply, Request
from recollect.rerankers.contract import Reranker
from recollect.search import search
from recollect.search.former import former
from recollect.stores.contract import Store

Named = Callable[[str], Embedder | None]
"""How a model is found by its name."""


def answer(
    request: Request,
    *,
    store: Store,
    profile: Profile,
    now: datetime,
    embedder: Embedder | None,
    named: Named,
    reranker: Callable[[], Reranker | None] = lambda: None,
) -> Reply:
    """Answer *request* from *store* as *profile* ranks."""
    seen, boosting = look_through(request, store, bounds=profile.weigh.lens_bounds, now=now)
    return search(
        seen,
        store=store,
        profile=profile,
        now=now,
        embedder=embedder,
        former=lambda: former(store, embedder, scope=request.scope, named=named),
        lens=boosting,
        reranker=reranker,
    )
