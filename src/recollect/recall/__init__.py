"""What happens after finding: injection, the log, feedback."""
