"""Models at work: each is loaded in a separate process and gives each record its value."""
