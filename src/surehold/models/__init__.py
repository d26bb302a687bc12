"""A model as bytes, and what can be said about it without running it."""
