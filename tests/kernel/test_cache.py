"""Compiled code on disk: keyed by the code it was compiled from, kept where it may be, forgotten when it is old."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numba.core import caching

from belated.errors import BelatedWarning
from belated.kernel import cache, code_files, code_key
from belated.kernel.jit import JIT, entry
from belated.kernel.pipeline import KernelFunction

PACKAGE = Path(cache.__file__).parents[1]
NEEDS_JIT = pytest.mark.skipif(not JIT, reason="nothing is compiled")
READ_KEYS = """
import functools, importlib, importlib.machinery, json, sys
from pathlib import Path

# unchanged files are compiled to bytecode once
importlib.machinery.SourceFileLoader.source_to_code = staticmethod(
    functools.cache(lambda data, path: compile(data, path, "exec", dont_inherit=True))
)

def keys():
    loaded = ("belated", "mine", "helper", "moved", "settings")
    for name in [name for name in sys.modules if name.split(".")[0] in loaded]:
        del sys.modules[name]
    importlib.invalidate_caches()
    import belated.policies
    from belated.engine.runner import LOOPS
    from belated.kernel.code_key import code_key
    from belated.live.learner import state_key
    from belated.policies._base import entry_points
    from belated.policies import POLICIES
    from belated.simulation.result import _package, _policy
    policies = dict(POLICIES.items())
    if OWN:
        from mine import Mine
        policies["Mine"] = Mine
    functions = LOOPS
    found = {"": [_package(), code_key(entry_points.begin)]}
    for name, policy in policies.items():
        compiled = [code_key(function, owner=policy) for function in functions]
        found[name] = [compiled, code_key(entry_points.decide, owner=policy), state_key(policy), _policy(policy)]
    return found

result = [keys()]
for file, old, new in EDITS:
    path = Path(file)
    text = path.read_text()
    assert old in text, (file, old)
    path.write_text(text.replace(old, new, 1))
    result.append(keys())
    path.write_text(text)
