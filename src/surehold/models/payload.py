"""A model as bytes: what is evaluated, whatever happens to the object it was made from."""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import pickletools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from surehold.errors import InvalidInput
from surehold.models.base import TRUTHS, Label
from surehold.models.extras import load_package
from surehold.models.function_code import code_behind

Kind: TypeAlias = Literal["sklearn", "callable", "onnx"]
Takes: TypeAlias = Literal["numpy", "arrow"]

_LIBRARIES = {"numpy", "pandas", "scipy", "sklearn", *sys.stdlib_module_names}

_PROTOCOL = 5


@dataclass(frozen=True)
class ModelPayload:
    """A model that can be evaluated.

    ``digest`` names the model: SHA-256 of the content and, for a function that is pickled by its
    name only, of its code. ``classes`` are what labels and scores count by; None for regressors.
    """

    kind: Kind
    content: bytes = field(repr=False)
    digest: str
    takes: Takes
    classes: tuple[Label, ...] | None

    @cached_property
    def is_plain(self) -> bool:
        """Whether it runs no code but that of well-known libraries, which does not change."""
        return self.kind == "onnx" or (self.kind == "sklearn" and not _modules(self.content))


def payload_of(
    model: object, takes: Takes = "numpy", classes: tuple[Label, ...] | None = None
) -> ModelPayload:
    """The payload of a fitted estimator, of an ONNX model (bytes or a file) or of a callable.

    A callable is given a block of records, a matrix of floats or (``takes="arrow"``) an Arrow
    RecordBatch, and returns one number for each. ``classes`` is for ONNX models that do not say
    which labels they give.
    """
    if takes not in ("numpy", "arrow"):
        raise InvalidInput("takes", "'numpy' or 'arrow'", takes)
    if isinstance(model, bytes | bytearray | memoryview):
        return _onnx(bytes(model), takes, classes)
    if isinstance(model, str | Path):
        return _onnx(_read_file(model), takes, classes)
    if classes is not None:
        raise InvalidInput("classes", "left out: only an ONNX model may need them", classes)
    if isinstance(model, type):
        raise InvalidInput("the model", "an object", model, "make one of this class, and fit it")
    if callable(getattr(model, "get_params", None)) and callable(getattr(model, "predict", None)):
        return _estimator(model, takes)
    if callable(model):
        return _callable(model, takes)
    required = "a fitted scikit-learn estimator, an ONNX model or a callable"
    raise InvalidInput("the model", required, type(model).__name__)


# ------------------------------------------------------------------------- scikit-learn


def _estimator(model: Any, takes: Takes) -> ModelPayload:
    name = type(model).__name__
    if takes != "numpy":
        required = (
            "'numpy' for an estimator, which gets a matrix, or a DataFrame if there are texts"
        )
        raise InvalidInput("takes", required, takes)
    if not _is_fitted(model):
        raise InvalidInput("the model", "fitted", f"an unfitted {name}", "call its fit first")
    classes = _classes(model)
    try:
        content = pickle.dumps(model, _PROTOCOL)
        # A class of the user's script: the child has another __main__, so it has to come along.
        by_value = b"__main__" in content
    except Exception:
        by_value = True
    if by_value:
        content = _pickle(model, f"a {name}")
    else:
        # Once there and back: what was just fitted then has the bytes it has when it is read again
        # from a file, which differ in what the objects in it share.
        with contextlib.suppress(Exception):
            content = pickle.dumps(pickle.loads(content), _PROTOCOL)
    return ModelPayload("sklearn", content, _digest(content, _files(content)), takes, classes)


def _modules(content: bytes) -> set[str]:
    """Modules whose classes and functions a pickle needs, but for those of well-known libraries."""
    return {name for name in pickled_modules(content) if name.split(".")[0] not in _LIBRARIES}


def pickled_modules(content: bytes) -> Iterator[str]:
    """The modules that a pickle of protocol 4 or 5 names, in order.

    STACK_GLOBAL takes the name of a module and that of something in it, the last two texts that
    were put on the stack, as they are or from the memo.
    """
    memo: list[object] = []
    texts: list[str] = []
    last: object = None
    for code, argument, _ in pickletools.genops(content):
        if code.name in ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"):
            last = str(argument)
            texts.append(last)
        elif code.name == "MEMOIZE":
            memo.append(last)
        elif code.name in ("BINGET", "LONG_BINGET"):
            last = memo[int(argument)]  # type: ignore[arg-type]  # a place in the memo
            texts += [last] if isinstance(last, str) else []
        elif code.name == "STACK_GLOBAL":
            yield texts[-2]
            last = None
        else:
            last = None


