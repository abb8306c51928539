"""Put recollect into the configuration of agents and editors, and take it out again: exactly that, nothing else."""