print(json.dumps(result))
"""
Edit = tuple[str, str, str]


def changed_keys(folder: Path, edits: Iterable[Edit], own: bool = False) -> list[dict[str, list[str]]]:
    """For each edit of a copy of the package (and of own policies): (policy: which of its keys are others).

    "code" is that of the engine's entries, "decide" that of a live bandit, "state" that of snapshots, "result" that of
    stored results; of "" those that belong to no policy."""
    source = folder / "source"
    shutil.copytree(PACKAGE, source / "belated", ignore=shutil.ignore_patterns("__pycache__"))
    script = f"OWN = {own}\nEDITS = {list(edits)!r}\n{READ_KEYS}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(folder)])}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, *after = json.loads(done.stdout)
    assert len(before) > (11 if own else 10)
    names = {True: ("result", "code"), False: ("code", "decide", "state", "result")}
    return [
        {
            policy: [label for label, old, new in zip(names[not policy], keys, edit[policy], strict=True) if old != new]
            for policy, keys in before.items()
            if edit[policy] != keys
        }
        for edit in after
    ]


ALL = ["code", "decide", "state", "result"]
BUILT_IN = ["code", "decide", "result"]
"""Snapshots of a policy of the package belong to its version, not to its code."""


@NEEDS_JIT
def test_an_edit_of_the_package_is_seen_by_the_policies_that_it_concerns(tmp_path: Path) -> None:
    policies, engine, kernel = (f"source/belated/{name}" for name in ("policies", "engine", "kernel"))
    thompson = f"{policies}/thompson_sampling.py"
    edits = {
        "docstring of a module": (thompson, '"""', '"""Edited:\n'),
        "docstring of a class": (thompson, 'Sampling(Policy):\n    """', 'Sampling(Policy):\n    """\n    Edited: '),
        "docstring of a function": (thompson, '-> Any:\n    """', '-> Any:\n    """Edited: '),
        "a comment": (thompson, "    @staticmethod\n    def choose", "    # here\n\n    @staticmethod\n    def choose"),
        "docstring in the kernel": (f"{kernel}/math.py", '-> Any:\n    """', '-> Any:\n    """Edited: '),
        "docstring in the engine": (f"{engine}/runner.py", '"""', '"""Edited: '),
        "a policy": (thompson, "if drawn > largest:", "if drawn >= largest:"),
        "a function of a policy's file": (thompson, "policy.successes + total", "total + policy.successes"),
        "a helper that it calls": (f"{kernel}/beta_bounds.py", "_LARGEST = 1e9", "_LARGEST = 1e8"),
        "parameters": (thompson, "return self.successes, self.failures", "return self.failures, self.successes"),
        "a version": (thompson, 'label = "Thompson"', 'label = "Thompson"\n    version = 2'),
        "a flag": (f"{policies}/ucb.py", "reads_pulls = False", "reads_pulls = True"),
        "the base of some policies": (f"{policies}/_base/index.py", "bar = -np.inf", "bar = -1.0"),
        "all policies": (f"{policies}/_base/interface.py", "state.pulls[arm] += 1\n", "state.pulls[arm] += 2\n"),
        "plain Python of the engine": (f"{engine}/encode.py", "from __future__ import annotations\n", "A = 0\n"),
        "plain Python of a package in it": (f"{engine}/speculative/packed_wheel.py", "_BITS = 16", "_BITS = 15"),
        "a plot": ("source/belated/simulation/figures.py", "BAND = 4.0", "BAND = 3.0"),
    }
    found = dict(zip(edits, changed_keys(tmp_path, edits.values()), strict=True))
    for edit in [name for name in edits if name.startswith(("docstring", "a comment"))]:
        assert found[edit] == {}, edit
    for edit in ("a policy", "a function of a policy's file"):
        assert found[edit] == {"ThompsonSampling": BUILT_IN}, edit
    assert found["a helper that it calls"] == {"": ["result"], "ThompsonSampling": BUILT_IN}
    assert found["parameters"] == {"ThompsonSampling": ["result"]}
    assert list(found["a version"]) == ["ThompsonSampling"]
    assert "state" in found["a version"]["ThompsonSampling"]
    assert found["a flag"]["UCB"] == BUILT_IN
    assert set(found["a flag"]) <= {"UCB", "OptimisticUCB"}
    assert found["the base of some policies"]["UCB"] == BUILT_IN
    assert "decide" not in found["the base of some policies"].get("SuccessiveElimination", [])
    assert all(keys == BUILT_IN for policy, keys in found["all policies"].items() if policy)
    assert len(found["all policies"]) > 10
    for edit in ("plain Python of the engine", "plain Python of a package in it"):
        assert found[edit] == {"": ["result"]}, edit
    assert found["a plot"] == {}


OWN_POLICY = '''
"""A policy of a user."""
import numpy as np
import settings
from belated.policies import policy
from belated.policies import ConfidencePolicy
from belated.policies import IndexPolicy
from helper import weight
from settings import SIGN

TABLE = np.array([1.0, 2.0])

def scaled(by):
    def formula(total):
        return by * total
    return formula

@policy
class Mine(IndexPolicy, ConfidencePolicy):
    """Mine."""
    label = "Mine"

    @staticmethod
    def index(policy, arm):
        """The index."""
        return SIGN * settings.SCALE * TABLE[0] * weight(arm.total, arm.observed)
'''
HELPER = '''
from belated.kernel.jit import inline

@inline
def weight(total, observed):
    """A helper."""
    return {formula}

def unused(x):
    return x
'''
SETTINGS = "SIGN = 1.0\nSCALE = 3.0\nUNUSED = {'a': 1}\n"


def write_own(folder: Path) -> None:
    (folder / "mine.py").write_text(OWN_POLICY)
    for helper in ("helper.py", "moved.py"):
        (folder / helper).write_text(HELPER.format(formula="total / max(observed, 1.0)"))
    (folder / "settings.py").write_text(SETTINGS)


@NEEDS_JIT
def test_an_edit_of_an_own_policy_and_of_what_it_calls_is_seen(tmp_path: Path) -> None:
    write_own(tmp_path)
    same = [
        ("mine.py", '"""Mine."""', '"""Mine, and mine only."""'),
        ("mine.py", '"""The index."""', '"""An index."""  # really'),
        ("mine.py", "TABLE =", "\n\n# of numbers\nTABLE ="),
        ("helper.py", '"""A helper."""', '"""It\n    helps."""'),
        ("helper.py", "    return x", "    return x + 1"),
        ("settings.py", "UNUSED = {'a': 1}", "UNUSED = {'a': 2}"),
    ]
    other = [
        ("mine.py", "TABLE[0]", "TABLE[1]"),
        ("mine.py", "[1.0, 2.0]", "[1.0, 3.0]"),
        ("mine.py", '    label = "Mine"', '    label = "Mine"\n    reads_pulls = False'),
        ("mine.py", "from helper import", "from moved import"),
        ("helper.py", "total / max", "-total / max"),
        ("helper.py", "@inline\n", "from belated.kernel.jit import outlined\n@outlined\n"),
        ("settings.py", "SIGN = 1.0", "SIGN = -1.0"),
        ("settings.py", "SIGN = 1.0", "SIGN = 1"),
        ("settings.py", "SCALE = 3.0", "SCALE = 4.0"),
    ]
    found = changed_keys(tmp_path, [*same, *other], own=True)
    for edit, keys in zip([*same, *other], found, strict=True):
        assert keys == ({} if edit in same else {"Mine": ALL}), edit


def first(value: float) -> float:
    return second(value)


def second(value: float) -> float:
    return SECRET * value + first(value)  # and so on


SECRET: object = 3.0


def test_a_value_that_cannot_be_hashed_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for value in (3.0, 4.0, 3, True, (3.0, 3), "a", b"a", None, object(), [3.0], {"a": 1}):
        monkeypatch.setitem(globals(), "SECRET", value)
        keys.append(code_key.code_key(first))
        assert keys[-1] == code_key.code_key(first)
    assert None not in keys[:8]
    assert len(set(keys[:8])) == 8
    assert keys[8:] == [None, None, None]


def test_a_class_that_another_process_cannot_import_has_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Local:
        pass

    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    assert cache.folder_for(first) is not None
    assert cache.folder_for(first, Path) is not None
    assert cache.folder_for(first, Local) is None


PLAY = """
from belated import Bandit
from mine import Mine

