"""Own policies as a new user writes them: five that work (tests/new_user.py), and mistakes, each found at its line."""

from __future__ import annotations

import dis
import sys
import tracemalloc
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from belated import Bandit, Problem, simulate
from belated.delays import Fixed, Geometric
from belated.errors import InvalidParameter, PolicyError, StateError
from belated.kernel.helpers import compile_helpers
from belated.kernel.jit import JIT
from belated.policies import Policy, ThompsonSampling, policy
from belated.policies._base.changes import prepare_to_compile
from belated.policies._base.encode import memory_size
from belated.policies._check.play import check_once, check_play
from belated.policies._check.scan import _OPERATIONS
from belated.rewards import Bernoulli
from belated.testing import check_policy
from new_user import KLUCB, QPMD, BatchedThompson, DelayedExp3, EpsGreedy
from written_policy import CHOOSE, FEEDBACK, INDEX, assert_found

PROBLEM = Problem([Bernoulli(0.3), Bernoulli(0.5), Bernoulli(0.7)], Geometric(20))
FIVE = [EpsGreedy(), KLUCB(), QPMD(), DelayedExp3(), BatchedThompson()]

MISTAKES = {
    "memory that is not declared": (
        "Policy",
        FEEDBACK + "    state.memory[arm, 0] += reward\n" + CHOOSE + "    return 0\n",
        "state.memory[arm, 0] += reward",
        "declares memory = 0",
        "Write memory = 1 in class Mine",
    ),
    "memory that is too small": (
        "Policy",
        "memory = 2\n" + FEEDBACK + "    own = state.memory[arm]\n    own[2] += reward\n" + CHOOSE + "    return 0\n",
        "own[2] += reward",
        "declares memory = 2",
        "Write memory = 3",
    ),
    "a negative index": (
        "Policy",
        "memory = 1\n" + FEEDBACK + "    state.memory[arm - 1, 0] += reward\n" + CHOOSE + "    return 0\n",
        "state.memory[arm - 1, 0] += reward",
        "state.memory has no element -1",
        "Use an arm's number",
    ),
    "an arm's row beyond the last": (
        "Policy",
        CHOOSE + "    return 0 if state.total[state.arms] > 0.0 else 1\n",
        "return 0 if state.total[state.arms] > 0.0 else 1",
        "state.total has no element 3",
        "from 0 to state.arms - 1",
    ),
    "NaN": (
        "IndexPolicy",
        INDEX + "    if arm.observed < 1.0:\n        return math.nan\n    return 1.0\n",
        "return math.nan",
        "index returned NaN",
        "math.inf puts an arm ahead",
    ),
    "0/0": (
        "IndexPolicy",
        INDEX + "    return arm.total / arm.observed\n",
        "return arm.total / arm.observed",
        "division by zero",
        "Write max(x, 1.0)",
    ),
    "the root of a negative number": (
        "IndexPolicy",
        INDEX + "    return math.sqrt(arm.observed - 1.0)\n",
        "return math.sqrt(arm.observed - 1.0)",
        "math domain error",
        "max(x, 0.0)",
    ),
    "an exponential that is too large": (
        "IndexPolicy",
        INDEX + "    return math.exp(900.0 + arm.observed)\n",
        "return math.exp(900.0 + arm.observed)",
        "a number too large",
        "Write min(x, 700.0) in an exponential",
    ),
    "np.random in a branch that is not reached": (
        "Policy",
        CHOOSE + "    if now > 10**6:\n        return np.random.randint(2)\n    return 0\n",
        "return np.random.randint(2)",
        "not repeatable",
        "word(state.key[0], state.key[1], now, 0)",
    ),
    "a function of np.random": (
        "Policy",
        CHOOSE + "    return randint(2)\n",
        "return randint(2)",
        "not repeatable",
        "word(",
    ),
    "print": ("Policy", CHOOSE + "    print(now)\n    return 0\n", "print(now)", "choose calls print", "Leave it out"),
    "a helper with a decorator of numba": (
        "Policy",
        CHOOSE + "    bump(state.memory, 0)\n    return 0\n",
        "bump(state.memory, 0)",
        "bump is compiled by a decorator of numba",
        "Remove the decorator of bump",
    ),
    "random": ("Policy", CHOOSE + "    return random.randrange(2)\n", "return random.randrange(2)", "random", "word("),
    "a generator": (
        "Policy",
        CHOOSE + "    return int(GENERATOR.random())\n",
        "return int(GENERATOR.random())",
        "not repeatable",
        "word(",
    ),
    "the time": ("Policy", CHOOSE + "    return int(time.time())\n", "return int(time.time())", "time", "word("),
    "a global count": (
        "Policy",
        CHOOSE + "    COUNT[0] += 1.0\n    return int(COUNT[0]) % state.arms\n",
        "def choose(policy, state, now):",
        "does not play the same game twice",
        "on state alone",
    ),
    "an index that reads the round": (
        "IndexPolicy",
        INDEX + "    n = max(arm.observed, 1.0)\n    return arm.total / n + math.sqrt(2.0 * log(arm.now) / n)\n",
        "return arm.total / n + math.sqrt(2.0 * log(arm.now) / n)",
        "reads the round, arm.now",
        "Leave arm.now out",
    ),
    "an index that reads the round late": (
        "IndexPolicy",
        INDEX + "    return 1.0 if arm.now > 10_000 else 0.0\n",
        "return 1.0 if arm.now > 10_000 else 0.0",
        "reads the round, arm.now",
        "Leave arm.now out",
    ),
    "memory that is used up after some hundred rounds": (
        "Policy",
        "memory = 300\n" + CHOOSE + "    state.memory[0, now] = 1.0\n    return now % state.arms\n",
        "state.memory[0, now] = 1.0",
        "300",
        "memory",
    ),
    "an index that reads what is shared": (
        "IndexPolicy",
        "memory = 1\n"
        + FEEDBACK
        + "    state.memory[state.arms, 0] += 1.0\n"
        + INDEX
        + "    return arm.memory[arm.arms, 0] / max(arm.observed, 1.0)\n",
        "def index(policy, arm):",
        "cached index",
        "this arm's counts and memory only",
    ),
    "reads_pulls": (
        "IndexPolicy",
        "reads_pulls = False\n" + INDEX + "    return -arm.pulls\n",
        "return -arm.pulls",
        "cached index",
        "Remove reads_pulls = False",
    ),
    "a list": (
        "Policy",
        CHOOSE + "    best = [state.total[arm] for arm in range(state.arms)]\n    return best.index(max(best))\n",
        "best = [state.total[arm] for arm in range(state.arms)]",
        "makes a list",
        "Write a loop",
    ),
    "a list in a helper": (
        "IndexPolicy",
        INDEX + "    return squares((arm.pulls, arm.observed))[0]\n",
        "return [value * value for value in values]",
        "squares makes a list",
        "Write a loop",
    ),
    "a list from outside": (
        "IndexPolicy",
        INDEX + "    return WEIGHTS[0]\n",
        "return WEIGHTS[0]",
        "WEIGHTS is a list",
        "np.array(WEIGHTS)",
    ),
    "a dict": (
        "IndexPolicy",
        INDEX + "    return {0: arm.pulls}[0]\n",
        "return {0: arm.pulls}[0]",
        "makes a dict",
        "Write a loop",
    ),
    "None": (
        "Policy",
        CHOOSE + "    if now % 2:\n        return 0\n",
        "if now % 2:",
        "returns None in some cases",
        "Return a number in every case",
    ),
    "None in a helper": (
        "IndexPolicy",
        INDEX + "    return maybe(arm.pulls)\n",
        "if x > 0.0:",
        "maybe returns None in some cases",
        "Return a number",
    ),
    "a text": ("Policy", CHOOSE + "    return 'a'\n", "return 'a'", "not a whole number", "With 3 arms"),
    "raise": (
        "Policy",
        CHOOSE + "    if now > 10**6:\n        raise ValueError(now)\n    return 0\n",
        "raise ValueError(now)",
        "raises an error",
        "kernel_params",
    ),
    "an arm that does not exist": ("Policy", CHOOSE + "    return now\n", "return now", "returned 3", "from 0 to 2"),
    "half an arm": ("Policy", CHOOSE + "    return 0.5\n", "return 0.5", "not a whole number", "from 0 to 2"),
    "a new array": (
        "Policy",
        CHOOSE + "    return np.argmax(state.total[:2] - state.observed[:2])\n",
        "return np.argmax(state.total[:2] - state.observed[:2])",
        "makes a new array",
        "Write a loop",
    ),
    "a count that is written": (
        "Policy",
        CHOOSE + "    state.pulls[0] = 0\n    return 0\n",
        "state.pulls[0] = 0",
        "state.pulls is written by the simulator alone",
        "state.memory",
    ),
    "a formula that writes": (
        "IndexPolicy",
        "memory = 1\n" + INDEX + "    arm.memory[arm.number, 0] += 1.0\n    return 1.0\n",
        "arm.memory[arm.number, 0] += 1.0",
        "index writes to state.memory",
        "on_pull",
    ),
    "a formula that writes to a row": (
        "IndexPolicy",
        "memory = 1\n" + INDEX + "    row = arm.memory[arm.number]\n    row += 1.0\n    return 1.0\n",
        "row += 1.0",
        "index writes to state.memory",
        "on_pull",
    ),
    "a formula that fills a row": (
        "IndexPolicy",
        "memory = 1\n" + INDEX + "    arm.memory[arm.number].fill(1.0)\n    return 1.0\n",
        "arm.memory[arm.number].fill(1.0)",
        "index writes to state.memory",
        "on_pull",
    ),
    "counts that are written in place": (
        "Policy",
        CHOOSE + "    p = state.total\n    p += 1.0\n    return 0\n",
        "p += 1.0",
        "state.total is written by the simulator alone",
        "state.memory",
    ),
    "counts that are sorted": (
        "Policy",
        CHOOSE + "    state.total[:state.arms].sort()\n    return 0\n",
        "state.total[:state.arms].sort()",
        "state.total is written by the simulator alone",
        "state.memory",
    ),
    "several arrays as one": (
        "Policy",
        CHOOSE + "    return np.stack((state.total[:2], state.observed[:2])).argmax()\n",
        "return np.stack((state.total[:2], state.observed[:2])).argmax()",
        "np.stack of state.total makes a new array",
        "Write a loop",
    ),
    **{
        f"more rows than arms: {use}": (
            "Policy",
            CHOOSE + f"    return {use}\n",
            f"return {use}",
            f"{array} has more rows than arms when compiled",
            f"Write for arm in range(state.arms), or {array}[:state.arms].",
        )
        for array, use in {
            "state.observed": "int(state.observed.sum() > 5)",
            "state.pulls": "np.argmin(state.pulls)",
            "state.total": "np.argmax(a=state.total)",
        }.items()
    },
    **{
        f"more rows than arms: {use}": (
            "Policy",
            CHOOSE + f"    return int({use}) % 2\n",
            f"return int({use}) % 2",
            "has more rows than arms when compiled",
            "[:state.arms].",
        )
        for use in (
            "state.pulls.argmin()",
            "max(state.pulls)",
            "len(state.pulls)",
            "state.pulls.shape[0]",
            "np.sum(state.pulls[:])",
            "state.total[:-1].max()",
            "np.dot(state.pulls, state.observed)",
            "np.stack((state.pulls, state.pulls))[0, 0]",
        )
    },
    "a misspelt attribute": ("IndexPolicy", INDEX + "    return arm.pull\n", "return arm.pull", "arm.pull ", "pulls"),
    "a parameter that is not among KernelParams": (
        "IndexPolicy",
        "eps: float = 0.1\n" + INDEX + "    return policy.eps\n",
        "return policy.eps",
        "policy.eps is not among its KernelParams",
        "Add eps: float",
    ),
    "a misspelt function": (
        "IndexPolicy",
        INDEX + "    return np.sqroot(arm.pulls)\n",
        "return np.sqroot(arm.pulls)",
        "'sqroot'",
        "Write sqrt.",
    ),
    "kernel_params without a comma": (
        "IndexPolicy",
        "eps: float = 0.1\nclass KernelParams(NamedTuple):\n    eps: float\n"
        "def kernel_params(self, arms):\n    return (self.eps)\n" + INDEX + "    return policy.eps\n",
        "def kernel_params(self, arms):",
        "kernel_params",
        "Write return (self.eps,)",
    ),
    "a loop that takes years": (
        "Policy",
        CHOOSE + "    total = 0\n    for _ in range(10**15):\n        total += state.pulls[0]\n    return total % 2\n",
        "total += state.pulls[0]",
        "probably an endless loop",
        "Make sure that each loop ends",
    ),
    "one index into the memory": (
        "IndexPolicy",
        "memory = 1\n" + INDEX + "    return arm.memory[0]\n",
        "return arm.memory[0]",
        "index returned an array, state.memory",
        "arm.memory[arm.number, number]",
    ),
    "one index into the memory, and arithmetic": (
        "IndexPolicy",
        "memory = 1\n" + INDEX + "    return arm.memory[0] + 1.0\n",
        "return arm.memory[0] + 1.0",
        "np.add of state.memory makes a new array",
        "arm.memory[arm.number, number]",
    ),
    "NaN in the memory": (
        "Policy",
        "memory = 1\n" + FEEDBACK + "    state.memory[arm, 0] = math.nan\n" + CHOOSE + "    return 0\n",
        "state.memory[arm, 0] = math.nan",
        "state.memory gets NaN",
        "mark a number that is not known yet by -1.0",
    ),
    "self in a static method": (
        "IndexPolicy",
        "eps: float = 0.1\n" + INDEX + "    return self.eps\n",
        "return self.eps",
        "a static method has no self",
        "Write policy instead of self",
    ),
    "too many kernel_params": (
        "IndexPolicy",
        "def kernel_params(self, arms):\n    return 0.1, 0.2\n" + INDEX + "    return 1.0\n",
        "def kernel_params(self, arms):",
        "it gives 2 numbers for 0 fields",
        "leave kernel_params out",
    ),
    "random kernel_params": (
        "IndexPolicy",
        "class KernelParams(NamedTuple):\n    eps: float\n"
        "def kernel_params(self, arms):\n    return (random.random(),)\n" + INDEX + "    return policy.eps\n",
        "def kernel_params(self, arms):",
        "gives other numbers when it is called again",
        "no random numbers",
    ),
    "kernel_params that fail": (
        "IndexPolicy",
        "class KernelParams(NamedTuple):\n    eps: float\n"
        "def kernel_params(self, arms):\n    return (1 / 0,)\n" + INDEX + "    return policy.eps\n",
        "return (1 / 0,)",
        "ZeroDivisionError: division by zero",
        "Write return (self.eps,)",
    ),
    "another committed arm": (
        "Policy",
        CHOOSE + "    return 0\n@staticmethod\ndef committed_arm(policy, state):\n    return 1\n",
        "def choose(policy, state, now):",
        "committed_arm returned 1, and choose returned 0",
        "all later rounds",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_at_its_line(name: str, written: Any) -> None:
    base, body, line, message, advice = MISTAKES[name]
    mine = written(base, body)
    with pytest.raises(PolicyError) as simulated:
        simulate(PROBLEM, mine(), horizon=1000, runs=2)
    assert_found(simulated.value, line, message, advice)
    with pytest.raises(PolicyError) as live:
        Bandit(["a", "b", "c"], mine())
    assert str(live.value).splitlines()[1:] == str(simulated.value).splitlines()[1:]


@pytest.mark.skipif(not JIT, reason="plain Python knows None")
def test_a_variable_that_is_none_at_first_is_named(written: Any) -> None:
    loop = "    for arm in range(state.arms):\n        if best is None or state.total[arm] > state.total[best]:\n"
    mine = written("Policy", CHOOSE + "    best = None\n" + loop + "            best = arm\n    return best\n")
    with pytest.raises(PolicyError) as found:
        simulate(PROBLEM, mine(), horizon=1000, runs=2)
    assert_found(found.value, "best = None", "cannot be compiled: best is None at first", "such as best = 0")
    with pytest.raises(PolicyError) as live:
        Bandit(["a", "b", "c"], mine()).choose()
    assert str(live.value) == str(found.value)


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger or coverage counts the lines")
def test_an_endless_loop_without_arrays_is_found(written: Any) -> None:
    mine = written("Policy", CHOOSE + "    x = 1.0\n    while x > 0.0:\n        x += 1.0\n    return 0\n")
    before = sys.gettrace()
    with pytest.raises(PolicyError) as found:
        check_once(mine(), 3, 100)
    assert "probably an endless loop" in str(found.value)
    assert "in choose" in str(found.value)
    assert sys.gettrace() is before


DEFINITIONS = {
    "self": (
        "Policy",
        "@staticmethod\ndef choose(self, state, now):\n    return 0\n",
        "def choose(self, state, now):",
        "takes (self, state, now)",
        "there is no self",
    ),
    "its own __init__": (
        "Policy",
        "def __init__(self, eps):\n    self.eps = eps\n" + CHOOSE + "    return 0\n",
        "def __init__(self, eps):",
        "has its own __init__",
        "Write each parameter as a line of the class",
    ),
    **{
        f"a misspelt {name}": ("Policy", f"{text}\n" + CHOOSE + "    return 0\n", line, name, f"Write {meant}")
        for name, meant, text, line in (
            ("on_feedbak", "on_feedback", "@staticmethod\ndef on_feedbak():\n    pass", "def on_feedbak():"),
            ("chose", "choose", "@staticmethod\ndef chose():\n    pass", "def chose():"),
            ("kernel_parameters", "kernel_params", "def kernel_parameters():\n    pass", "def kernel_parameters():"),
            ("memmory", "memory", "memmory = 2", "class Mine(Policy):"),
            ("supports_retractions", "supports_retraction", "supports_retractions = True", "class Mine(Policy):"),
        )
    },
    "other arguments": (
        "IndexPolicy",
        "@staticmethod\ndef index(policy, arms):\n    return 1.0\n",
        "def index(policy, arms):",
        "takes (policy, arms)",
        "Write def index(policy, arm)",
    ),
    "no static method": (
        "Policy",
        "def choose(self, state, now):\n    return 0\n",
        "def choose(self, state, now):",
        "is not a static method",
        "Write @staticmethod above",
    ),
    "no choose": (
        "Policy",
        "memory = 1\n",
        "class Mine(Policy):",
        "does not say how it chooses",
        "choose(policy, state, now)",
    ),
    "no formula": ("IndexPolicy", "memory = 1\n", "class Mine(IndexPolicy):", "has no formula", "index(policy, arm)"),
    "memory of no number of arms": (
        "Policy",
        "def memory(self):\n    return 1\n" + CHOOSE + "    return 0\n",
        "def memory(self):",
        "memory takes (self)",
        "def memory(self, arms, horizon)",
    ),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_wrong_definition_is_refused_by_the_decorator(name: str, written: Any) -> None:
    base, body, line, message, advice = DEFINITIONS[name]
    with pytest.raises(PolicyError) as found:
        written(base, body)
    assert_found(found.value, line, message, advice)


COMPILED = {
    "a function that numba does not know": (
        INDEX + "    return np.polyval((1.0, 2.0), arm.pulls)\n",
        "polyval",
        "Write it as a loop",
    ),
    "two types": (
        INDEX + "    x = 1.0\n    if arm.pulls > 1e5:\n        x = 'a'\n    return 1.0 if x == 1.0 else 2.0\n",
        "Cannot unify",
        "a number in every case",
    ),
    "a sorted list": (INDEX + "    return sorted((arm.pulls, arm.observed))[0]\n", "NRT required", "write a loop"),
}


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize("name", COMPILED)
def test_what_cannot_be_compiled_is_one_short_error(name: str, written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    body, message, advice = COMPILED[name]
    mine = written("IndexPolicy", body)
    with pytest.raises(PolicyError, match=message) as found:
        simulate(PROBLEM, mine(), horizon=100, runs=1)
    lines = str(found.value).splitlines()
    assert "written_" in lines[1]
    assert advice in lines[-1]
    assert len(lines) <= 10
    assert found.value.__cause__ is None
    with pytest.raises(PolicyError) as live:
        Bandit(["a", "b"], mine()).choose()
    assert live.value.__cause__ is None
    monkeypatch.setenv("BELATED_DEBUG", "1")
    with pytest.raises(PolicyError) as debugged:
        simulate(PROBLEM, mine(), horizon=100, runs=1)
    assert debugged.value.__cause__ is not None
    assert str(debugged.value) == str(found.value)


def test_a_mistake_can_be_played_on_purpose(written: Any) -> None:
    mine = written("IndexPolicy", INDEX + "    return 1.0 / math.sqrt(arm.now)\n")
    with pytest.raises(PolicyError, match="reads the round"):
        simulate(PROBLEM, mine(), horizon=100, runs=1)
    assert simulate(PROBLEM, mine(), horizon=100, runs=1, check=False).pulls.sum() == 100


# ---- what works ----


def test_the_rows_of_the_arms_can_be_used_as_a_whole(written: Any) -> None:
    mine = written("Policy", CHOOSE + "    return np.argmin(state.pulls[:state.arms])\n")
    assert (simulate(PROBLEM, mine(), horizon=30, runs=2).pulls == 10).all()


def test_the_package_may_use_the_further_rows() -> None:
    """Thompson sampling draws for them, too: its loop is vectorised."""
    assert check_play(ThompsonSampling(), 3, 10) == 3


def test_a_check_of_a_large_memory_copies_none_of_it() -> None:
    tracemalloc.start()
    try:
        check_once(DelayedExp3(rate=0.0371), 3, 5_000_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1.2 * 4 * 5_000_000 * 8  # of which a system gives what is touched


@pytest.mark.parametrize("own", FIVE, ids=lambda own: own.label)
def test_five_policies_are_right_and_learn(own: Any) -> None:
    result = simulate(PROBLEM, own, horizon=2000, runs=40)
    assert result.mean[0, -1] + 4 * result.stderr[0, -1] < 0.2 * 2000


@pytest.mark.slow
@pytest.mark.parametrize("own", FIVE, ids=lambda own: own.label)
def test_five_policies_keep_the_contract(own: Any) -> None:
    check_policy(own)


def test_a_policy_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    check_once(EpsGreedy(), 3, 100)
    monkeypatch.setattr("belated.policies._check.play.check_play", lambda *_: pytest.fail("again"))
    check_once(EpsGreedy(), 3, 100)
    check_once(EpsGreedy(), 3, 200)
    for other, arms, horizon in ((EpsGreedy(eps=0.3), 3, 100), (EpsGreedy(), 4, 100), (EpsGreedy(), 3, 10)):
        with pytest.raises(pytest.fail.Exception):
            check_once(other, arms, horizon)


def test_a_policy_that_names_an_arm_is_checked_with_all_arms(written: Any) -> None:
    body = "arm: int = 15\nclass KernelParams(NamedTuple):\n    arm: int\n" + CHOOSE + "    return int(policy.arm)\n"
    mine = written("Policy", body)
    check_once(mine(), 20, 100)
    check_once(mine(), 70_000, 100)
    with pytest.raises(PolicyError, match="returned 15, an arm that does not exist"):
        check_once(mine(), 14, 100)
    with pytest.raises(PolicyError, match="returned 20"):
        check_once(mine(arm=20), 20, 100)


@pytest.mark.parametrize(
    ("base", "body", "what"),
    [
        ("IndexPolicy", INDEX + "    return arm.total + 1.0 / (arm.pulls - 2.0)\n", "division by zero"),
        ("Policy", CHOOSE + "    return now - 1\n", "choose returned .*, an arm that does not exist"),
        ("Policy", CHOOSE + "    return int(state.pulls[now]) * 0\n", "state.pulls has no element"),
    ],
)
@pytest.mark.parametrize("arms", [5, 80, 5000])
def test_more_arms_hide_no_mistake(base: str, body: str, what: str, arms: int, written: Any) -> None:
    """Of 5000 arms, the rounds of a check do not reach all, and none twice."""
    with pytest.raises(PolicyError, match=what):
        check_once(written(base, body)(), arms, 10_000)


def test_a_policy_for_a_number_of_arms_is_checked_with_that_many(written: Any) -> None:
    body = (
        "class KernelParams(NamedTuple):\n    first: float\n"
        "def kernel_params(self, arms):\n    return ((0.0,) * 80)[arms - 80 : arms - 79] if arms == 80 else ()\n"
        + INDEX
    )
    check_once(written("IndexPolicy", body + "    return -arm.pulls\n")(), 80, 1000)
    with pytest.raises(PolicyError, match="division by zero"):  # when an arm is pulled again
        check_once(written("IndexPolicy", body + "    return 1.0 / (arm.pulls - 2.0)\n")(), 80, 1000)


@pytest.mark.skipif(not JIT, reason="plain Python sees what changes")
@pytest.mark.parametrize(
    ("change", "changed"),
    [("def helper(x):\n    return -x\n", "helper"), ("FACTOR = 2.0\n", "FACTOR"), ("helper = other\n", "other")],
)
def test_a_helper_that_changes_after_it_was_compiled_is_refused(written: Any, change: str, changed: str) -> None:
    first = "FACTOR = 1.0\ndef helper(x):\n    return FACTOR * x\ndef other(x):\n    return 3.0 * x\n"
    mine = written("Policy", CHOOSE + "    return int(helper(now)) % state.arms\n")
    cells = vars(sys.modules[mine.__module__])
    exec(first, cells)
    prepare_to_compile(mine)
    check_once(mine(), 3, 100)
    exec(first, cells)  # the same again
    check_once(mine(), 3, 100)
    exec(change, cells)
    with pytest.raises(PolicyError, match="changed after Mine was compiled"):
        simulate(PROBLEM, mine(), horizon=100, runs=1, check=False)
    with pytest.raises(PolicyError) as found:
        check_once(mine(), 3, 100)
    assert f"{changed} changed after Mine was compiled" in str(found.value)
    assert "Run the cell of class Mine again" in str(found.value)


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_helpers_are_made_known_to_numba_while_no_other_thread_compiles() -> None:
    class Context:
        """A typing context that knows everything."""

        def refresh(self) -> None:
            assert global_compiler_lock.is_locked()

        def _lookup_global(self, _: Any) -> Any:
            assert global_compiler_lock.is_locked()
            return True

    compile_helpers([EpsGreedy.choose], Context())


def test_memory_is_a_function_of_the_arms_and_the_horizon() -> None:
    """QPM-D's queue: a live bandit needs its horizon, and does not outlive it."""
    with pytest.raises(PolicyError, match=r"QPMD\.memory\(2, None\) failed with ValueError: the queue needs a horizon"):
        Bandit(["a", "b"], QPMD())
    bandit = Bandit(["a", "b"], QPMD(horizon=20))
    assert bandit._learner.state.memory.shape == (3, 24)
    for _ in range(20):
        bandit.observe(bandit.choose().id, 1.0)
    with pytest.raises(StateError, match="sized for its horizon of 20"):
        bandit.choose()
    restored = Bandit.from_dict(bandit.to_dict())
    assert restored.summary() == bandit.summary()


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("return arms // 0", "return arms // 0", "failed with ZeroDivisionError"),
        ("return arms / 2", "def memory(self, arms, horizon):", r"memory\(2, 100\) is 1\.0\."),
    ],
)
def test_a_mistake_in_memory_names_its_line(tmp_path: Path, body: str, line: str, said: str) -> None:
    text = (
        "from belated.policies import IndexPolicy, policy\n\n@policy\nclass Mine(IndexPolicy):\n    label = 'Mine'\n\n"
        f"    def memory(self, arms, horizon):\n        {body}\n\n"
        "    @staticmethod\n    def index(policy, arm):\n        return 1.0\n"
    )
    file = tmp_path / "mine.py"
    file.write_text(text)
    space: dict[str, Any] = {"__name__": "mine"}
    exec(compile(text, str(file), "exec"), space)
    with pytest.raises(PolicyError, match=said) as caught:
        memory_size(space["Mine"](), 2, 100)
    number = 1 + [each.strip() for each in text.splitlines()].index(line)
    assert f'File "{file}", line {number}' in str(caught.value)
    assert "Return a whole number from 0" in str(caught.value)


def test_a_policy_needs_a_base() -> None:
    with pytest.raises(
        PolicyError, match=r"Alone does not derive from a policy\.\n.*line \d+\n +class Alone"
    ) as caught:

        @policy  # type: ignore[type-var]
        class Alone:
            label = "Alone"

    assert "Write class Alone(IndexPolicy):" in str(caught.value)


def test_a_policy_without_bounds_reports_what_is_known_of_any_mean() -> None:
    summary = Bandit(["a", "b"], EpsGreedy()).summary()
    assert [(arm.lower, arm.upper) for arm in summary] == [(0.0, 1.0)] * 2


def test_helpers_are_compiled_wherever_they_are(written: Any) -> None:
    """In the file, around the class, in another module by its name, and decorated ones that call plain ones."""
    mine = written("IndexPolicy", INDEX + "    return helper(arm) + other.scaled(arm.pulls) + factor_of_two()\n")
    module: Any = sys.modules[mine.__module__]
    other: Any = ModuleType(f"{module.__name__}_other")
    sys.modules[other.__name__] = other
    exec("def twice(x):\n    return 2.0 * x\n\ndef scaled(x):\n    return 0.001 * twice(x)\n", other.__dict__)
    exec(
        "from belated.policies import inline\n"
        "def plain(arm):\n    return arm.total / max(arm.observed, 1.0)\n"
        "helper = inline(lambda arm: plain(arm))\n"
        "def make(factor):\n    def factor_of():\n        return factor\n    return factor_of\n"
        "factor_of_two = make(2.0)\n",
        module.__dict__,
    )
    module.other = other
    try:
        result = simulate(PROBLEM, mine(), horizon=300, runs=3)
        assert (result.pulls > 0).all()
    finally:
        del sys.modules[other.__name__]


def test_a_check_takes_a_fraction_of_a_second_and_built_in_policies_none() -> None:
    """Counted in rounds, not in seconds."""
    from belated.policies import UCB
    from belated.policies._check.game import CheckedGame

    rounds = []
    choose = CheckedGame.choose

    def counted(game: Any) -> Any:
        rounds.append(game.now)
        return choose(game)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CheckedGame, "choose", counted)
        check_once(UCB(), 3, 1000)
        assert not rounds
        check_once(EpsGreedy(eps=0.77), 3, 1000)
    assert 200 <= len(rounds) <= 500


# ---- check_policy finds what differs ----


def test_the_contract_names_a_policy_that_is_not_registered() -> None:
    class Undecorated(EpsGreedy):  # type: ignore[misc]
        pass

    with pytest.raises(InvalidParameter, match="Undecorated is not registered; write @policy"):
        check_policy(Undecorated())


def test_the_contract_names_a_policy_that_changes_from_one_call_to_the_next(written: Any) -> None:
    """An array outside of it, which compiled code sees as a constant."""
    mine = written("Policy", CHOOSE + "    CALLS[0] += 1.0\n    return int(CALLS[0]) % state.arms\n")
    vars(sys.modules[mine.__module__])["CALLS"] = np.zeros(1)
    with pytest.raises(PolicyError) as found:
        check_policy(mine(), problems={})
    assert "Mine does not play the same game twice" in str(found.value)
    assert "Let its choices depend on state alone" in str(found.value)


def test_every_way_to_format_a_number_is_known() -> None:
    """Whichever Python this is: it differs."""
    formats = [name for name in dis.opname if name.startswith("FORMAT_")]
    assert formats
    for name in formats:
        assert _OPERATIONS[name][0] == "makes a string"


@pytest.mark.parametrize("row", ["arm", "state.arms"])  # the latter is shared by all arms
@pytest.mark.parametrize(
    ("correction", "what"),
    [
        ("pass", "feedback 1 is replaced by 0.25"),
        ("if pulls == 0:\n        state.memory[{row}, 0] += total", "a pull with feedback 1 is retracted"),
        ("state.memory[{row}, 0] += total", ""),
    ],
)
def test_the_contract_notices_feedback_that_is_not_undone(correction: str, what: str, row: str, written: Any) -> None:
    mine = written(
        "Policy",
        "memory = 1\nsupports_retraction = True\n"
        + FEEDBACK
        + f"    state.memory[{row}, 0] += reward\n"
        + "@staticmethod\ndef on_correction(policy, state, arm, rank, pulled_at, pulls, observed, total):\n"
        + f"    {correction.format(row=row)}\n"
        + CHOOSE
        + "    return now % state.arms\n",
    )
    if not what:
        check_policy(mine(), problems={})
        return
    with pytest.raises(PolicyError) as found:
        check_policy(mine(), problems={})
    line = "def on_correction(policy, state, arm, rank, pulled_at, pulls, observed, total):"
    assert_found(found.value, line, what, "Let on_correction put right what on_feedback wrote")


def test_the_contract_plays_as_long_as_a_simulation_does(written: Any) -> None:
    """Longer than the horizon of its problems."""
    line = "state.memory[arm, rank] = reward"
    mine = written("Policy", f"memory = 500\n{FEEDBACK}    {line}\n{CHOOSE}    return 0\n")
    with pytest.raises(PolicyError) as found:
        check_policy(mine(), problems={})
    assert_found(found.value, line, "number 500 of an arm's state.memory does not exist", "Write memory = 501")


def test_the_contract_takes_an_object() -> None:
    with pytest.raises(InvalidParameter, match=r"policy is <class .*; give a policy, such as EpsGreedy\(\)"):
        check_policy(EpsGreedy)  # type: ignore[arg-type]


def test_the_contract_compares_plain_and_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {"here": Problem([Bernoulli(0.3), Bernoulli(0.6)], Fixed(1))}
    monkeypatch.setattr("belated.testing.simulate", _with_other_seed)
    with pytest.raises(AssertionError, match="here: plain Python and compiled code differ from"):
        check_policy(EpsGreedy(eps=0.5), problems=problem)


def _with_other_seed(problem: Problem, policy: Policy, **options: Any) -> Any:
    return simulate(problem, policy, **{**options, "seed": options["seed"] + 1})


def test_the_contract_compares_a_live_bandit(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = {"here": Problem([Bernoulli(0.3), Bernoulli(0.6)], Fixed(1))}
    monkeypatch.setattr("belated.testing.Bandit", lambda names, policy, seed: Bandit(names, policy, seed=seed + 1))
    with pytest.raises(AssertionError, match=r"here: plain Python and a live bandit choose different arms in round"):
        check_policy(EpsGreedy(eps=0.5), problems=problem)


def test_choices_are_the_same_with_and_without_the_check() -> None:
    first, second = (simulate(PROBLEM, EpsGreedy(), horizon=200, runs=5, check=check).curves for check in (True, False))
    assert np.array_equal(first, second)
