"""How fast recollect is, beside other tools in the same run: `python -m benchmarks.speed --help`."""
