"""Errors come from other processes whole: by the attributes that surfaces translate."""

from __future__ import annotations

import pickle

import pytest

from support.error_examples import KINDS, made


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling(kind):
    error = made(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert again.args == error.args
    assert vars(again) == vars(error)
