"""Simulations that must give the same bits in every version: write their digests, or compare with those written.

    python record.py --out final.json             write the record
    python record.py --check final.json           list what differs; exit status 1 if anything does
    python record.py --check final.json --device cuda

A GPU gives the bits of the processor, so both are checked against the same record. Everything is listed one by one: a
policy or law that is added later does not change the record. ``--only TEXT`` plays the cases whose names contain TEXT.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from belated import Problem, simulate
from belated.delays import (
    ByReward,
    Empirical,
    Fixed,
    FromScipy,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
    Uniform,
)
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PatientBandits,
    PendingUCB,
    PhasedElimination,
    PrefixElimination,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
    UniformChoice,
)
from belated.rewards import Bernoulli, Beta, Categorical, Constant
from belated.rewards import Uniform as UniformReward

POLICIES: dict[str, Any] = {
    "UCB(confidence=1)": UCB(confidence=1.0),
    "UCB()": UCB(confidence="theory"),
    "OptimisticUCB(confidence=0.5)": OptimisticUCB(confidence=0.5),
    "OptimisticUCB()": OptimisticUCB(confidence="theory"),
    "PatientBandits(alpha=0.3)": PatientBandits(alpha=0.3),
    "PatientBandits(alpha=1, constant=0.5)": PatientBandits(alpha=1.0, constant=0.5),
    "SuccessiveElimination(confidence=0.2)": SuccessiveElimination(confidence=0.2),
    "SuccessiveElimination(confidence=1)": SuccessiveElimination(confidence=1.0),
    "PhasedElimination(confidence=0.05)": PhasedElimination(confidence=0.05),
    "PhasedElimination()": PhasedElimination(confidence="theory"),
    "OptimisticPessimisticElimination(confidence=0.2)": OptimisticPessimisticElimination(confidence=0.2),
    "OptimisticPessimisticElimination(confidence=1)": OptimisticPessimisticElimination(confidence=1.0),
    "PrefixElimination(confidence=0.2)": PrefixElimination(confidence=0.2),
    "PrefixElimination()": PrefixElimination(confidence="theory"),
    "PrefixUCB(confidence=0.5)": PrefixUCB(confidence=0.5),
    "PrefixUCB()": PrefixUCB(confidence="theory"),
    "PrefixUCB(confidence=0.5, spread=True)": PrefixUCB(confidence=0.5, spread=True),
    "PendingUCB(confidence=0.5)": PendingUCB(confidence=0.5),
    "PendingUCB()": PendingUCB(confidence="theory"),
    "PendingUCB(confidence=0.5, patience=60)": PendingUCB(confidence=0.5, patience=60),
    "ThompsonSampling()": ThompsonSampling(),
    "ThompsonSampling(successes=0.5, failures=3)": ThompsonSampling(successes=0.5, failures=3.0),
    "UniformChoice()": UniformChoice(confidence="theory"),
}
ALL = list(POLICIES)
SOME = [
    "UCB(confidence=1)",
    "OptimisticUCB(confidence=0.5)",
    "PatientBandits(alpha=0.3)",
    "SuccessiveElimination(confidence=0.2)",
    "PhasedElimination(confidence=0.05)",
    "OptimisticPessimisticElimination(confidence=0.2)",
    "PrefixElimination(confidence=0.2)",
    "PrefixUCB(confidence=0.5)",
    "PrefixUCB(confidence=0.5, spread=True)",
    "PendingUCB(confidence=0.5)",
    "PendingUCB(confidence=0.5, patience=60)",
    "ThompsonSampling()",
]
"""One or two of each kind."""

COINS = [Bernoulli(mean) for mean in (0.35, 0.5, 0.7, 0.62, 0.48)]
MIXED = [
    Bernoulli(0.55),
    Beta(2.0, 3.0),
    UniformReward(0.1, 0.6),
    Categorical([0.1, 0.25, 1.0], [0.3, 0.5, 0.2]),
    Constant(0.5),
]
BETAS = [Beta(2.0, 3.0), Beta(0.5, 0.5), Beta(8.0, 3.0), Beta(1.0, 1.0)]
GRADES = [
    Categorical([0.0, 0.5, 1.0], [0.5, 0.3, 0.2]),
    Categorical([0.0, 0.5, 1.0], [0.2, 0.5, 0.3]),
    Categorical([0.0, 0.5, 1.0], [0.1, 0.3, 0.6]),
    Categorical([0.0, 1.0], [0.4, 0.6]),
]
CONSTANTS = [Constant(0.2), Constant(0.9), Constant(0.45), Constant(0.6)]
SPANS = [UniformReward(0.0, 1.0), UniformReward(0.3, 0.5), UniformReward(0.5, 0.9), UniformReward(0.1, 0.8)]

APART = [Bernoulli(mean) for mean in (0.1, 0.95, 0.5, 0.3)]

GOOD_NEWS_LATE = ByReward({0.0: Fixed(3), 1.0: Geometric(80.0)})
GRADED = ByReward({0.0: Uniform(0, 9), 0.5: Poisson(30.0), 1.0: Mixture([(0.8, Fixed(120)), (0.2, Never())])})


def late_if_good(reward: float) -> Any:
    """A delay law for each reward."""
    return Fixed(60) if reward > 0.5 else Geometric(4.0) if reward > 0.2 else Pareto(0.8)


class Case(NamedTuple):
    """What is simulated."""

    problem: Problem | Callable[[np.random.Generator], Problem]
    policies: Sequence[str]
    horizon: int = 1000
    runs: int = 12
    seed: int = 5
    checkpoints: Any = 13


def many(arms: int) -> list[Bernoulli]:
    """Rewards of many arms, none like another."""
    return [Bernoulli(0.2 + 0.6 * ((7 * arm) % arms) / arms) for arm in range(arms)]


def family(rng: np.random.Generator) -> Problem:
    """A problem for each run."""
    return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.2, 0.8, 6)], Geometric(30.0))


def family_of_fixed(rng: np.random.Generator) -> Problem:
    """Another one, with the same fixed delay in every run."""
    return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.1, 0.9, 4)], Fixed(45))


def family_of_all(rng: np.random.Generator) -> Problem:
    """Another one, with rewards and delays of other kinds."""
    a, b = (float(number) for number in rng.uniform(1.0, 4.0, 2))
    rewards = [Beta(a, b), Beta(b, a), UniformReward(0.2, 0.7), Bernoulli(0.45)]
    return Problem(rewards, [Pareto(0.5), LogNormal(20.0, float(rng.uniform(0.5, 2.0))), Fixed(10), PacketLoss(0.5)])


CASES: dict[str, Case] = {
    # each policy under each kind of delay
    "coins, Fixed(0)": Case(Problem(COINS, Fixed(0)), ALL),
    "coins, Fixed(1)": Case(Problem(COINS, Fixed(1)), ALL),
    "coins, Fixed(37)": Case(Problem(COINS, Fixed(37)), ALL),
    "coins, Fixed(250)": Case(Problem(COINS, Fixed(250)), ALL),
    "coins, Fixed(999)": Case(Problem(COINS, Fixed(999)), ALL),
    "coins, Fixed(5000), beyond the horizon": Case(Problem(COINS, Fixed(5000)), ALL),
    "coins, Uniform(3, 90)": Case(Problem(COINS, Uniform(3, 90)), ALL),
    "coins, Geometric(40)": Case(Problem(COINS, Geometric(40.0)), ALL),
    "coins, Poisson(25)": Case(Problem(COINS, Poisson(25.0)), ALL),
    "coins, Pareto(0.4)": Case(Problem(COINS, Pareto(0.4)), ALL),
    "coins, Pareto(1.5, scale=10)": Case(Problem(COINS, Pareto(1.5, 10.0)), ALL),
    "coins, LogNormal(60, 1.5)": Case(Problem(COINS, LogNormal(60.0, 1.5)), ALL),
    "coins, PacketLoss(0.4)": Case(Problem(COINS, PacketLoss(0.4)), ALL),
    "coins, Never": Case(Problem(COINS, Never()), ALL),
    "coins, Mixture": Case(Problem(COINS, Mixture([(5, Fixed(3)), (3, Geometric(200.0)), (2, Never())])), ALL),
    "coins, Empirical": Case(Problem(COINS, Empirical([0, 1, 5, 5, 80, 900])), ALL),
    "coins, Empirical, never=0.1": Case(Problem(COINS, Empirical([0, 1, 5, 5, 80, 900], never=0.1)), ALL),
    "coins, FromScipy(expon)": Case(Problem(COINS, FromScipy(scipy.stats.expon(scale=70))), ALL),
    "coins, FromScipy(nbinom)": Case(Problem(COINS, FromScipy(scipy.stats.nbinom(4, 0.1))), ALL),
    "coins, ByReward of a table": Case(Problem(COINS, GOOD_NEWS_LATE), ALL),
    "coins, ByReward of a function": Case(Problem(COINS, ByReward(late_if_good)), ALL),
    "coins, a law for each arm": Case(
        Problem(COINS, [Fixed(5), Pareto(0.3), Never(), Uniform(0, 300), PacketLoss(0.7)]), ALL, 2000
    ),
    "coins, a fixed delay for each arm": Case(Problem(COINS, [Fixed(d) for d in (0, 30, 400, 7, 90)]), ALL),
    # each kind of reward
    "mixed, Fixed(20)": Case(Problem(MIXED, Fixed(20)), ALL),
    "mixed, Fixed(0)": Case(Problem(MIXED, Fixed(0)), SOME),
    "mixed, a law for each arm": Case(
        Problem(
            MIXED,
            [
                Pareto(0.5),
                ByReward(late_if_good),
                LogNormal(5.0, 1.0),
                Mixture([(2, Poisson(7.0)), (1, Never())]),
                Fixed(9),
            ],
        ),
        ALL,
    ),
    "mixed, ByReward of a function": Case(Problem(MIXED, ByReward(late_if_good, cells=50)), SOME),
    "betas, Geometric(20)": Case(Problem(BETAS, Geometric(20.0)), SOME, 600),
    "betas, Fixed(50)": Case(Problem(BETAS, Fixed(50)), SOME, 600),
    "grades, Pareto(0.7)": Case(Problem(GRADES, Pareto(0.7)), SOME, 600),
    "grades, ByReward of a table": Case(Problem(GRADES, GRADED), SOME, 600),
    "constants, Fixed(12)": Case(Problem(CONSTANTS, Fixed(12)), SOME, 600),
    "constants, Uniform(0, 40)": Case(Problem(CONSTANTS, Uniform(0, 40)), SOME, 600),
    "spans, PacketLoss(0.3)": Case(Problem(SPANS, PacketLoss(0.3)), SOME, 600),
    "spans, Empirical": Case(Problem(SPANS, Empirical([0, 0, 2, 30, 31, 200], never=0.25)), SOME, 600),
    # few arms and many, and few rounds
    "one arm, Geometric(10)": Case(Problem([Bernoulli(0.5)], Geometric(10.0)), SOME, 600, 8),
    "2 arms that are alike, Fixed(10)": Case(Problem([Bernoulli(0.5), Bernoulli(0.5)], Fixed(10)), ALL, 600, 8),
    "20 arms, Fixed(200)": Case(Problem(many(20), Fixed(200)), ALL, 4000, 8),
    "20 arms, LogNormal(100, 1)": Case(Problem(many(20), LogNormal(100.0, 1.0)), ALL, 4000, 8),
    "70 arms, Fixed(50)": Case(Problem(many(70), Fixed(50)), ALL, 6000, 6),
    "70 arms, FromScipy(expon)": Case(Problem(many(70), FromScipy(scipy.stats.expon(scale=30))), ALL, 6000, 6),
    "300 arms, Uniform(0, 99)": Case(Problem(many(300), Uniform(0, 99)), SOME[:-1], 3000, 3),
    "300 arms, Fixed(20)": Case(Problem(many(300), Fixed(20)), SOME[:-1], 3000, 3),
    "one round": Case(Problem(COINS, Fixed(0)), SOME, 1, 16, checkpoints=1),
    "three rounds": Case(Problem(COINS, Uniform(0, 2)), SOME, 3, 16, checkpoints=3),
    # long runs
    "long, Fixed(300)": Case(Problem(COINS, Fixed(300)), ALL, 20_000, 4),
    "long, Fixed(70000), beyond what 16 bits count": Case(Problem(COINS, Fixed(70_000)), SOME, 80_000, 2),
    "long, Geometric(500)": Case(Problem(COINS, Geometric(500.0)), ALL, 20_000, 16),
    "long, Pareto(0.2)": Case(Problem(COINS, Pareto(0.2)), ALL, 20_000, 16),
    "long, LogNormal(2000, 2)": Case(Problem(COINS, LogNormal(2000.0, 2.0)), SOME, 70_000, 4),
    "long, mixed rewards, Poisson(300)": Case(Problem(MIXED, Poisson(300.0)), SOME, 25_000, 4),
    "very long, ByReward of a table": Case(Problem(COINS[:3], GOOD_NEWS_LATE), SOME[:4], 200_000, 2),
    "long, arms far apart, Fixed(20)": Case(Problem(APART, Fixed(20)), ALL, 20_000, 4),
    "long, arms far apart, Geometric(30)": Case(Problem(APART, Geometric(30.0)), ALL, 20_000, 4),
    "long, arms far apart, ByReward of a table": Case(Problem(APART, GOOD_NEWS_LATE), ALL, 20_000, 4),
    # what else a simulation can be told
    "a family, Geometric(30)": Case(family, ALL, 600),
    "a family, Fixed(45)": Case(family_of_fixed, ALL, 600),
    "a family of all kinds": Case(family_of_all, SOME, 600),
    "a large seed": Case(Problem(COINS, Uniform(3, 90)), SOME, seed=2**65 + 12),
    "checkpoints given": Case(Problem(COINS, Geometric(40.0)), SOME, checkpoints=[1, 2, 3, 10, 500, 777]),
    "more runs than are kept at a time": Case(Problem(COINS[:2], Geometric(5.0)), SOME[:2], 20, 1500, checkpoints=20),
    "more curves than are kept": Case(Problem(COINS[:2], Fixed(5)), SOME[:2], 2100, 4100, checkpoints=2100),
}

FIELDS: dict[str, tuple[str, ...]] = {
    "final": ("final",),
    "curves": ("curves",),
    "means": ("mean", "stderr"),
    "pulls": ("pulls",),
    "counts": ("observed", "in_flight", "lost", "eliminated_at"),
}
"""What a digest is of: fields of a Result."""


def digest(*arrays: Any) -> str:
    """A short hash of arrays, whatever the width of their numbers."""
    found = hashlib.sha256()
    for array in arrays:
        plain = np.asarray(array)
        plain = np.ascontiguousarray(plain, "<f8" if plain.dtype.kind == "f" else "<i8")
        found.update(f"{plain.shape}".encode())
        found.update(plain.tobytes())
    return found.hexdigest()[:12]


def played(case: Case, device: str = "cpu") -> dict[str, str]:
    """Of each policy the digests of :data:`FIELDS`, one after the other."""
    result = simulate(
        case.problem,
        [POLICIES[name] for name in case.policies],
        horizon=case.horizon,
        runs=case.runs,
        seed=case.seed,
        checkpoints=case.checkpoints,
        device=device,
        progress=False,
    )
    return {
        name: " ".join(digest(*(getattr(result, field)[number] for field in fields)) for fields in FIELDS.values())
        for number, name in enumerate(case.policies)
    }


def chosen_cases(only: str = "") -> list[str]:
    """The names of the cases that contain a text."""
    return [name for name in CASES if only in name]


def compared(record: dict[str, dict[str, str]], device: str = "cpu", only: str = "") -> list[str]:
    """Where a record differs from what is simulated now, in words."""
    found = []
    names = set(chosen_cases(only))
    for name in [*record, *(name for name in CASES if name not in record)]:
        if only not in name:
            continue
        if name not in names or name not in record:
            found.append(f"{name}: only in the {'record' if name in record else 'script'}")
            continue
        found += differences(name, record[name], played(CASES[name], device))
    return found


def differences(name: str, then: dict[str, str], now: dict[str, str]) -> list[str]:
    """Where the digests of one case differ, in words."""
    found = []
    for policy in [*then, *(policy for policy in now if policy not in then)]:
        if policy not in then or policy not in now:
            found.append(f"{name}: {policy}: only {'then' if policy in then else 'now'}")
        elif then[policy] != now[policy]:
            pairs = zip(FIELDS, then[policy].split(), now[policy].split(), strict=True)
            found.append(f"{name}: {policy}: {', '.join(field for field, old, new in pairs if old != new)}")
    return found


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, help="write the record here")
    parser.add_argument("--check", type=Path, metavar="RECORD", help="compare with this record")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose names contain this")
    options = parser.parse_args()
    if (options.out is None) == (options.check is None):
        parser.error("give either --out or --check")
    started = time.perf_counter()
    if options.out is not None:
        record = {}
        for name in chosen_cases(options.only):
            begun = time.perf_counter()
            record[name] = played(CASES[name], options.device)
            print(f"{time.perf_counter() - begun:7.2f} s  {name}", file=sys.stderr, flush=True)
        options.out.write_text(json.dumps(record, indent=1) + "\n")
        found = []
    else:
        found = compared(json.loads(options.check.read_text()), options.device, options.only)
        for line in found:
            print(line)
    count = sum(len(CASES[name].policies) for name in chosen_cases(options.only))
    print(
        f"{count} simulations on {options.device} in {time.perf_counter() - started:.1f} s"
        + (f", {len(found)} differ" if options.check else ""),
        file=sys.stderr,
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
