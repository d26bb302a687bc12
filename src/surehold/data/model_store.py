"""Uploaded models, stored by the hash of their bytes and asked about by name.

Only ONNX models: they are data. A pickle is a program.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from surehold import files
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.queries import Model, ModelMeasure, ModelPairs

if TYPE_CHECKING:
    from surehold.models.payload import ModelPayload

FOLDER = "models"
_NAME = re.compile("onnx:([0-9a-f]{64})", re.ASCII)
_AT_HAND = 8  # models that are kept in memory


@dataclass(frozen=True, repr=False)
class KeptModel(Shown):
    """A stored model: queries name it ``model``; ``classes`` is None if the file says none.

    ``name`` is what people call it, None if nobody has named it.
    """

    model: str
    bytes: int
    classes: tuple[str | int | float | bool, ...] | None
    name: str | None = None

    def __str__(self) -> str:
        called = "" if self.name is None else f"{self.name}: "
        return f"{called}{self.model}, {self.bytes:,} bytes"


class ModelStore:
    """The models of one dataset, in a folder that is created when needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._at_hand = lru_cache(_AT_HAND)(self._load)
        self._known: dict[str, KeptModel] = {}

    def keep(self, model: bytes | str | Path) -> KeptModel:
        """Check a model and store it durably; storing it again changes nothing."""
        from surehold.models.payload import payload_of

        payload = payload_of(model)
        if payload.kind != "onnx":
            raise InvalidInput("the model", "ONNX: bytes, or the name of a file", payload.kind)
        doing = "storing a model"
        if self._content(payload.digest) is None:
            with files.stored(doing, kept=False):
                files.make_folder(self._folder)
            path = self._folder / f"{payload.digest}.onnx"
            files.write_file(path, payload.content, doing)
        else:
            files.sync_names(self._folder, doing)  # its writer may have been cut off before
        return KeptModel(f"onnx:{payload.digest}", len(payload.content), payload.classes)

    @property
    def models(self) -> tuple[KeptModel, ...]:
        """Return all stored models, ordered by name."""
        files = sorted(self._folder.glob("*.onnx")) if self._folder.is_dir() else ()
        found = (self._describe(f"onnx:{path.stem}") for path in files)
        return tuple(model for model in found if model is not None)

    def _describe(self, name: str) -> KeptModel | None:
        """Describe a model; cached, because reading one is slow and its name fixes its content."""
        known = self._known.get(name)
        payload = None if known is not None else self.find(name)
        if payload is not None:
            known = self._known[name] = KeptModel(name, len(payload.content), payload.classes)
        return known

    @property
    def size(self) -> tuple[int, int]:
        """Return the total size in bytes, and the number of models."""
        with contextlib.suppress(FileNotFoundError):
            sizes = [path.stat().st_size for path in self._folder.iterdir()]
            return sum(sizes), len(sizes)
        return 0, 0

    def find(self, name: str) -> ModelPayload | None:
        """Return the model of that name."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        with contextlib.suppress(FileNotFoundError):
            return self._at_hand(match[1])
        return None

    def _load(self, digest: str) -> ModelPayload:
        from surehold.models.payload import payload_of

        content = self._content(digest)
        if content is None:
            raise FileNotFoundError(digest)  # nothing that a cache would keep
        return payload_of(content)

    def _content(self, digest: str) -> bytes | None:
        """Return the bytes of a model; None if they are missing or have changed."""
        try:
            content = (self._folder / f"{digest}.onnx").read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def attach_payload(self, source: ModelMeasure | ModelPairs) -> ModelMeasure:
        """Attach the model to a measure that only names it, if it is stored here.

        The classes are those of the query, which may differ from the model's.
        """
        measure = source.measure if isinstance(source, ModelPairs) else source
        if measure.model.payload is not None:
            return measure
        payload = self.find(measure.model.name)
        if payload is None:
            return measure
        if measure.target.values:
            from surehold.models.payload import payload_of

            classes = tuple(_label(value.value) for value in measure.target.values)
            payload = payload_of(payload.content, classes=classes)
        return replace(measure, model=Model(measure.model.name, payload))


def _label(value: str | float | bool) -> str | int | float | bool:
    """Return a label as a model has it: the language has no separate integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
