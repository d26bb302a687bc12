"""Running models: a payload is loaded in a process of its own and gives each record its value."""
