"""ONNX files: what they say, what is refused, and what the runtime is given instead."""
