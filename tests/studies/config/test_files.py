from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated import Problem
from belated.delays import ByReward, Fixed, FromScipy, Mixture, Never, PacketLoss, Pareto
from belated.errors import ConfigurationError
from belated.policies import UCB, ImputedUCB, PatientBandits, PrefixUCB, ThompsonSampling
from belated.rewards import Bernoulli, Beta, Categorical
from belated.studies import config
from belated.studies.config import read_simulation, read_sweep
from failures import Failures
from parts import TEXT, TWO, D, P, R

# ---- what is read ----


def test_a_file_is_read(file: Path) -> None:
    file.write_text(
        f'horizon = 2e4\nruns = 7\nseed = 3\ncheckpoints = [10, 20_000]\nout = "there"\n[problem]\n{R}\n{D}\n{P}\n'
        'confidence = 1.0\n[[policies]]\npolicy = "PatientBandits"\nalpha = 0.2\n'
    )
    found = read_simulation(file)
    assert found.problem == Problem(TWO, Fixed(5))
    assert found.policies == [UCB(confidence=1.0), PatientBandits(alpha=0.2)]
    assert (found.horizon, found.runs, found.seed, found.checkpoints) == (20_000, 7, 3, [10, 20_000])
    assert found.out == Path("there")
    assert type(found.horizon) is int


def test_what_may_be_left_out(file: Path) -> None:
    file.write_text(TEXT.replace("runs = 3\n", ""))
    found = read_simulation(file)
    assert (found.runs, found.seed, found.checkpoints, found.out) == (100, 0, 100, Path("out/file"))


def test_without_policies_the_usual_ones_are_compared(file: Path) -> None:
    """UCB, Thompson sampling and the two defaults; in a sweep too."""
    usual = [
        UCB(confidence=1.0),
        ThompsonSampling(),
        PrefixUCB(confidence=1.0, spread=True),
        ImputedUCB(confidence="anytime"),
    ]
    text = TEXT.replace(P, "")
    file.write_text(text)
    assert read_simulation(file).policies == usual
    file.write_text(text + "[sweep]\nkey = 'problem.delays.rounds'\nvalues = [1, 2]\n")
    assert [list(cell.policies) for cell in read_sweep(file).study.cells] == [usual, usual]
    file.write_text(text + "[sweep]\nkey = 'policies[*].confidence'\nvalues = [1, 2]\n")
    with pytest.raises(ConfigurationError, match="policies"):
        read_sweep(file)


def test_what_is_given_takes_the_place_of_the_file(file: Path) -> None:
    found = read_simulation(file, runs=9, seed=4, horizon=50, out=Path("x"))
    assert (found.runs, found.seed, found.horizon, found.out) == (9, 4, 50, Path("x"))
    assert read_simulation(file, runs=None).runs == 3


@pytest.mark.parametrize(
    ("rewards", "delays", "expected"),
    [
        ("{best = 0.6, gap = 0.2, arms = 3}", "", [Bernoulli(0.6), *[Bernoulli(0.6 - 0.2)] * 2]),
        ("{best = 0.6, gap = [0.1, 0.2], arms = 3}", "", [Bernoulli(0.6), Bernoulli(0.6 - 0.1), Bernoulli(0.6 - 0.2)]),
        ('{law = "Beta", a = 2, b = 3.0, repeat = 3}', "", [Beta(2.0, 3.0)] * 3),
        ("", '[{law = "Never"}, {law = "Pareto", alpha = 0.5}]', [Never(), Pareto(0.5)]),
        ("", '{law = "PacketLoss", observed = 0.5, repeat = 2}', [PacketLoss(0.5)] * 2),
        ("", '{law = "Mixture", parts = [[1, {law = "Never"}], [3, {law = "Fixed", rounds = 2}]]}', None),
        ("", '{law = "ByReward", laws = {0 = {law = "Never"}, 1 = {law = "Fixed", rounds = 2}}}', None),
    ],
)
def test_forms_of_a_problem(file: Path, rewards: str, delays: str, expected: list[Any] | None) -> None:
    text = TEXT.replace(R, f"rewards = {rewards}") if rewards else TEXT.replace(D, f"delays = {delays}")
    file.write_text(text)
    problem = read_simulation(file).problem
    assert isinstance(problem, Problem)
    if rewards:
        assert list(problem.rewards) == expected
    elif expected is not None:
        assert list(problem.delays) == expected
    elif "Mixture" in delays:
        assert problem.delays[0] == Mixture([(1, Never()), (3, Fixed(2))])
    else:
        assert problem.delays[0] == ByReward({0: Never(), 1: Fixed(2)})