bandit = Bandit(["bad", "good"], Mine())
for _ in range(100):
    decision = bandit.choose()
    bandit.observe(decision.id, 0.8 if decision.arm == "good" else 0.2)
print(bandit.summary()[0].pulls, sum(bandit._learner._decide.stats.cache_hits.values()))
"""


def play(folder: Path, store: Path) -> list[int]:
    """How often the worse arm was pulled, and how often compiled code was found, in a process of its own."""
    environment = {**os.environ, "BELATED_CACHE_DIR": str(store), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(PACKAGE.parent)])
    done = subprocess.run([sys.executable, "-c", PLAY], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


@NEEDS_JIT
def test_code_is_found_again_until_a_helper_is_edited(tmp_path: Path) -> None:
    write_own(tmp_path)
    store = tmp_path / "cache"
    assert play(tmp_path, store) == [1, 0]  # the better arm has the larger mean
    helper, policy = tmp_path / "helper.py", tmp_path / "mine.py"
    policy.write_text(policy.read_text().replace('"""The index."""', '"""\n        The\n        index."""'))
    assert play(tmp_path, store) == [1, 1]
    helper.write_text(HELPER.format(formula="-total / max(observed, 1.0)"))
    assert play(tmp_path, store) == [99, 0]


@NEEDS_JIT
def test_without_a_folder_code_is_compiled_in_each_process(tmp_path: Path) -> None:
    write_own(tmp_path)
    store = tmp_path / "cache"
    store.write_text("a file, so no folder can be made here")
    assert play(tmp_path, store) == [1, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cache",
        "helper.py",
        "mine.py",
        "moved.py",
        "settings.py",
    ]


def sum_to(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


@NEEDS_JIT
def test_code_of_which_a_class_is_gone_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hits() -> int:
        compiled: Any = entry(sum_to)
        assert compiled(5) == 10
        return sum(compiled.stats.cache_hits.values())

    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    assert [hits(), hits()] == [0, 1]
    (index,) = tmp_path.glob("*/*.nbi")
    gone = b"cgone\nClass\n."  # a class of a module that no longer exists
    index.write_bytes(code_files._MARK + code_files._digest(gone) + gone)
    assert [hits(), hits()] == [0, 1]


@NEEDS_JIT
def test_code_that_cannot_be_kept_is_played_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(code_files, "_warned", set())
    monkeypatch.setattr(code_files.CodeFiles, "save", no_space)
    with pytest.warns(BelatedWarning, match="cannot be kept in .*No space left on device.*BELATED_CACHE_DIR") as warned:
        sums = [entry(sum_to)(count) for count in (5, 6)]
    assert sums == [10, 15]
    assert len(warned) == 1
    assert not list(tmp_path.glob("*/*.nbi"))


# ---- files that are damaged, or cannot be written ----


DAMAGE = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "one byte": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "garbled": lambda data: bytes(byte ^ 0x5A for byte in data),
    "another file": lambda data: b"\x80\x04N.",
}


@NEEDS_JIT
def test_damaged_code_is_rebuilt_with_one_warning_and_no_other_entry_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)

    def hits(count: Any) -> int:
        compiled: Any = entry(sum_to)
        assert compiled(count) == 10
        return sum(compiled.stats.cache_hits.values())

    whole, narrow = 5, np.int32(5)
    assert [hits(whole), hits(narrow), hits(whole), hits(narrow)] == [0, 0, 1, 1]
    files = sorted(path for path in tmp_path.glob("*/*") if path.is_file())
    assert [path.suffix for path in files] == [".nbc", ".nbc", ".nbi"]
    for path in files:
        for name, damage in DAMAGE.items():
            path.write_bytes(damage(path.read_bytes()))
            monkeypatch.setattr(code_files, "_warned", set())
            with pytest.warns(BelatedWarning, match=r"was damaged .* rebuilt.* BELATED_CACHE_DIR") as warned:
                found = [hits(whole), hits(narrow), hits(whole), hits(narrow)]
            assert len(warned) == 1, name
            # a damaged index is restored from the data, and damaged data concern their own entry alone
            assert sum(found[:2]) == (2 if path.suffix == ".nbi" else 1), (path.name, name)
            assert found[2:] == [1, 1], (path.name, name)


@NEEDS_JIT
def test_all_files_damaged_at_once_are_rebuilt_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    entry(sum_to)(5)
    for path in tmp_path.glob("*/*"):
        path.write_bytes(b"")
    monkeypatch.setattr(code_files, "_warned", set())
    with pytest.warns(BelatedWarning) as warned:
        assert [entry(sum_to)(5) for _ in range(2)] == [10, 10]
    assert len(warned) == 1


def test_two_processes_that_take_one_name_do_not_load_each_others_code(tmp_path: Path) -> None:
    one, two = (code_files.CodeFiles(tmp_path, "f", pickle.dumps) for _ in range(2))
    one.save("a", 1)
    (tmp_path / "f.nbi").unlink()  # as the other one saw it
    two.save("b", 2)
    assert (two.load("b"), two.load("a")) == (2, None)
    one.save("a", 1)
    assert [files.load(key) for files in (one, two) for key in "ab"] == [1, 2, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.1.nbc", "f.2.nbc", "f.nbi"]


def test_a_folder_that_cannot_be_written_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    store.write_text("a file, so no folder can be made here")
    monkeypatch.setattr(cache, "cache_root", lambda: store)
    monkeypatch.setattr(code_files, "_warned", set())
    with pytest.warns(BelatedWarning, match=f"cannot be kept in {store} .*set BELATED_CACHE_DIR") as warned:
        folders = [cache.folder_for(function) for function in (first, play)]
    assert folders == [None, None]
    assert len(warned) == 1


SIMULATE = """
from belated import Problem, simulate
from belated.delays import Fixed
from belated.policies import UniformChoice
from belated.rewards import Bernoulli

problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(10))
print(simulate(problem, UniformChoice(), horizon=200, runs=3).final.tolist())
"""


@NEEDS_JIT
@pytest.mark.slow
def test_a_simulation_survives_a_damaged_cache(tmp_path: Path) -> None:
    """All files of a real cache; then a cache that cannot be written."""

    def simulated(store: Path) -> tuple[str, list[str]]:
        environment = {**os.environ, "BELATED_CACHE_DIR": str(store), "PYTHONPATH": str(PACKAGE.parent)}
        command = [sys.executable, "-c", SIMULATE]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "BelatedWarning" in line]

    store = tmp_path / "store"
    expected, warned = simulated(store)
    assert warned == []
    files = sorted(path for path in store.glob("*/*") if path.is_file())
    assert len(files) >= 2
    for damage in (DAMAGE["empty"], DAMAGE["one byte"]):
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        found, warned = simulated(store)
        assert found == expected
        assert len(warned) == 1
    assert simulated(store) == (expected, [])
    found, warned = simulated(Path("/dev/null/store"))
    assert found == expected
    assert len(warned) == 1


def test_old_folders_of_compiled_code_are_forgotten_and_others_are_not(tmp_path: Path) -> None:
    names = ("0123456789abcdef", "play-UCB-0123456789abcdef", "fedcba9876543210", "backup-0123456789abcdef", "notes")
    old, old_entry, _, backup, notes = folders = [tmp_path / name for name in names]
    for folder in folders:
        folder.mkdir()
        (folder / "play.1.nbc").touch()
    (backup / "thesis.txt").touch()
    (old / "play.1.nbc.tmp.0123456789abcdef").touch()  # of a process that was killed
    for folder in (old, old_entry, backup, notes):
        os.utime(folder, (0, 0))
    cache._forget_old(tmp_path)
    assert [folder for folder in folders if not folder.exists()] == [old, old_entry]


@NEEDS_JIT
def test_every_kernel_function_is_reached_from_an_entry() -> None:
    """Otherwise an edit of it would not be noticed, or it is not needed."""
    import belated.policies
    from belated.engine import environment, sources
    from belated.engine.batch_sampling import ALL_KINDS
    from belated.engine.runner import LOOPS
    from belated.engine.sources import _batch_function
    from belated.policies._base import entry_points
    from belated.policies._base.policy import POLICIES

    reached: set[int] = set()
    live = [
        getattr(entry_points, name) for name in ("decide", "add_feedback", "correct", "replay", "bounds", "correction")
    ]
    roots = [*LOOPS, *live, entry_points.begin, environment._pull, _batch_function(ALL_KINDS)]
    for source in (sources.DrawNow, sources.DrawInRound):
        roots += [value for value in vars(source).values() if isinstance(value, staticmethod)]
    for policy in POLICIES.values():
        walk = code_key._Walk(policy, strict=True)
        assert list(walk.lines((str(number), root) for number, root in enumerate(roots)))
        assert walk.unknown == []
        reached |= {id(code_key.python_of(function)) for function in walk._functions}
    public = set(vars(belated.policies)) | set(dir(belated.policies))
    modules = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "belated"}
    missing = [
        f"{name}.{function}"
        for name, module in modules.items()
        for function, value in vars(module).items()
        if isinstance(value, KernelFunction) and id(value.py_func) not in reached and function not in public
    ]
    assert missing == []


@NEEDS_JIT
def test_code_of_a_closure_is_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each made anew, as in another process; one for other kinds of laws has its own folder."""
    from belated.engine.batch_sampling import ALL_KINDS, BatchKinds
    from belated.engine.sources import _batch_drawer

    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    fixed = BatchKinds(only_bernoulli=True, delays=(), leads=False)
    for kinds in (fixed, fixed, fixed._replace(delays=ALL_KINDS.delays[:1])):
        assert _batch_drawer.__wrapped__(kinds)()
    assert sorted(len(list(folder.glob("*.nbc"))) for folder in tmp_path.iterdir()) == [1, 1]


