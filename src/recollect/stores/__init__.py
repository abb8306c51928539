"""Where memories live: one contract, several homes."""
