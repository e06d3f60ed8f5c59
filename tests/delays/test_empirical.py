"""Delays from a log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from belated.delays import Empirical
from belated.errors import InvalidParameter
from support.laws import Cdf, DelayCase, step

SAMPLE = [4, 0, 17, 4, 4, 250, 1000, 3]


def share_of(sample: list[int], never: float = 0.0) -> Cdf:
    """The distribution function of a sample, by counting."""
    return lambda g: (1 - never) * np.mean(np.asarray(g)[..., None] >= np.array(sample), axis=-1)


CASES = [
    DelayCase(Empirical(SAMPLE), share_of(SAMPLE), longest=1000),
    DelayCase(Empirical(SAMPLE, never=0.35), share_of(SAMPLE, 0.35), 0.35, 1000),
    DelayCase(Empirical([5], never=1.0), step(0, 0.0), 1.0, 0),
]

DAYS = [timedelta(days=1), timedelta(hours=3)]
TIMES = [datetime(2026, 1, 1), datetime(2026, 1, 2)]


@pytest.mark.parametrize(
    "delays",
    [
        DAYS,
        np.array(DAYS, "timedelta64[s]"),
        list(np.array(DAYS, "timedelta64[s]")),
        pd.Series(DAYS),
        pd.to_timedelta(["1 day", "3 h"]),
        [pd.Timedelta("1 day"), pd.Timedelta("3 h")],
        [5, timedelta(days=1)],
        np.array(DAYS, object),
    ],
    ids=["Python", "numpy", "numpy scalars", "Series", "index", "Timedelta", "mixed", "objects"],
)
def test_durations_are_refused_with_advice(delays: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"durations, .*Divide them by the time between two decisions"):
        Empirical(delays)


@pytest.mark.parametrize(
    "times",
    [
        TIMES,
        [time.date() for time in TIMES],
        np.array(TIMES, "datetime64[s]"),
        pd.Series(TIMES),
        pd.Series(TIMES).dt.tz_localize("UTC"),
        [pd.Timestamp("2026-01-01")],
    ],
    ids=["Python", "dates", "numpy", "Series", "with a zone", "Timestamp"],
)
def test_points_in_time_are_refused_with_advice(times: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"points in time, .*Subtract the time of each decision"):
        Empirical(times)


def test_the_advice_works() -> None:
    between = timedelta(minutes=30)
    assert Empirical([delay // between for delay in DAYS]).longest == 48
    assert Empirical((pd.Series(DAYS) / between).astype(int)).longest == 48
    assert Empirical((np.array(DAYS, "timedelta64[s]") / np.timedelta64(30, "m")).astype(int)).longest == 48
