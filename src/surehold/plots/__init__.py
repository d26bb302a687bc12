"""Pictures. They draw what :mod:`surehold.planning` worked out; they need the extra ``plot``."""
