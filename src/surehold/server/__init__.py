"""The service: a dataset behind HTTP, with a page to watch it."""
