"""The query language on one page, for a model."""

from __future__ import annotations

import re

_COSTS = re.compile(r"; (?:price \d+|\d answers|twice as wide)$")
_FIT = re.compile(r"^ *fit\(|of a fit")

LANGUAGE = """\
# What can be asked

A query is a text. It says what to compute for one record; the counting is done for you.

    age > 65 and city = 'Oslo'                          -- share of records for which it is true
    mean(bmi, 10, 60)                                   -- mean of a number, cut off at 10 and 60
    difference(treated, smoker)                         -- one minus the other; twice as wide
    rate(cured, treated)                                -- cured among the treated; 2 answers
    rate(spend, treated, 0, 500)                        -- mean among the treated; 2 answers
    f1(smoker, ill)                                     -- F1 of a prediction, and truth; 2 answers
    gate(cured, at_least, 0.8)                          -- pass, fail or undecided
    histogram(bins(age, 0, 18, 65, 120))                -- a share for each cell; price 2
    histogram(city in ('Oslo', 'Bergen'), smoker)       -- a crosstab; price 2
    totals(spend, 0, 100, city in ('Oslo', 'Bergen'))   -- a mean over all records, by cell; price 2
    means(spend, 0, 100, city in ('Oslo', 'Bergen'))    -- a mean within each cell; price 4
    variance(bmi, 10, 60)                               -- how far values are spread
    gini(bmi, 10, 60)                                   -- mean distance of two values
    kendall(age, bmi)                                   -- rank correlation, -1 to 1
    concordance(age, bmi)                               -- two records in one order by both
    auc(age, ill)                                       -- area under the ROC curve; 3 answers
    select(lowest, 25, (age > 60) <> ill, (age > 70) <> ill)  -- the best of several; price 25
    fit(logistic, 50, 20, 0.001, fraction(ill), mean(age, 18, 90))  -- a regression

The numbers of a fit are price, steps, penalty; then come the target and the features.
Score a rule by how often it is right: (0.3 * age - 2 * bmi > 0.5) = ill
Compare two rules in one answer: difference((age > 60) = ill, (bmi > 30) = ill)

Expressions look like SQL: + - * / %, = <> < <= > >=, and or not, between, in (...), is null,
like 'a%', case when c then x else y end, coalesce, nullif, least, greatest, abs, floor, ceil,
round, sqrt, cast(x as number), length, lower, upper, starts_with, ends_with, contains. Text
is in 'single' quotes, odd column names in "double" ones. A null is not true in a fraction
and counts as the lower bound in a mean. No subqueries, aggregates, regular expressions,
exp or ln.

Columns of dates and timestamps (in UTC) compare with '2026-11-08' or '2026-11-08T12:30'; there are
year(x), month(x), day(x), weekday(x) with Monday = 1, hour(x), date(x) of a timestamp; a - b is in
days. There is no now or today: write the date. histogram(weekday(x)) has its 7 cells by itself.

Narrow bounds give narrow widths: the width of a mean is (high - low) times that of a fraction.
Cells of a histogram are declared, never discovered.
"""
"""Every query in it is read by a test."""


def language_of(guard: str) -> str:
    """Return the page for a guard: prices are those of noise, which also has fits to itself."""
    if guard == "noise":
        return LANGUAGE
    lines = (_COSTS.sub("", line) for line in LANGUAGE.splitlines() if not _FIT.search(line))
    return "\n".join(lines) + "\n"
