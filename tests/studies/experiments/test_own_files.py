"""Files of one's own: what is refused, and that the error names the file and the key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from belated.errors import ConfigurationError, UnknownName
from belated.studies.claims import TESTS
from belated.studies.experiments import NAMES, PAPER, load, read_file, select
from failures import Failures
from tiny import FIGURE, HEAD, STUDY, TINY, experiment, written

EASY = 'test = {kind = "below", policy = "UCB", than = "Uniform"}'
RULES = 'policies = [{policy = "UCB", confidence = 1.0}, {policy = "UniformChoice"}]'
ROWS = 'rows = [{kind = "against", study = "pair", x = "gap"}]'
MEANS = 'set."problem.rewards[1].mean" = [1.0, 0.6, 0.9]'
CLAIM = 'sentence = "With a wide gap it is easy"\nplace = "here"'


MISTAKES = [
    # ---- keys that are not known ----
    ('title = "Two arms"', 'titel = "Two arms"', "titel is not known. Did you mean 'title'? An experiment takes"),
    ("horizon = 100", "horizont = 100", "studies.pair.horizont is not known. Did you mean 'horizon'? A study"),
    ('name = "gap"', 'nam = "gap"', "studies.pair.axes[0].nam is not known. Did you mean 'name'? An axis takes"),
    (CLAIM, f'{CLAIM}\ncaption = "no"', "claims[0].caption is not known"),
    (EASY, EASY.replace("than", "then"), "claims[0].test.then is not known. Did you mean 'than'? Below takes"),
    ("caption =", "captoin =", "figures[0].captoin is not known. Did you mean 'caption'? A figure takes"),
    (ROWS, ROWS.replace("x =", "y ="), "figures[0].rows[0].y is not known"),
    ("rounds = 5", "round = 5", "studies.pair.problem.delays.round is not known. Did you mean 'rounds'?"),
    # ---- keys that are missing ----
    ('title = "Two arms"', "", "title is missing; give text in quotes"),
    (STUDY, "", "studies is missing; give a table [studies.NAME] for each set-up"),
    ("horizon = 100", "", "studies.pair.horizon is missing"),
    ("runs = 8", "", "studies.pair.runs is missing"),
    (RULES, "", "studies.pair.policies is missing"),
    ('name = "gap"', "", "studies.pair.axes[0].name is missing; give text in quotes"),
    (MEANS, "", "studies.pair.axes[0] needs either key, which takes the values, or set"),
    ("reading = \"UCB's", "why = \"UCB's", "claims[0].reading is missing; give text in quotes"),
    (EASY, "", "claims[0].test is missing; give a table with kind"),
    (EASY, EASY.replace(', than = "Uniform"', ""), "claims[0].test.than is missing; give"),
    (ROWS, ROWS.replace(', x = "gap"', ""), "figures[0].rows[0].x is missing; give"),
    # ---- kinds ----
    (EASY, EASY.replace("below", "belwo"), "claims[0].test.kind is 'belwo'. Did you mean 'below'? Give one of"),
    (EASY, EASY.replace('kind = "below", ', ""), f"claims[0].test.kind is None. Give one of {', '.join(TESTS)}."),
    (ROWS, ROWS.replace("against", "agianst"), "figures[0].rows[0].kind is 'agianst'. Did you mean 'against'?"),
    (RULES, RULES.replace('"UCB"', '"UBC"'), "studies.pair.policies[0].policy is 'UBC'"),
    ('law = "Fixed"', 'law = "Fxed"', "Did you mean 'Fixed'?"),
    # ---- studies, policies, axes ----
    ('study = "pair"\nwhere = {gap = 0.6}', 'study = "pear"', "claims[0].study is 'pear'; give one of pair"),
    (ROWS, ROWS.replace("pair", "pear"), "figures[0].rows[0].study is 'pear'; give one of pair"),
    (EASY, EASY.replace("Uniform", "Unifrm"), "no policy 'Unifrm'. Did you mean 'Uniform'? It has UCB, Uniform"),
    ("where = {gap = 0.6}", "where = {gpa = 0.6}", "no axis 'gpa'. Did you mean 'gap'? It has gap"),
    ("where = {gap = 0.6}", "where = {gap = 0.7}", "'gap' of the study 'pair' has no value 0.7; it has 0.6, 0.2"),
    ("where = {gap = 0.6}", 'each = ["gpa"]', "no axis 'gpa'. Did you mean 'gap'?"),
    (EASY, 'test = {kind = "rises", policy = "UCB", along = "gpa"}', "no axis 'gpa'. Did you mean 'gap'?"),
    (ROWS, ROWS.replace('"gap"', '"gpa"'), "no axis 'gpa'. Did you mean 'gap'?"),
    (ROWS, ROWS.replace('x = "gap"', 'x = "gap", policies = ["UBC"]'), "no policy 'UBC'. Did you mean 'UCB'?"),
    # ---- lists ----
    (
        MEANS,
        MEANS.replace(", 0.9", ""),
        "set.problem.rewards[1].mean is [1.0, 0.6]; give a list of 3, one for each value",
    ),
    (MEANS, MEANS.replace("[1.0, 0.6, 0.9]", "1.0"), "set.problem.rewards[1].mean is 1.0; give a list of 3"),
    ("values = [0.6, 0.2, 0.5]", "values = []", "studies.pair.axes[0].values is []; give a list such as"),
    ("values = [0.6, 0.2, 0.5]", "values = [0.6, 0.2, 0.6]", "studies.pair.axes[0].values has 0.6 twice"),
    (MEANS, MEANS.replace("rewards", "reward"), "and the file has no problem.reward. Did you mean 'rewards'?"),
    # ---- what a value may be ----
    ("horizon = 100", 'horizon = "100"', "studies.pair.horizon is '100'; give a whole number from 1 to"),
    ("runs = 8", "runs = 1", "studies.pair.runs is 1; give a whole number from 2 to"),
    ("most = 25600", "most = 7", "studies.pair.most is 7; give a whole number from 8 to"),
    ("checkpoints = 2", 'checkpoints = "all"', "studies.pair.checkpoints is 'all'; give a number of checkpoints"),
    ("checkpoints = 2", "checkpoints = [50, 0]", "studies.pair.checkpoints[1] is 0; give a whole number"),
    ('assumed = ["Nothing."]', 'assumed = "Nothing."', "assumed is 'Nothing.'; give a list"),
    ('title = "Two arms"', "title = 2", "title is 2; give text in quotes"),
    ('title = "Two arms"', 'title = " "', "title is ' '; give text in quotes"),
    (EASY, EASY.replace('"UCB"', "1"), "claims[0].test.policy is 1; give text in quotes"),
    (EASY, EASY.replace("}", ', factor = "2"}'), "claims[0].test.factor is '2'; give a number"),
    (EASY, EASY.replace("}", ", factor = true}"), "claims[0].test.factor is true; give a number"),
    (EASY, 'test = {kind = "eliminates", policy = "UCB", arm = 0.5}', "claims[0].test.arm is 0.5; give a whole"),
    (EASY, 'test = {kind = "rises", policy = "UCB", along = "gap", steps = 1}', "steps is 1; give true or false"),
    (EASY, 'test = {kind = "level", per = "gap"}', "claims[0].test.per is 'gap'; give a list"),
    (EASY, 'test = {kind = "level", per = [1]}', "claims[0].test.per[0] is 1; give text in quotes"),
    (EASY, "test = 3", "claims[0].test is 3; give a table with kind"),
    ("where = {gap = 0.6}", "where = 0.6", "claims[0].where is 0.6; give a table such as"),
    ("where = {gap = 0.6}", "confidence = 1.0", "claims[0].confidence is 1.0; give a number in (0.5, 1)"),
    ("where = {gap = 0.6}", "confidence = 0.5", "claims[0].confidence is 0.5; give a number in (0.5, 1)"),
    ("where = {gap = 0.6}", "confidence = nan", "claims[0].confidence is nan; give a number in (0.5, 1)"),
    (ROWS, ROWS.replace('"gap"}', '"gap", log = "x"}'), "figures[0].rows[0].log is 'x'; give a list"),
    (ROWS, ROWS.replace('"gap"}', '"gap", references = [{label = "a"}]}'), "references[0].factor is missing"),
    ("rounds = 5", "rounds = -1", "studies.pair.problem.delays"),
]


def test_a_mistake_in_a_file(tmp_path: Path) -> None:
    with Failures() as failures:
        for old, new, said in MISTAKES:
            with failures.case(said):
                assert old in TINY
                with pytest.raises(ConfigurationError) as caught:
                    experiment(tmp_path, TINY.replace(old, new, 1), "mine")
                assert str(caught.value).startswith("mine.toml: ")
                assert said in str(caught.value)


@pytest.mark.parametrize(
    ("like", "said"),
    [
        ("pear", "studies.other.like is 'pear'; give a study that is not like another one: pair"),
        ("other", "studies.other.like is 'other'; give a study that is not like another one: pair"),
        ("third", "studies.other.like is 'third'; give a study that is not like another one: pair"),
    ],
)
def test_a_study_like_one_that_it_cannot_be_like(tmp_path: Path, like: str, said: str) -> None:
    text = f'{HEAD}{STUDY}[studies.other]\nlike = "{like}"\n[studies.third]\nlike = "pair"\n'
    with pytest.raises(ConfigurationError, match=r"^mine\.toml: ") as caught:
        experiment(tmp_path, text, "mine")
    assert said in str(caught.value)


def test_a_study_like_another(tmp_path: Path) -> None:
    text = f'{HEAD}{STUDY}[studies.other]\nlike = "pair"\nruns = 20\nhorizon = 50\n'
    found = experiment(tmp_path, text).studies
    pair, other = found["pair"], found["other"]
    assert (other.name, other.runs, other.max_runs, other.axes) == ("other", 20, 25600, pair.axes)
    assert [cell.horizon for cell in other.cells] == [50, 50, 50]
    assert [cell.problem for cell in other.cells] == [cell.problem for cell in pair.cells]
    assert [cell.horizon for cell in pair.cells] == [100, 100, 100]


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.toml: there is no such file"):
        read_file(tmp_path / "none.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ConfigurationError, match=r"folder\.toml: this is a folder"):
        read_file(tmp_path / "folder.toml")
    with pytest.raises(ConfigurationError, match=r"broken\.toml: line 2 is not TOML"):
        experiment(tmp_path, "title = 'a'\nplace = ]\n", "broken")


def test_what_is_chosen(tiny: Path) -> None:
    def names(*given: str) -> tuple[str, ...]:
        return tuple(found.name for found in select(given))

    assert names() == PAPER
    assert names("all") == NAMES
    assert names("theorem6", "figure1", "theorem6") == ("theorem6", "figure1")
    assert names(str(tiny), "figure1") == ("tiny", "figure1")
    assert [found.paper for found in select([str(tiny), "figure1", "beyond"])] == [False, True, False]
    with pytest.raises(UnknownName, match=r"'figur1' is not an experiment\. Did you mean 'figure1'\?") as caught:
        load("figur1")
    assert all(name in str(caught.value) for name in NAMES)


@pytest.mark.parametrize("other", ["below/tiny.toml", "./tiny.toml"])
def test_two_files_of_one_name(call: Callable[..., Any], tiny: Path, other: str) -> None:
    Path("below").mkdir()
    written(Path("below"))
    with pytest.raises(
        ConfigurationError, match="two experiments are named 'tiny'; rename a file, or give one of them"
    ):
        select([str(tiny), other])
    result = call(tiny, other, "--out", "made")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "two experiments are named 'tiny'" in result.stderr
    assert not Path("made").exists()


def test_a_file_named_like_an_experiment_of_the_paper(tmp_path: Path) -> None:
    path = str(written(tmp_path, name="figure1"))
    assert [(found.name, found.title, found.paper) for found in select([path])] == [("figure1", "Two arms", False)]
    with pytest.raises(ConfigurationError, match="two experiments are named 'figure1'"):
        select([path, "all"])


def test_a_file_of_one_s_own_is_played(call: Callable[..., Any], tmp_path: Path) -> None:
    path = written(tmp_path, HEAD + STUDY.replace("most = 25600", "most = 8") + FIGURE, "mine")
    result = call(path, "--out", "made")
    assert result.exit_code == 0, result.stderr
    assert "mine  Two arms (nowhere)" in result.stdout
    figures = sorted(path.name for path in Path("made/report/figures").iterdir())
    assert figures == [f"mine-tiny.{kind}" for kind in ("csv", "pdf", "png", "svg")]
    assert len(list(Path("made/results").glob("*.npz"))) == 3


def test_a_mistake_on_the_command_line(call: Callable[..., Any], tmp_path: Path) -> None:
    path = written(tmp_path, TINY.replace("horizon", "horizont"), "mine")
    result = call(path, "--out", "made")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: mine.toml: studies.pair.horizont is not known.")
    assert not Path("made").exists()