def _files(content: bytes) -> bytes:
    """The files of those modules: a class that is edited makes another model of the same bytes."""
    found = hashlib.sha256()
    modules = sorted(_modules(content))
    for name in modules:
        with contextlib.suppress(OSError, TypeError):  # not every module is a file
            found.update(Path(str(sys.modules[name].__file__)).read_bytes())
    return found.digest() if modules else b""


def _is_fitted(model: Any) -> bool:
    """What scikit-learn's check_is_fitted goes by, without importing it."""
    is_fitted = getattr(model, "__sklearn_is_fitted__", getattr(model, "is_fitted", None))
    if callable(is_fitted):
        return bool(is_fitted())
    steps = getattr(model, "steps", None)
    if isinstance(steps, list) and steps:
        return _is_fitted(steps[-1][-1])
    names = getattr(model, "__dict__", {})
    return any(name.endswith("_") and not name.startswith("__") for name in names)


def _classes(model: Any) -> tuple[Label, ...] | None:
    found = getattr(model, "classes_", None)
    if found is None:
        return None
    # Of several outputs each has an array of its own, which is no label.
    classes = tuple(value.item() if getattr(value, "size", 0) == 1 else value for value in found)
    if not all(isinstance(value, str | int | float | bool) for value in classes):
        required = "texts, numbers or truth values, for one output"
        raise InvalidInput("the classes of the model", required, type(found).__name__)
    return classes


# ---------------------------------------------------------------------------- callables


def _callable(model: Callable[..., Any], takes: Takes) -> ModelPayload:
    content = _pickle(model, "a callable")
    # The same function of a matrix and of an Arrow batch are two models.
    digest = _digest(content, code_behind(model, content), b"arrow" if takes == "arrow" else b"")
    return ModelPayload("callable", content, digest, takes, TRUTHS)


def _pickle(model: object, what: str) -> bytes:
    cloudpickle = load_package("cloudpickle", f"{what} as a model")
    try:
        content: bytes = cloudpickle.dumps(model, _PROTOCOL)
    except Exception as error:
        hint = (
            "what it refers to is pickled too, so it can't hold open files, connections, locks or "
            f"generators ({type(error).__name__}: {_short(error)})"
        )
        raise InvalidInput("the model", "something that can be pickled", what, hint) from error
    return content


# --------------------------------------------------------------------------------- ONNX


def _onnx(content: bytes, takes: Takes, classes: tuple[Label, ...] | None) -> ModelPayload:
    from surehold.models.onnx.graph import Graph

    if takes != "numpy":
        raise InvalidInput("takes", "'numpy' for an ONNX model, which says what it takes", takes)
    graph = Graph.of(content)
    known = graph.classes if classes is None else tuple(classes)
    if graph.classes is not None and known is not None:
        _check_order(known, graph.classes)
    return ModelPayload("onnx", content, _digest(content), takes, known)


def _check_order(given: tuple[Label, ...], own: tuple[Label, ...]) -> None:
    """A model's own labels in another order would give every score to another class."""
    if given != own and sorted(given, key=_sort_key) == sorted(own, key=_sort_key):
        required = f"in the order in which the model has them: {', '.join(map(str, own))}"
        raise InvalidInput("classes", required, ", ".join(map(str, given)))


def _sort_key(label: Label) -> str:
    return str(float(label)) if isinstance(label, int | float) else f"'{label}'"


def _read_file(file: str | Path) -> bytes:
    path = Path(file)
    if path.suffix.lower() != ".onnx":
        required = "a file that ends in .onnx, an estimator or a callable"
        raise InvalidInput("the model", required, str(file))
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput("the model", "a file that can be read", str(file)) from error


def _digest(content: bytes, *besides: bytes) -> str:
    """SHA-256 of the content, and of what else makes the model what it is."""
    found = hashlib.sha256(content)
    for at, part in enumerate(besides):
        if part:
            found.update(bytes([at]) + hashlib.sha256(part).digest())
    return found.hexdigest()


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:200] + "..."
