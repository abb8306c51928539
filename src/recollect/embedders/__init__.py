"""Text becomes vectors: one contract, three embedders, and the models on this machine."""
