"""Text becomes vectors: one contract, three ways to keep it, and the models on this machine."""
