"""What may be asked: inert descriptions, and the expression language they are written in."""

from surehold.queries.auc import Auc, ModelAuc, ModelPairs, auc
from surehold.queries.base import (
    Charged,
    CheckedQuery,
    Form,
    NumberForm,
    Query,
    ScalarQuery,
    Source,
)
from surehold.queries.cells import CellMeasure, Histogram, histogram, totals
from surehold.queries.custom import CustomMeasure, CustomStatistic, Declared, statistic
from surehold.queries.dashboard import Dashboard, NamedQuestion
from surehold.queries.derived import Derived, DerivedNumber, Gate, Rate, Reading, gate, rate
from surehold.queries.differences import RateDifference, difference
from surehold.queries.expectation import Expectation
from surehold.queries.f1 import F1, f1
from surehold.queries.fit import Fit, FitForm, fit
from surehold.queries.groups import GroupMeans, means
from surehold.queries.measure import GRID_BITS, Contrast, Measure
from surehold.queries.model_queries import (
    accuracy,
    brier,
    calibration,
    confusion,
    improvement,
    loss,
)
from surehold.queries.models import (
    Discordance,
    Improvement,
    Model,
    ModelMeasure,
    ModelScore,
    ModelTable,
)
from surehold.queries.pairs import (
    PairMeasure,
    PairStatistic,
    auc_pairs,
    concordance,
    gini,
    kendall,
    variance,
)
from surehold.queries.query_text import form_of, is_same, query_of, recorded_query
from surehold.queries.schema import ColumnType, Schema
from surehold.queries.selection import Select, SelectForm, select
from surehold.queries.statistical import Difference, Statistical, fraction, mean
