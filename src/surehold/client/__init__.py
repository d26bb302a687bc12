"""A session over HTTP: the same methods, results and errors as a local one, and no record here."""

from surehold.client.remote import RemoteSession, connect
from surehold.client.transcript import RemoteTranscript

__all__ = ["RemoteSession", "RemoteTranscript", "connect"]
