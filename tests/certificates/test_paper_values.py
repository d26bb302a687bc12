"""The values of the paper (shared/theory/paper-map.md), alpha = 0.1 and beta = 0.05."""

import pytest

from surehold.theory.certificates import Batches, get

ALPHA, BETA = 0.1, 0.05

QUERIES = [
    (
        100_000,
        100_000,
        1,
        {"split": 220, "jlnrss": 153, "jlnrss+": 245, "ours-u": 245, "ours-n": 245},
    ),
    (
        500_000,
        500_000,
        1,
        {"split": 948, "jlnrss": 3_142, "jlnrss+": 5_121, "ours-u": 5_121, "ours-n": 5_121},
    ),
    (
        1_500_000,
        1_500_000,
        1,
        {"split": 2_597, "jlnrss": 25_120, "jlnrss+": 41_392, "ours-u": 41_392, "ours-n": 41_392},
    ),
    (
        500_000,
        1_500_000,
        2,
        {"split": 2_597, "jlnrss": 5_486, "jlnrss+": 8_453, "ours-u": 7_058, "ours-n": 8_824},
    ),
    (
        500_000,
        1_500_000,
        4,
        {"split": 2_597, "jlnrss": 4_496, "jlnrss+": 6_616, "ours-u": 9_338, "ours-n": 11_561},
    ),
    (500_000, 1_500_000, 40, {"split": 2_597, "ours-u": 11_279, "ours-n": 13_608}),
    (10_000, 10_000, 1, {"split": 28, "jlnrss": 2, "jlnrss+": 3, "ours-u": 3, "ours-n": 3}),
]


@pytest.mark.parametrize(
    ("n0", "n", "b", "name", "expected"),
    [(n0, n, b, name, k) for n0, n, b, row in QUERIES for name, k in row.items()],
)
def test_number_of_queries(n0, n, b, name, expected):
    found = get(name).queries(Batches(n0, n, b=b), ALPHA, BETA)
    # 0.3 % of a small number is less than one query, and a count is whole.
    assert abs(found - expected) <= max(0.003 * expected, 0)


@pytest.mark.parametrize(
    ("name", "widths"),
    [("jlnrss+", (0.11923, 0.08439, 0.06897)), ("jlnrss", (0.13577, 0.09607, 0.07851))],
)
def test_static_width_of_ten_thousand_queries(name, widths):
    for n, expected in zip((500_000, 1_000_000, 1_500_000), widths, strict=True):
        width = get(name).width(Batches(n, n).at(10_000), BETA)
        assert width.value == pytest.approx(expected, rel=0.003)


def test_optimal_constants_are_the_papers():
    constants = get("ours-n").width(Batches(1_500_000, 1_500_000).at(41_392), BETA).constants
    assert constants["sigma"] == pytest.approx(0.00787, rel=0.003)
    assert constants["beta"] == pytest.approx(9.53e-6, rel=0.003)
    assert constants["epsilon"] == pytest.approx(0.0415, rel=0.003)


def test_more_batches_help_the_paper_and_level_off_near_forty():
    def most(name, b):
        return get(name).queries(Batches(500_000, 1_500_000, b=b), ALPHA, BETA)

    for name in ("ours-n", "ours-u", "sharp"):
        counts = [most(name, b) for b in (2, 4, 10, 40, 100)]
        assert counts == sorted(counts)
        assert counts[-1] < 1.01 * counts[-2]
    falling = [most("jlnrss+", b) for b in (4, 10, 40)]
    assert falling == sorted(falling, reverse=True)
