"""The scorer of a session elsewhere."""

from __future__ import annotations

from typing import Any

from surehold.queries import Schema
from surehold.session import Scorer


class RemoteScorer(Scorer):
    """Scores ONNX models, whose bytes are sent; whatever else is a model is code, and is not."""

    def _schema(self, session: Any) -> Schema:
        return Schema.of(session.columns)
