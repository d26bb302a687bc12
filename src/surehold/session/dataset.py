"""A dataset: a folder with a plan, records that grow, and the ledger that keeps account of them."""

from __future__ import annotations

import contextlib
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from surehold import files
from surehold.data import segments
from surehold.data.calibration import Calibration
from surehold.data.file_formats import FileFormat
from surehold.data.model_store import KeptModel
from surehold.data.record_store import Progress, RecordStore
from surehold.data.sources import sampled_schema
from surehold.data.statistics import Statistic
from surehold.data.table_store import KeptTable
from surehold.errors import InvalidInput, LedgerCorrupt, RequestRefused, StorageFailed
from surehold.formatting import Finding
from surehold.ledger.ledger import FILE, Ledger
from surehold.ledger.policy import Policy, Rules
from surehold.ledger.replay import replay
from surehold.mechanisms import NoiseSource, system_noise
from surehold.planning import Plan
from surehold.queries import Query, Schema
from surehold.queries.leaderboards import LeaderboardRules
from surehold.session.custody import Appended, Verification, describe_succession
from surehold.session.keys import check_text
from surehold.session.leaderboards import Leaderboard, open_leaderboard, rules_of
from surehold.session.overview import Overview
from surehold.session.questions import Questions
from surehold.session.release import Release
from surehold.session.reservations import Reservation, reservations, reserve
from surehold.session.session import Session

if TYPE_CHECKING:
    from surehold.data.process.runner import ModelLimits


def append_again(key: str) -> str:
    """What to do about an append that may or may not have been kept."""
    return (
        "it is unknown whether the records were kept; append them again with the key "
        f"{key} (--key {key}): they will be kept once"
    )


