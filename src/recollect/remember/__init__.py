"""Taking things in: parse, chunk, redact, decide what is new, store, embed."""
