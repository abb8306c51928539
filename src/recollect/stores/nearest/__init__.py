"""Vectors in rows of arrays, in memory or mapped from files, and the search for the nearest among them: no SQL here."""
