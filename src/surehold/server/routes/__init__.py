"""Routes: each translates a request for the service and its result into a response."""
