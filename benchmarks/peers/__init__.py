"""The parts of benchmarks/peers.py: what is asked, who answers, and the table of what came of it."""
