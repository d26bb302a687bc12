"""A session over HTTP: the same methods, results and errors as a local one, and no record here."""

from holdfast.client.remote import RemoteSession, connect
from holdfast.client.transcript import RemoteTranscript

__all__ = ["RemoteSession", "RemoteTranscript", "connect"]