@pytest.mark.parametrize("name", ["ImputedUCB", "Imputed-UCB", "imputed-ucb"])
def test_a_policy_by_name_or_label(file: Path, name: str) -> None:
    file.write_text(TEXT.replace('"UCB"', f'"{name}"'))
    assert read_simulation(file).policies[0] == ImputedUCB()


def test_a_distribution_of_scipy(file: Path) -> None:
    file.write_text(TEXT.replace(D, 'delays = {law = "FromScipy", distribution = "expon", scale = 100}'))
    problem = read_simulation(file).problem
    assert isinstance(problem, Problem)
    assert isinstance(problem.delays[0], FromScipy)
    assert problem.delay_quantile(0, 0.5) == 69


def test_steps_of_a_continuous_reward(file: Path) -> None:
    file.write_text(
        TEXT.replace(R, 'rewards = [{law = "Uniform", low = 0.0, high = 1.0}]').replace(
            D, 'delays = {law = "ByReward", steps = [[1, {law = "Fixed", rounds = 0}], [3, {law = "Never"}]]}'
        )
    )
    problem = read_simulation(file).problem
    assert isinstance(problem, Problem)
    assert problem.delay_cdf(0, 10) == pytest.approx(0.25)


# ---- mistakes ----

MISTAKES = [
    # given, by what, what is said
    ("runs = 3", "rnus = 3", "rnus is not known. Did you mean 'runs'? A file takes horizon, runs, seed,"),
    ("runs = 3", "runs = 0", "runs is 0; give a whole number from 1 to 2,147,483,648."),
    ("runs = 3", 'runs = "many"', "runs is 'many'; give a whole number"),
    ("runs = 3", "runs = true", "runs is true; give a whole number"),
    ("runs = 3", "seed = -1", "seed is -1; give a whole number >= 0."),
    ("runs = 3", "seed = 1.5", "seed is 1.5; give a whole number >= 0."),
    ("runs = 3", "checkpoints = 0", "checkpoints is 0; give a whole number from 1"),
    ("runs = 3", 'checkpoints = "x"', "checkpoints is 'x'; give a number of checkpoints, or a list of rounds."),
    ("runs = 3", "checkpoints = []", "checkpoints is []; give a number of checkpoints, or a list of rounds."),
    ("runs = 3", "checkpoints = [5, 101]", "checkpoints[1] is 101; give a whole number from 1 to 100."),
    ("runs = 3", "out = 3", 'out is 3; give a folder, such as "out/mine".'),
    ("horizon = 100", "horizon = 100.5", "horizon is 100.5; give a whole number from 1 to 2,147,483,646."),
    ("horizon = 100", "horizon = 2020-01-01", "horizon is 2020-01-01; give a whole number"),
    ("horizon = 100", "", "horizon is missing; give the rounds of a run, such as horizon = 20_000."),
    (f"[problem]\n{R}\n{D}\n\n{P}", f"policies = []\n[problem]\n{R}\n{D}", "policies is []; give a section [[polic"),
    (P, P.replace("[[policies]]", "[policies]"), "policies is {policy = 'UCB'}; give a section [[policies]]"),
    (f"[problem]\n{R}\n{D}", "problem = 3", "problem is 3; give a table with rewards and delays."),
    (
        '"UCB"',
        '"UBC"',
        "policies[0].policy is 'UBC', which is not a policy. Did you mean 'UCB'? There are ImputedUCB, Optim",
    ),
    (
        '"UCB"',
        '"Imputed-UCB anytime"',
        "policies[0].policy is 'Imputed-UCB anytime', which is not a policy. It is Imputed-UCB with confidence = "
        '"anytime". There are ImputedUCB',
    ),
    (
        '"UCB"',
        '"Prefix-UCB spread"',
        "policies[0].policy is 'Prefix-UCB spread', which is not a policy. It is Prefix-UCB with spread = true. There",
    ),
    ('"UCB"', "3", "policies[0].policy is 3; give the name of a policy: "),
    ('policy = "UCB"', "delta = 0.1", "policies[0].policy is missing; give the name of a policy: "),
    ('"UCB"', '"UCB"\nconfidnece = 1', "policies[0].confidnece is not known. Did you mean 'confidence'? UCB takes"),
    (
        '"UCB"',
        '"UCB"\nconfidence = -1',
        'policies[0].confidence is -1; give a number > 0, or "theory", or leave it out.',
    ),
    (
        '"UCB"',
        '"UCB"\nconfidence = "x"',
        "policies[0].confidence is 'x'; give a number > 0, or \"theory\", or leave it out.",
    ),
    ('"UCB"', '"UCB"\nout = "x"', "policies[0].out is not known; put out at the top of the file, before the first"),
    ('"UCB"', '"PatientBandits"', "policies[0].alpha is missing; give a number > 0."),
    ('"UCB"', '"nowhere:Mine"', "policies[0].policy: 'nowhere:Mine' cannot be imported as a policy"),
    ('"UCB"', '"os:PathLike"', "policies[0].policy is 'os:PathLike', which is not a policy; derive it from Policy."),
    ('"UCB"', '":X"', "policies[0].policy is ':X', which cannot be imported"),
    (
        "delays",
        "delay",
        "problem.delay is not known. Did you mean 'delays'? A problem takes rewards, delays, reward_range.",
    ),
    (D, "", "problem.delays is missing; a problem needs rewards and delays."),
    (D, f"{D}\nhorizon = 3", "problem.horizon is not known; put horizon at the top of the file"),
    ('"Fixed"', '"Fixd"', "problem.delays.law is 'Fixd', which is not a delay law. Did you mean 'Fixed'?"),
    ("rounds = 5", "round = 5", "problem.delays.round is not known. Did you mean 'rounds'? Fixed takes rounds."),
    ("rounds = 5", "rounds = -5", "problem.delays.rounds is -5; give a whole number "),
    ("rounds = 5", "rounds = 2.5", "problem.delays.rounds is 2.5; give a whole number "),
    (", rounds = 5", "", "problem.delays.rounds is missing; give a whole number "),
    (D, "delays = 5", "problem.delays is 5; give a law, such as"),
    (D, "delays = []", "problem.delays is []; give a list with a law for each arm, such as"),
    (D, 'delays = [{law = "Never", repeat = 3}]', "problem: Problem: 2 reward laws and 3 delay laws; give one"),
    (R, 'rewards = {law = "Constant", value = 0.4}', "problem.rewards is one law, {law = 'Constant', value = 0.4}"),
    (R, "rewards = [0.4, 0.6]", 'problem.rewards[0] is 0.4; give a table with law = "NAME" and its parameters.'),
    ("mean = 0.6", "mean = 1.6", "problem.rewards[1].mean is 1.6; give a number in [0, 1]."),
    ("mean = 0.6", "mean = nan", "problem.rewards[1].mean is nan; give a number in [0, 1]."),
    ("mean = 0.6", "mean = 0.6, repeat = 0", "problem.rewards[1].repeat is 0; give a whole number from 1 to"),
    (R, "rewards = {best = 0.6, gap = 0.1}", "problem.rewards.arms is missing; give best, gap and arms, such as"),
    (R, "rewards = {best = 0.6, gap = 0.7, arms = 2}", "problem.rewards.gap is 0.7; give a number in [0, 0.6]."),
    (R, "rewards = {best = 2, gap = 0.1, arms = 2}", "problem.rewards.best is 2; give a number in [0, 1]."),
    (R, "rewards = {best = 0.6, gap = 0.1, arms = 0}", "problem.rewards.arms is 0; give a whole number from 1"),
    (R, "rewards = {best = 0.6, gap = [0.1], arms = 3}", "problem.rewards.gap has 1 gaps and arms is 3; give 2 gaps"),
    (R, "rewards = {best = 0.6, gap = 0.1, arm = 3}", "problem.rewards.arm is not known. Did you mean 'arms'?"),
    ("0.6", "{uniform = [0.5]}", "problem.rewards[1].mean.uniform is [0.5]; give [low, high] with low <= high."),
    ("0.6", "{uniform = [0.7, 0.5]}", "problem.rewards[1].mean.uniform is [0.7, 0.5]; give [low, high]"),
    ("0.6", "{uniform = [0.5, inf]}", "problem.rewards[1].mean.uniform is [0.5, inf]; give [low, high]"),
    ("0.6", "{uniform = [0.5, 1.5]}", "problem.rewards[1]: Bernoulli: mean is 1.5; give a number in [0, 1]"),
    ("0.6", "{unifrom = [0.5, 0.6]}", "give a number in [0, 1], or {uniform = [low, high]}."),
    (D, 'delays = {law = "Mixture"}', "problem.delays.parts is missing; Mixture needs it, such as parts = [["),
    (D, 'delays = {law = "Mixture", parts = [0.5]}', "problem.delays.parts[0] is 0.5; give [weight, law], such as"),
    (
        D,
        'delays = {law = "Mixture", parts = [[1.0, {law = "Fixed", round = 3}]]}',
        "problem.delays.parts[0][1].round is not known. Did you mean 'rounds'?",
    ),
    (
        D,
        'delays = {law = "ByReward", laws = {0 = {law = "Never"}}}',
        "problem: Problem: arm 0: ByReward: Bernoulli rewards can be 1.0, and the mapping has laws for 0.0 only",
    ),
    (
        D,
        'delays = {law = "ByReward", laws = {x = {law = "Never"}}}',
        "problem.delays.laws: the key 'x' is not a reward",
    ),
    (
        D,
        'delays = {law = "ByReward", laws = {2 = {law = "Never"}}}',
        "problem: Problem: arm 0: ByReward: Bernoulli rew",
    ),
    (D, 'delays = {law = "ByReward", laws = {inf = {law = "Never"}}}', "problem.delays: ByReward: a reward is inf"),
    (D, f"{D}\nreward_range = [3, 2]", "problem.reward_range is [3, 2]; give (low, high) with low < high"),
    (D, f"{D}\nreward_range = 3", "problem.reward_range is 3; give (low, high) with low < high"),
    (D, 'delays = {law = "ByReward", steps = [[0, {law = "Never"}]]}', "problem.delays.steps[0][0] is 0; give a"),
    (D, 'delays = {law = "ByReward", steps = 3}', "problem.delays.steps is 3; give a list of [cells, law]."),
    (D, 'delays = {law = "FromScipy"}', "problem.delays.distribution is missing; give the name of a distribution"),
    (D, 'delays = {law = "FromScipy", distribution = "expno"}', "problem.delays.distribution is 'expno'; give the"),
    (
        D,
        'delays = {law = "FromScipy", distribution = "expon", scael = 3}',
        "problem.delays: scipy.stats.expon does not take these parameters",
    ),
    (D, 'delays = {law = "FromScipy", distribution = "norm"}', "problem.delays: FromScipy: the distribution's support"),
    (D, f'{D}\nfamily = "a:b"', "problem.rewards is not known. A problem with a family of its own takes family."),
]


