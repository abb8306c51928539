"""What the PostgreSQL store does: the same answers as SQLite, filters, many clients, latency, and what breaks first."""
