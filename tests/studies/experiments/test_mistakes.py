"""Mistakes in a file are found when it is read, before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from belated.errors import ConfigurationError
from failures import Failures
from tiny import FIGURE, HEAD, STUDY, TINY, experiment

EASY = 'where = {gap = 0.6}\ntest = {kind = "below", policy = "UCB", than = "Uniform"}'
RULES = 'policies = [{policy = "UCB", confidence = 1.0}, {policy = "UniformChoice"}]'
ROWS = 'rows = [{kind = "against", study = "pair", x = "gap"}]'
AXIS = 'name = "gap"\nvalues = [0.6, 0.2, 0.5]\nset."problem.rewards[1].mean" = [1.0, 0.6, 0.9]'
AXES = f"[[studies.pair.axes]]\n{AXIS}"
DELAYS = '[[studies.pair.axes]]\nname = "delay"\nkey = "problem.delays.rounds"\nvalues = [0, 5]'
ARM = '[{law = "Bernoulli", mean = 0.4}, '
TITLE = 'title = "Two arms"'


def claiming(keys: str, where: str = "") -> dict[str, str]:
    """The first claim with another test."""
    return {EASY: f"{where}\ntest = {{{keys}}}"}


def drawn(keys: str) -> dict[str, str]:
    """The figure with another row."""
    return {ROWS: f'rows = [{{study = "pair", {keys}}}]'}


WRONG_TYPES: dict[str, tuple[dict[str, str], str]] = {
    "confidence": ({EASY: f'{EASY}\nconfidence = "high"'}, "claims[0].confidence is 'high'"),
    "height": ({"caption =": 'height = "tall"\ncaption ='}, "figures[0].height is 'tall'"),
    "kind": ({EASY: EASY.replace('"below"', '["below"]')}, "claims[0].test.kind is ['below']"),
    "study": ({'study = "pair"\nwhere': 'study = ["pair"]\nwhere'}, "claims[0].study is ['pair']"),
    "policies": ({RULES: "policies = 5"}, "studies.pair.policies is 5"),
    "policies of text": ({RULES: 'policies = ["UCB", "UniformChoice"]'}, "studies.pair.policies[0] is 'UCB'"),
    "axes": ({AXES: "axes = 5"}, "studies.pair.axes is 5"),
    "rows": ({ROWS: "rows = 5"}, "figures[0].rows is 5"),
    "own": ({EASY: f'{EASY}\nown = "no"'}, "claims[0].own is 'no'; give true or false"),
    "page": ({"caption =": 'page = "no"\ncaption ='}, "figures[0].page is 'no'; give true or false"),
}
NO_SENSE: dict[str, tuple[dict[str, str], str]] = {
    "height 0": ({"caption =": "height = 0\ncaption ="}, "figures[0].height is 0; give a number in (0.1, 10)"),
    "no policies": ({RULES: "policies = []"}, "studies.pair.policies is empty"),
    "extra": ({TITLE: f"{TITLE}\nextra = true"}, "extra is not known"),
    "paper": ({TITLE: f"{TITLE}\npaper = true"}, "paper is not known"),
    "key of an axis": (
        {'set."problem.rewards[1].mean"': "set.horizn"},
        "axes[0].set is 'horizn'. Did you mean 'horizon'?",
    ),
    "runs as an axis": ({'set."problem.rewards[1].mean"': "set.runs"}, "studies.pair.axes[0].set is 'runs'"),
    "label twice": ({RULES: RULES.replace("}]", ', label = "UCB"}]')}, "policies[1].label is 'UCB', and another"),
    "axis twice": ({AXES: f"{AXES}\n{AXES}"}, "studies.pair.axes[1].name is 'gap', and another axis"),
    "figure twice": ({FIGURE: FIGURE * 2}, "figures[1].name is 'tiny', and another figure has that name"),
    "name of a file": ({'name = "tiny"': 'name = "../tiny"'}, "figures[0].name is '../tiny', which names files"),
    "log": ({ROWS: ROWS.replace("}]", ', log = ["z"]}]')}, "figures[0].rows[0].log is ['z']"),
    "no value": ({"{gap = 0.6}": "{gap = []}"}, "claims[0].where.gap: gap has no value; give one or more of 0.6, 0.2"),
    "no rows": ({ROWS: "rows = []"}, "figures[0].rows is empty"),
    "checkpoints": ({"checkpoints = 2": "checkpoints = [9, 1000]"}, "studies.pair.checkpoints ends at 1000"),
    "factor": (
        claiming('kind = "below", policy = "UCB", than = "Uniform", factor = 0'),
        "claims[0].test.factor is 0; give a number > 0",
    ),
    "unit": (claiming('kind = "level", unit = -1.0, low = 0.1'), "claims[0].test.unit is -1.0; give a number > 0"),
    "no studies": ({STUDY: "[studies]\n"}, "studies is empty; give a table [studies.NAME] for each set-up"),
}
NOTHING_TO_TEST: dict[str, tuple[dict[str, str], str]] = {
    "arm": (
        claiming('kind = "eliminates", policy = "UCB", arm = 7, low = 0.1'),
        "arm is 7; give a whole number from 0 to 1",
    ),
    "arm below 0": (
        claiming('kind = "eliminates", policy = "UCB", arm = -1, low = 0.1'),
        "arm is -1; give a whole number",
    ),
    "who eliminates": (
        claiming('kind = "eliminates", policy = "UCB", arm = 0, low = 0.1'),
        "policy is 'UCB', which never",
    ),
    "alike over three": (
        claiming('kind = "alike", over = "gap", arm = 1, within = 0.1'),
        "over is 'gap'; give an axis with two values",
    ),
    "alike, other arm": (
        claiming('kind = "alike", over = "gap", arm = 2, within = 0.1', "where = {gap = [0.6, 0.2]}"),
        "arm is 2; give a whole number from 0 to 1",
    ),
    "peak anywhere": (
        claiming('kind = "peak", policy = "UCB", along = "gap", low = 0.0, high = 1.0'),
        "from 0 to 1 there are all values of gap",
    ),
    "peak nowhere": (
        claiming('kind = "peak", policy = "UCB", along = "gap", low = 2.0, high = 3.0'),
        "from 2 to 3 there are no values of gap",
    ),
    "bounded": (claiming('kind = "bounded"'), "no policy here has a finite bound"),
    "one checkpoint": (
        {"checkpoints = 2": "checkpoints = 1", **claiming('kind = "flat", policy = "UCB", high = 0.1')},
        "the study 'pair' has checkpoints = 1; a test of curves needs a number of evenly spaced ones, from 2 to 100",
    ),
    "no half": (
        {"checkpoints = 2": "checkpoints = 3", **claiming('kind = "straight", policy = "UCB", high = 1.1')},
        "checkpoints is 3; give an even number",
    ),
    "rises": (
        claiming('kind = "rises", policy = "UCB", along = "gap"', "where = {gap = 0.6}"),
        "the axis 'gap' has only one",
    ),
    "steady": (
        claiming('kind = "steady", policy = "UCB", along = "gap", within = 0.1', "where = {gap = [0.2]}"),
        "the axis 'gap' has only one value here; give two or more",
    ),
    "crosses below all": (
        claiming('kind = "crosses", policy = "UCB", than = "Uniform", along = "gap", low = 0.1, high = 0.5'),
        "low is 0.1 and high 0.5; give low < high, with values of gap up to low and from high on",
    ),
    "crosses above all": (
        claiming('kind = "crosses", policy = "UCB", than = "Uniform", along = "gap", low = 0.2, high = 0.7'),
        "low is 0.2 and high 0.7; give low < high",
    ),
    "crosses at a point": (
        claiming('kind = "crosses", policy = "UCB", than = "Uniform", along = "gap", low = 0.5, high = 0.5'),
        "low is 0.5 and high 0.5; give low < high",
    ),
    "backwards": (
        claiming('kind = "ratio", policy = "UCB", than = "Uniform", low = 0.5, high = 0.2'),
        "low is 0.5 and high 0.2; give one of them or both, low not above high",
    ),
    "no range": (
        claiming('kind = "ratio", policy = "UCB", than = "Uniform"'),
        "low is -inf and high inf; give one of them",
    ),
    "no number": (claiming('kind = "level", low = nan'), "low is nan and high inf; give one of them or both"),
    "slope from 0": (
        {
            AXES: f"{AXES}\n{DELAYS}",
            FIGURE: "",
            **claiming('kind = "slope", policy = "UCB", along = "delay", low = 0, high = 1'),
        },
        "the axis 'delay' has values <= 0, which have no logarithm",
    ),
    "per 0": (
        {AXES: f"{AXES}\n{DELAYS}", FIGURE: "", **claiming('kind = "level", per = ["gap", "delay"], low = 0.1')},
        "per has 'delay', with values <= 0",
    ),
    "best of itself": (
        claiming('kind = "best", policy = "UCB", among = ["UCB"]'),
        "among has 'UCB', which would be compared",
    ),
    "none below itself": (
        claiming('kind = "none below", than = "UCB", among = ["UCB"]'),
        "among has 'UCB', which would be",
    ),
}
NOTHING_TO_DRAW: dict[str, tuple[dict[str, str], str]] = {
    "curves of three cells": (drawn('kind = "curves"'), "a row of curves shows one cell a panel"),
    "a line of two axes": ({AXES: f"{AXES}\n{DELAYS}"}, "a panel shows one line along gap; split it, or say where"),
    "dots of two axes": (
        {AXES: f"{AXES}\n{DELAYS}", **drawn('kind = "dots", over = "gap"')},
        "a panel shows one dot for each gap; split it, or say where",
    ),
    "bounds of a family": (
        {ARM: ARM.replace("0.4", "{uniform = [0.2, 0.4]}"), **drawn('kind = "bounds", over = "gap"')},
        "a bound is for one problem; in this study each run has its own",
    ),
    "bounds over curves of a family": (
        {
            ARM: ARM.replace("0.4", "{uniform = [0.2, 0.4]}"),
            **drawn('kind = "curves", where = {gap = 0.6}, bounds = true'),
        },
        "a bound is for one problem; in this study each run has its own",
    ),
    "surface of three axes": (
        {
            AXES: f'{AXES}\n{DELAYS}\n[[studies.pair.axes]]\nname = "T"\nkey = "horizon"\nvalues = [50, 100]',
            **drawn('kind = "surface", x = "gap", y = "delay", policy = "UCB", than = "Uniform"'),
        },
        "a surface has one cell for each gap and delay; say where on all others",
    ),
}
UNKNOWN: dict[str, tuple[dict[str, str], str]] = {
    "than": ({EASY: EASY.replace("Uniform", "Unifrm")}, "claims[0].test.than: the study 'pair' has no policy 'Unifrm'"),
    "policies": (claiming('kind = "level", policies = ["UBC"], low = 0.1'), "claims[0].test.policies[0]: "),
    "best": (claiming('kind = "best", policy = "UBC"'), "claims[0].test.policy: "),
    "among the best": (claiming('kind = "best", policy = "UCB", among = ["UBC"]'), "claims[0].test.among[0]: "),
    "none below": (claiming('kind = "none below", than = "UBC"'), "claims[0].test.than: "),
    "among none": (claiming('kind = "none below", than = "UCB", among = ["UCB", "a"]'), "claims[0].test.among[1]: "),
    "per of a level": (claiming('kind = "level", per = ["K"], low = 0.1'), "claims[0].test.per[0]: "),
    "per of an increase": (
        claiming('kind = "increase", policy = "UCB", along = "gap", per = "K", low = 0.1'),
        "claims[0].test.per: the study 'pair' has no axis 'K'",
    ),
    "where": ({"{gap = 0.6}": "{gpa = 0.6}"}, "claims[0].where.gpa: "),
    "each": ({EASY: f'{EASY}\neach = ["gpa"]'}, "claims[0].each: "),
    "along an axis of each": (
        claiming('kind = "rises", policy = "UCB", along = "gap"', 'each = ["gap"]'),
        "claims[0].test.along: the study 'pair' has no axis 'gap'",
    ),
    "x": ({ROWS: ROWS.replace('"gap"', '"gpa"')}, "figures[0].rows[0].x: "),
    "where of a row": ({ROWS: ROWS.replace("}]", ", where = {gpa = 0.6}}]")}, "figures[0].rows[0].where.gpa: "),
    "per of a reference": (
        {ROWS: ROWS.replace("}]", ', references = [{label = "a", factor = 1.0, per = ["K"]}]}]')},
        "figures[0].rows[0].references[0].per[0]: ",
    ),
    "policy of a surface": (
        {AXES: f"{AXES}\n{DELAYS}", **drawn('kind = "surface", x = "gap", y = "delay", policy = "UBC", than = "UCB"')},
        "figures[0].rows[0].policy: the study 'pair' has no policy 'UBC'. Did you mean 'UCB'?",
    ),
}
MISTAKES = [
    (f"{group}: {name}", changes, f"{key}{said}")
    for group, key, cases in (
        ("type", "", WRONG_TYPES),
        ("sense", "", NO_SENSE),
        ("test", "claims[0].test: ", NOTHING_TO_TEST),
        ("row", "figures[0].rows[0]: ", NOTHING_TO_DRAW),
        ("name", "", UNKNOWN),
    )
    for name, (changes, said) in cases.items()
]


def test_a_mistake_is_found_when_the_file_is_read(tmp_path: Path) -> None:
    with Failures() as failures:
        for name, changes, said in MISTAKES:
            with failures.case(name):
                text = TINY
                for old, new in changes.items():
                    assert old in text, old
                    text = text.replace(old, new, 1)
                with pytest.raises(ConfigurationError) as caught:
                    experiment(tmp_path, text, "mine")
                assert str(caught.value).startswith("mine.toml: ")
                assert said in str(caught.value)


@pytest.mark.parametrize("key", ["claims", "figures"])
def test_what_is_no_list_of_tables(tmp_path: Path, key: str) -> None:
    for value in ("5", '"all"', "[5]", "{}"):
        with pytest.raises(ConfigurationError, match=rf"^mine\.toml: {key}(\[0\])? is .*; give a (list of )?table"):
            experiment(tmp_path, f"{key} = {value}\n{HEAD}{STUDY}", "mine")