def test_a_mistake_is_named(file: Path) -> None:
    with Failures() as failures:
        for given, by, said in MISTAKES:
            with failures.case(said):
                assert given in TEXT
                file.write_text(TEXT.replace(given, by))
                with pytest.raises(ConfigurationError) as caught:
                    read_simulation(file)
                message = str(caught.value)
                assert message.startswith(f"{file}: ")
                rest = message.removeprefix(f"{file}: ")
                assert rest.startswith(said) or (said.startswith("give") and said in message), rest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "horizon = 3\nruns = = 4\n",
            "line 2 is not TOML: Invalid value, at column 8.\n  2 | runs = = 4\n    |        ^",
        ),
        ("horizon = 3\nhorizon = 4\n", "line 2 is not TOML: Cannot overwrite a value"),
        ("horizon = 3\nruns = [1\n", "this is not TOML: Unclosed array (at the end, line 2)."),
    ],
)
def test_a_syntax_error_names_the_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_simulation(file)
    assert str(caught.value).startswith(f"{file}: {said}")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing\.toml: there is no such file"):
        read_simulation(tmp_path / "nothing.toml")
    with pytest.raises(ConfigurationError, match="this is a folder"):
        read_simulation(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'out = "caf\xe9"')
    with pytest.raises(ConfigurationError, match="byte 10 is not UTF-8"):
        read_simulation(tmp_path / "latin.toml")


