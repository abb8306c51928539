"""An inverted index of immutable parts in NumPy arrays: built in memory, mapped from files, ranked by the one BM25.

No SQL and no clock here. A store decides which parts there are and which of their rows are alive. Scores equal those
of `stores/bm25.py` after rounding. Importing this package loads NumPy, so a store does that only when it has a part.
"""
