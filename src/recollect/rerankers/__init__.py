"""Question and text are read together by a model: one contract, and any ONNX cross-encoder in a folder."""
