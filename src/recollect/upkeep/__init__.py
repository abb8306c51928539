"""Keeping a store healthy: export, backup, checks."""
