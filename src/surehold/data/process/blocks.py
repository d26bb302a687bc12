"""Records on their way to a model: written by the parent, read by the child without a copy.

Numbers alone become the matrix that most models want: float64 with NaN for missing values, in
column order as they are stored. Texts, and models that take Arrow, get a record batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surehold.data.process.channel import SharedBytes

if TYPE_CHECKING:
    import polars as pl

Form: TypeAlias = Literal["matrix", "arrow"]
Floats: TypeAlias = NDArray[np.float64]


class MatrixBlock:
    """Rows of a matrix, in Fortran order, whatever part of it a model gets.

    The order decides how a matrix product is summed, and so its last bit.
    """

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix

    def __len__(self) -> int:
        return len(self._matrix)

    def slice(self, start: int, stop: int) -> Floats:
        """Return a read-only range."""
        return self._matrix[start:stop]

    def take(self, rows: NDArray[np.intp]) -> Floats:
        """Return a copy of chosen records."""
        return self._matrix.T.take(rows, axis=1).T

    def filled(self, start: int, stop: int, filling: Any) -> Floats:
        """Return a range, filled up at its end with the same rows of another block."""
        matrix: Floats = filling._matrix.copy(order="F")
        matrix[: stop - start] = self._matrix[start:stop]
        return matrix

    def lightest(self, rows: NDArray[np.intp]) -> int:
        """Return one of the chosen records, suitable for repeating many times: all are alike."""
        return int(rows[0])

    def missing(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of the chosen records have a missing value."""
        return np.asarray(np.isnan(self._matrix[rows]).any(axis=1))


class ArrowBlock:
    """Rows of a record batch, with the methods of a matrix."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def slice(self, start: int, stop: int) -> Any:
        """Return a view."""
        return self._batch.slice(start, stop - start)

    def take(self, rows: NDArray[np.intp]) -> Any:
        """Return a new batch."""
        import pyarrow as pa

        return self._batch.take(pa.array(rows))

    def filled(self, start: int, stop: int, filling: Any) -> Any:
        """Return a new batch with as many rows as the other."""
        import pyarrow as pa

        rest = filling.slice(stop - start, len(filling))
        table = pa.Table.from_batches([self.slice(start, stop), rest.cast(self._batch.schema)])
        [batch] = table.combine_chunks().to_batches()
        return batch

    def lightest(self, rows: NDArray[np.intp]) -> int:
        """Return the one with the shortest texts: repeating a long one would fill the memory."""
        import pyarrow as pa
        import pyarrow.compute as pc

        lengths = np.zeros(self._batch.num_rows, np.int64)
        for column in self._batch.columns:
            if column.type == pa.string():
                found = pc.fill_null(pc.binary_length(column), 0)
                lengths += found.to_numpy(zero_copy_only=False)
        return int(rows[lengths[rows].argmin()])

    def missing(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return where there is a null."""
        found = np.zeros(self._batch.num_rows, np.bool_)
        for column in self._batch.columns:
            if column.null_count:
                found |= column.is_null().to_numpy(zero_copy_only=False)
        return found[rows]


Block: TypeAlias = MatrixBlock | ArrowBlock


# ----------------------------------------------------------------------------- the parent


def write_block(frame: pl.DataFrame, form: Form, memory: SharedBytes, longest: int) -> int:
    """Write a frame of the model's columns, in the model's order; return its size in bytes.

    Texts of more than ``longest`` bytes count as missing, so that the size of a block is bounded.
    """
    if form == "arrow":
        return _write_arrow(frame, memory, longest)
    rows, width = frame.shape
    size = rows * width * 8
    memory.reserve(max(size, 1))
    _fill(np.frombuffer(memory.view(size), np.float64).reshape(width, rows), frame)
    return size


def matrix_of(frame: pl.DataFrame) -> MatrixBlock:
    """Return a frame of numbers as a block of this process."""
    matrix = np.empty((frame.width, frame.height))
    _fill(matrix, frame)
    return MatrixBlock(matrix.T)


def _fill(matrix: Floats, frame: pl.DataFrame) -> None:
    import polars as pl

    for at, column in enumerate(frame.iter_columns()):
        if column.null_count():
            column = column.cast(pl.Float64).fill_null(math.nan)
        matrix[at] = column.to_numpy()


def _write_arrow(frame: pl.DataFrame, memory: SharedBytes, longest: int) -> int:
    import polars as pl
    import pyarrow as pa

    texts = pl.selectors.string()
    frame = frame.with_columns(pl.when(texts.str.len_bytes() <= longest).then(texts))
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()

    def write(sink: Any) -> None:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)

    counter = pa.MockOutputStream()
    write(counter)
    size = int(counter.size())
    memory.reserve(size)
    write(pa.FixedSizeBufferWriter(pa.py_buffer(memory.view(size))))
    return size


# ------------------------------------------------------------------------------ the child


def read_block(memory: SharedBytes, form: Form, rows: int, size: int, width: int) -> Block:
    """Return the block that was written."""
    if form == "matrix":
        matrix = np.frombuffer(memory.view(size), np.float64)
        return MatrixBlock(matrix.reshape(width, rows).T)
    import pyarrow as pa

    reader = pa.ipc.open_stream(pa.py_buffer(memory.view(size)))
    [batch] = reader.read_all().combine_chunks().to_batches()
    # Texts become of the common string type; the parent ensures that they fit.
    usual = {pa.large_string(): pa.string()}
    fields = [field.with_type(usual.get(field.type, field.type)) for field in batch.schema]
    return ArrowBlock(batch.cast(pa.schema(fields)))


LONGEST = 1 << 10
"""Bytes of a text that is given to an ONNX model. A record with a longer one has no value."""
LONGEST_OF_OWN = 1 << 16
"""The same for the analyst's own code, which gets a missing value for a longer text."""
_LONGEST_TEXT = "\U0001f600" + "a" * (LONGEST - 4)
"""Of all texts of that many bytes the one that takes most memory: four bytes a letter."""

Like: TypeAlias = Literal[0, 1, 2]
EVERY = -1


def made_up(
    kinds: Sequence[tuple[str, str]], form: Form, rows: int, like: Like, gap: int | None
) -> Block:
    """Make rows for columns of these names and types.

    They have zeros and empty texts (``like`` is 0), ones and short texts (1), or ones and the
    longest texts (2), with a gap in one column, or in every one.
    """
    number, text = min(like, 1), ("", "a", _LONGEST_TEXT)[like]
    if form == "matrix":
        matrix = np.full((len(kinds), rows), float(number))
        if gap is not None:
            matrix[slice(None) if gap == EVERY else gap] = np.nan
        return MatrixBlock(matrix.T)
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "str": pa.string()}
    values = {"int": number, "float": float(number), "bool": bool(number), "str": text}
    columns = [
        pa.array([None if gap in (at, EVERY) else values[kind]] * rows, types[kind])
        for at, (_, kind) in enumerate(kinds)
    ]
    return ArrowBlock(pa.RecordBatch.from_arrays(columns, names=[name for name, _ in kinds]))