@NEEDS_JIT
def test_kernels_of_a_gpu_have_a_folder_for_each_policy_and_variant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from belated.engine.gpu import kernel
    from belated.engine.gpu.layout import KernelVariant
    from belated.policies import UCB, SuccessiveElimination

    cuda: Any = ModuleType("numba.cuda")
    cuda.jit = lambda function, lto: SimpleNamespace()
    monkeypatch.setattr(kernel, "device", lambda: cuda)
    monkeypatch.setattr(kernel, "cuda", cuda)
    monkeypatch.setattr(kernel, "version", lambda name: "1.0")
    monkeypatch.setattr(kernel, "import_module", lambda name: SimpleNamespace(CUDACache=caching.FunctionCache))
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path)
    variant = KernelVariant(*[True] * len(KernelVariant._fields))
    found = {
        kernel.kernel_for.__wrapped__(each, policy)._cache.cache_path
        for each in (variant, variant._replace(shared=False))
        for policy in (UCB, SuccessiveElimination, UCB)
    }
    assert sorted(found) == sorted(str(path) for path in tmp_path.iterdir())
    assert len(found) == 4


def test_the_folder_of_the_cache_may_begin_with_the_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BELATED_CACHE_DIR", "~/compiled")
    assert cache.cache_root.__wrapped__() == tmp_path / "compiled"
