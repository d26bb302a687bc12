"""Pictures. They draw what :mod:`surehold.planning` computed; they need the extra ``plot``."""
