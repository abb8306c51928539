"""The verbs of the table, by what they are about."""
