"""The count of calls, which stands for time in tests."""

import pytest

from support.effort import calls_of


def test_the_same_work_has_the_same_count_and_more_work_a_higher_one():
    counts = [calls_of(lambda n=n: [abs(i) for i in range(n)]) for n in (10, 10, 1000)]
    assert counts[0] == counts[1] < counts[2] - 900


def test_an_error_comes_through_and_the_counting_ends():
    with pytest.raises(ZeroDivisionError):
        calls_of(lambda: 1 / 0)
    assert calls_of(lambda: None) < 10
