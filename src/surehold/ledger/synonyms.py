"""Questions that were recorded in other words than their canonical form has now.

Earlier versions knew a question by its text as it was written, so ``5 < x`` and ``x > 5`` were two.
Their entries stay as they are. What they asked is found under the form that it has now as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from surehold.errors import SureholdError
from surehold.ledger.view import question
from surehold.queries import Expectation, Schema, query_of

_ASKED = ("answer", "charge", "claim", "derived")


def synonyms_of(entries: Iterable[tuple[str, str]]) -> Iterator[tuple[bytes, bytes]]:
    """The keys of questions and claims: that of the form they have now, and the recorded one.

    ``entries`` are kinds and bodies. What cannot be read is left to a replay, which names it.
    """
    schema: Schema | None = None
    for kind, text in entries:
        if kind == "create":
            schema = Schema.of(json.loads(text)["columns"])
        elif kind in _ASKED:
            assert schema is not None
            body = json.loads(text)
            try:
                yield from _pairs(kind, body, schema)
            except SureholdError:
                continue


def _pairs(kind: str, body: Mapping[str, Any], schema: Schema) -> Iterator[tuple[bytes, bytes]]:
    recorded = str(body["canonical"])
    query = query_of(recorded)
    if query.canonical == recorded:
        return
    if kind != "claim":
        t = int(body["round"])
        yield question(query.canonical, t), question(recorded, t)
        return
    from surehold.ledger.surprise_draft import subject_key, subject_of  # loads SciPy
    from surehold.mechanisms.outcomes.forms import ask_for

    asking = ask_for(query, schema, Expectation.of(**body["asked"]))
    yield subject_key(subject_of(asking, body["at"])), subject_key(str(body["subject"]))
