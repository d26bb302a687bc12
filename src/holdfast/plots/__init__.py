"""Pictures. They draw what :mod:`holdfast.planning` worked out; they need the extra ``plot``."""
