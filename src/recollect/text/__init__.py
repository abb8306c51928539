"""One analyser for both paths and every store."""
