"""One warm process behind every door: results that are kept for a moment, equal questions asked once, warm answers."""