class Dataset(Overview):
    """An open dataset. Use :func:`create` and :func:`open`."""

    def __init__(
        self,
        path: Path,
        noise: NoiseSource | None = None,
        clock: Callable[[], float] = time.time,
        release: Release | None = None,
        is_witnessed: bool = True,
    ) -> None:
        """All but the path are arguments for tests; nothing that a user can reach passes them."""
        path = self.path = path.absolute()  # wherever the process goes from here
        folder = path / segments.FOLDER
        if not path.is_dir():
            hint = "surehold create makes one"
            raise InvalidInput("the dataset", "a folder that is there", str(path), hint)
        if not is_dataset(path):
            raise InvalidInput("the dataset", "a folder that surehold create made", str(path))
        self._ledger = Ledger(path, clock, is_witnessed)
        try:
            if not folder.is_dir():
                raise LedgerCorrupt("the dataset", f"its folder {segments.FOLDER!r} is missing")
            for segment in self._ledger.store.segments() if self._ledger.has_records else ():
                segments.check_there(folder, segment)
        except BaseException:
            self._ledger.close()
            raise
        self._data = RecordStore(self._ledger)
        self.noise = noise
        """Where sessions get their noise; None is the pool of this process, filled ahead."""
        self.release = release or Release()
        self._calibration = Calibration(self._data)

    def __len__(self) -> int:
        return self.n

    @property
    def present_round(self) -> int:
        """The round of the plan that is nearest to the present size: what a quote is for."""
        return self._ledger.rules.nearest_round(self.n)

    @property
    def last_entry(self) -> int:
        """The number of the last entry of the ledger: it rises with whatever happens."""
        return self._ledger.store.last()

    @property
    def edition(self) -> int | None:
        """A number that stays the same as long as recorded answers are found and shown the same.

        None if that can't be said without waiting.
        """
        return self._ledger.edition

    def __repr__(self) -> str:
        return f"<dataset {self.path.name!r}>"

    # ------------------------------------------------------------------------------- doing

    def append(
        self,
        source: Any,
        *,
        format: str | None = None,
        progress: Progress | None = None,
        again: bool = False,
        key: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
    ) -> Appended:
        """Keep all records of a file, a table or mappings, durably, or none of them.

        An append of a hundred records or more that was made before is refused: counted twice, they
        would void every width. Say ``again`` if they are new all the same. If a column identifies
        records, those with known ids are passed over; one that comes with other values than those
        that are kept refuses the append. With a ``key`` of the
        caller's own an append that is repeated, after a crash say, is made once, however small.
        CSV may have another ``delimiter`` (``";"``, ``"|"``, ``"tab"``) and ``decimal`` mark.
        """
        self._ledger.refresh()
        self._ledger.check_open()
        if key is not None:
            key = check_text("key", key)
        written = FileFormat.of(format, delimiter, decimal)
        try:
            added = self._data.append(source, written, progress, again, key)
            return Appended(added.count, added.n, added.known, added.note)
        except StorageFailed as error:
            if key is None or error.kept is not None:
                raise
            raise StorageFailed(error.what, error.reason, append_again(key), None) from error

    def check_writable(self) -> None:
        """Raise an error unless the ledger is intact at its end, and can be written now."""
        with contextlib.suppress(RequestRefused), self._ledger.writing():  # closed for good is fine
            pass
        files.check_writable(self.path)

    def load(self) -> None:
        """Load all records now, so that the first answer does not have to wait for that."""
        self._data.load(self.n)

    def keep_model(
        self,
        model: bytes | str | Path,
        name: str | None = None,
        *,
        default: str | None = None,
        analyst: str = "analyst",
    ) -> KeptModel:
        """Keep an ONNX model, so that queries may name it by its hash: ``accuracy('onnx:...')``.

        The ``name`` is kept for good, and shown in place of the hash; without one it is that of
        the file, if it is a file.
        """
        return self._data.keep_model(model, name, check_text("analyst", analyst), default)

    @property
    def models(self) -> tuple[KeptModel, ...]:
        """The models that are kept."""
        named = self._ledger.kept
        names = {of: str(body["name"]) for of, body in named.items()}
        return tuple(
            replace(one, name=names.get(one.model)) for one in self._data.model_store.models
        )

    @property
    def models_size(self) -> tuple[int, int]:
        """How many bytes they take, and how many there are."""
        return self._data.model_store.size

    def model_content(self, name: str) -> bytes | None:
        """A model that is kept, by its name; None if it is not."""
        payload = self._data.model_store.find(name)
        return None if payload is None else payload.content

    def keep_table(
        self,
        source: Any,
        name: str | None = None,
        *,
        default: str | None = None,
        analyst: str = "analyst",
    ) -> KeptTable:
        """Keep a side table, so that queries may name it: ``"run-17".answer = label``."""
        store = self._data.table_store
        return store.keep(source, check_text("analyst", analyst), name, default)

    @property
    def tables(self) -> tuple[KeptTable, ...]:
        """The side tables that are kept."""
        return self._data.table_store.tables

    def table(self, name: str) -> KeptTable:
        """A side table that is kept, by its name or its hash."""
        return self._data.table_store.find(name)

    @property
    def tables_size(self) -> tuple[int, int]:
        """How many bytes they take, and how many there are."""
        return self._data.table_store.size

    def limit_models(self, limits: ModelLimits) -> None:
        """What a model may use, in seconds and bytes, before its values count as 0."""
        self._data.limits = limits

    def register(self, statistic: Statistic) -> None:
        """Let analysts ask for a statistic of the custodian's own, by its name.

        What it declares is kept in the ledger for good; the function is not, so register it again
        whenever the dataset has been opened. The custodian vouches for the declaration.
        """
        if not isinstance(statistic, Statistic):
            raise InvalidInput("the statistic", "a Statistic", type(statistic).__name__)
        statistic.check(self._ledger.schema)
        with self._ledger.writing() as draft:
            draft.register(statistic.to_dict())
        self._data.register(statistic)

    def reserve(self, analyst: str, amount: object) -> Reservation:
        """Keep a part of the budget for an analyst, so that no one else can spend it.

        The amount is a share of the budget (0.25 is a quarter) or, under the surprise guard, a
        number of bits of the dataset's limit. It is what the analyst may count on in all: what they
        have spent is a part of it. A new amount replaces the one before, and 0 releases it.
        """
        return reserve(self._ledger, analyst, amount)

    @property
    def leaderboard_rules(self) -> LeaderboardRules:
        """What the custodian fixed when opening the leaderboard; refused if there is none."""
        return rules_of(self._ledger)

    def open_leaderboard(
        self,
        title: str,
        *,
        target: str,
        metric: str = "accuracy",
        step: object,
        daily: int = 10,
        public: bool = False,
        positive: str | float | bool | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> Leaderboard:
        """Open a leaderboard over the records that are there now; its question is fixed for good.

        A submission is a new best if it is better by a ``step`` or more. An analyst may submit
        ``daily`` times a day. A ``public`` board can be read without a token.
        """
        about = {"metric": metric, "step": step, "daily": daily, "public": public}
        about |= {"positive": positive, "low": low, "high": high}
        return open_leaderboard(self._ledger, title=title, target=target, **about)

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """What the custodian keeps for analysts."""
        return reservations(self._ledger)

    def session(
        self,
        analyst: str = "analyst",
        *,
        limit: float | None = None,
        fixed_time: bool | None = None,
    ) -> Session:
        """A way to ask.

        A ``limit`` is the share of the whole budget, up to 1, that this analyst may spend in all;
        under the surprise guard, the number of bits.
        The promise counts all analysts together, whatever their limits.

        With ``fixed_time`` an answer is released at a time that the query and the number of records
        decide, so that a clock tells nothing of what they hold. None does so for models and fits.
        """
        self._ledger.check_open()  # as far as is known; an ask refreshes the ledger, once
        noise = self.noise
        if noise is None:
            noise = system_noise()
            noise.fill()  # ahead of the first question, so that its time does not depend on noise
        return Session(
            self._ledger,
            self._data,
            noise,
            analyst,
            limit,
            release=self.release,
            calibration=self._calibration,
            fixed_time=fixed_time,
        )

    def query(self, text: str) -> Query:
        """The query of a text, or of a question's name."""
        return Questions(self._ledger, self._data.table_store).read(text)

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Replay all of it: hashes, charges, widths, records. LedgerCorrupt names what is wrong."""
        replayed = replay(self._ledger, self._data, progress)
        folder = self.path / segments.FOLDER
        named = {segments.path_of(folder, s.digest).name for s in self._ledger.store.segments()}
        return Verification(
            name=self.path.name,
            entries=replayed.entries,
            records=replayed.state.records,
            answers=replayed.state.answers,
            segments=len(replayed.segments),
            spent=self._spent(replayed.state.spent),
            recomputed=replayed.recomputed,
            head=replayed.head,
            strays=tuple(sorted(path.name for path in folder.iterdir() if path.name not in named)),
            succession=describe_succession(self._ledger),
        )

    def close(self) -> None:
        """Let go of the files. Everything is on the disk already."""
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def create(
    path: str | Path,
    *,
    plan: Plan | Mapping[str, Any] | str | Path | None = None,
    beta: object = None,
    claims: int | None = None,
    limit: object = None,
    columns: Mapping[str, str] | None = None,
    like: Any = None,
    id: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Dataset:
    """A new dataset in a folder of its own, bound to its guard.

    Give ``beta`` alone for the surprise guard: no plan, no noise, and what surprises costs bits.
    ``claims`` is how many intervals you expect to claim (20 if you do not say), and ``limit`` the
    most bits that all analysts together may spend, if there is to be a limit. Give a ``plan`` for
    the noise guard; it may be the path of a file that ``surehold plan --json`` wrote.

    Say the ``columns`` (int, float, bool, str, date, timestamp) or give a file or table ``like``
    which records will come; with both, ``columns`` corrects what the sample seems to hold. A CSV
    sample may have another ``delimiter`` than a comma, and another ``decimal`` mark than a point.

    ``id`` is the column, int or str, that identifies a record, if there is one: an append then adds
    the records with new ids only.
    """
    target = Path(path).absolute()
    rules = _rules_of(plan, beta, claims, limit)
    schema = _schema_of(columns, like, id, FileFormat.of(None, delimiter, decimal))
    check_vacant(target)
    # Built beside its place and moved there whole, so that it is never seen half made.
    making = target.parent / f".{target.name}.creating-{uuid.uuid4().hex}"
    doing = f"creating {target}"
    try:
        build(making, rules, schema, doing)
        files.name_files({making: target}, doing)
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(making)
    return Dataset(target)


def build(
    making: Path,
    rules: Rules,
    schema: Schema,
    doing: str,
    succeeds: Mapping[str, Any] | None = None,
) -> None:
    """Write a dataset without records into a new folder."""
    with files.stored(doing, kept=False):
        files.make_folder(making)  # anyone who can read records can void the promise
        files.make_folder(making / segments.FOLDER)
        Ledger.create(making, uuid.uuid4().hex, rules, schema, succeeds=succeeds)
        files.sync_folder(making)


def _rules_of(
    plan: Plan | Mapping[str, Any] | str | Path | None,
    beta: object,
    claims: int | None,
    limit: object,
) -> Rules:
    """The guard that a custodian asks for; it loads SciPy, which opening need not."""
    if (plan is None) == (beta is None):
        got = Finding("neither is given" if plan is None else "both are given")
        raise InvalidInput("the guard", "given by plan (noise) or by beta (surprise: 0.05)", got)
    if plan is None:
        from surehold.ledger.surprise_policy import SurprisePolicy

        return SurprisePolicy.of(beta, claims, limit)
    for name, value in (("claims", claims), ("limit", limit)):
        if value is not None:
            raise InvalidInput(name, "left out with a plan: it is for the surprise guard", value)
    from surehold.planning.certified import check_certified

    checked = plan_of(plan)
    check_certified(checked)
    return Policy(checked)


def is_dataset(path: Path) -> bool:
    """Whether a folder is that of a dataset, damaged or not."""
    return (path / FILE).exists() or (path / segments.FOLDER).exists()


def open(path: str | Path) -> Dataset:
    """A dataset that is there; opening reads no record and only the ends of the ledger."""
    return Dataset(Path(path))


def _schema_of(
    columns: Mapping[str, str] | None, like: Any, id: str | None, written: FileFormat
) -> Schema:
    if like is None:
        written.check_no_dialect()
        if columns is None:
            required = "given by name and type (--column), or by a file or table (--like)"
            raise InvalidInput("columns", required, Finding("are missing"))
        return Schema.of(columns, id)
    return Schema.of(sampled_schema(like, written, columns).to_dict(), id)


def plan_of(plan: Plan | Mapping[str, Any] | str | Path) -> Plan:
    """A plan, given as itself, as its dictionary, or as a file of it."""
    if isinstance(plan, Plan):
        return plan
    if isinstance(plan, Mapping):
        return Plan.from_dict(plan)
    try:
        text = Path(plan).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        required = "the name of a file that surehold plan --json wrote"
        raise InvalidInput("plan", required, str(plan)) from error
    try:
        return Plan.from_json(text)
    except InvalidInput as error:
        if error.parameter != "plan":
            raise
        hint = "make one with: surehold plan ... --json > plan.json"
        raise InvalidInput("plan", "a file that surehold plan --json wrote", str(plan), hint) from (
            None
        )


def check_vacant(target: Path) -> None:
    """Refuse a folder in which there is something already."""
    if (target / segments.FOLDER).exists() and not (target / FILE).exists():
        reason = "its segments are there but its ledger is not"
        raise LedgerCorrupt(f"the dataset in {target}", reason)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        hint = "a dataset is created once; open it, or choose another name"
        raise InvalidInput("the dataset", "a folder that is not there yet", str(target), hint)