def test_what_is_given_is_named_as_an_option(file: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_simulation(file, runs=0)
    assert str(caught.value).startswith("--runs is 0; give a whole number from 1 to")


BASE: dict[str, Any] = {
    "horizon": 100,
    "runs": 3,
    "checkpoints": [5, 10],
    "out": "x",
    "problem": {
        "rewards": [
            {"law": "Bernoulli", "mean": {"uniform": [0.1, 0.9]}, "repeat": 2},
            {"law": "Categorical", "values": [0.0, 1.0], "probabilities": [0.5, 0.5]},
        ],
        "delays": [
            {"law": "Mixture", "parts": [[0.5, {"law": "Fixed", "rounds": 3}], [0.5, {"law": "Never"}]]},
            {"law": "ByReward", "laws": {"0": {"law": "Never"}, "1": {"law": "Pareto", "alpha": 1.0}}},
            {"law": "FromScipy", "distribution": "expon", "scale": 10},
        ],
    },
    "policies": [{"policy": "UCB", "confidence": 1.0}, {"policy": "PatientBandits", "alpha": 0.2}],
    "sweep": {"key": "problem.delays[0].parts[0][1].rounds", "values": {"from": 0, "to": 10, "steps": 3}},
}


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of nested data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else []
    for key, value in list(items):
        yield data, key
        yield from places(value)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["Fixed", "Never", "Beta", "UCB", "horizon", "problem.delays", "law", "policies[*]", "os:path"]),
    st.lists(st.one_of(st.integers(), st.floats(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.sampled_from(["law", "uniform", "repeat", "mean", "best", "x"]), st.integers(), max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_nothing_but_a_named_mistake_comes_of_junk(draw: st.DataObject) -> None:
    data = copy.deepcopy(BASE)
    for _ in range(draw.draw(st.integers(1, 3))):
        where = list(places(data))
        container, key = where[draw.draw(st.integers(0, len(where) - 1))]
        action = draw.draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "replace":
            container[key] = draw.draw(JUNK)
        elif action == "remove":
            del container[key]
        elif isinstance(container, dict):
            container[draw.draw(st.text(max_size=6))] = draw.draw(JUNK)
    for read in (read_simulation, read_sweep):
        said = "file.toml: "
        with mock.patch.object(config, "load_toml", return_value=copy.deepcopy(data)):
            try:
                read(Path("file.toml"))
            except ConfigurationError as error:
                said = str(error)
        assert said.startswith("file.toml: ")


def test_a_categorical_reward(file: Path) -> None:
    file.write_text(TEXT.replace(R, 'rewards = [{law = "Categorical", values = [0, 0.5], probabilities = [0.5, 0.5]}]'))
    problem = read_simulation(file).problem
    assert isinstance(problem, Problem)
    assert problem.rewards == (Categorical([0.0, 0.5], [0.5, 0.5]),)
