"""A session over HTTP: the same methods, results and errors as locally, and no records here."""

from surehold.client.remote import RemoteSession, connect
from surehold.client.transcript import RemoteTranscript

__all__ = ["RemoteSession", "RemoteTranscript", "connect"]
