"""Measuring what is found."""
