"""What the paper says about its figures, and the claim that each sentence became."""

from __future__ import annotations

import math
from typing import Any

import pytest

from belated.studies.claims import TESTS, Claim
from belated.studies.experiments import EXTRA, NAMES, PAPER, ExperimentFile, load

REST = [0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.44, 0.48, 0.52, 0.56, 0.6]
LATE = {"delay": list(range(50, 501, 50))}
LARGE, SMALL = {"α2": [0.8, 0.5]}, {"α2": [0.3, 0.2]}


def found(name: str, words: str, kind: str, where: dict[str, Any] | None = None, **fields: Any) -> list[Claim]:
    """The claims of an experiment whose sentence has these words, whose test is of this kind and has these fields, and
    which are about this part of the study."""
    return [
        claim
        for claim in load(name).claims
        if words in claim.sentence
        and type(claim.test) is TESTS[kind]
        and (where is None or dict(claim.where) == where)
        and all(getattr(claim.test, field) == value for field, value in fields.items())
    ]


@pytest.mark.parametrize(
    ("name", "words", "kind", "where", "fields"),
    [
        ("figure1", "the regret of UCB increases", "rises", LATE, {"policy": "UCB", "along": "delay", "steps": True}),
        ("figure1", "the regret of UCB increases", "rises", {"delay": [0, 100]}, {"policy": "UCB", "factor": 1.0}),
        ("figure1", "SE is quite robust to the delay", "steady", {}, {"policy": "SE", "along": "delay"}),
        ("figure1", "UCB even outperforms SE", "below", {"delay": 0}, {"policy": "UCB", "than": "SE"}),
        ("figure1", "by a factor of 4", "ratio", {"delay": 0}, {"policy": "SE", "than": "UCB", "low": 3, "high": 5}),
        ("figure1", "around delay of 200 SE becomes", "crosses", {}, {"policy": "SE", "than": "UCB", "along": "delay"}),
        ("figure2", "strictly smaller for any value of Δ", "below", {}, {"policy": "SE", "than": "PB"}),
        ("figure2", "starts to decrease as Δ increases", "falls", {}, {"policy": "SE", "along": "gap", "top": 0.08}),
        ("figure2", "approximately when Δ = 0.08", "peak", {}, {"policy": "SE", "low": 0.08, "high": 0.08}),
        ("figure2", "compared to 0.28 under PB", "peak", {}, {"policy": "PB", "low": 0.24, "high": 0.32}),
        ("figure3", "the slope of PSE zeroes in some regions", "flat stretches", {}, {"policy": "PSE"}),
        ("figure3", "keeps sampling only the optimal arm", "flat", {}, {"policy": "PSE", "low": 0.1}),
        ("figure3", "SE samples each arm equally", "even", {}, {"policy": "SE", "low": 0.95, "high": math.inf}),
        ("figure3", "and receives less reward", "below", {}, {"policy": "PSE", "than": "SE"}),
        ("figure4", "OPSE outperforms UCB", "below", {}, {"policy": "OPSE", "than": "UCB"}),
        ("figure4", "standard SE eliminates the best arm", "eliminates", {}, {"policy": "SE", "arm": 0}),
        ("figure4", "suffers linear regret", "straight", {}, {"policy": "SE"}),
        ("figure5", "somewhat similar", "ratio", LARGE, {"policy": "PB", "than": "SE", "pooled": True}),
        ("figure5", "minor advantage for PB", "below", {**LARGE, "gap": [0.04, 0.08]}, {"policy": "PB", "than": "SE"}),
        ("figure5", "under the rest of Δ", "below", {**LARGE, "gap": REST}, {"policy": "SE", "than": "PB"}),
        ("figure5", "strictly superior for all values of Δ", "below", SMALL, {"policy": "SE", "than": "PB"}),
        ("figure5", "moves right as α2 decreases", "peak moves right", {}, {"policy": "PB", "along": "gap"}),
        ("figure5", "almost not affected by the delay", "steady", {}, {"policy": "SE", "along": "α2"}),
        ("theorem1", "Ω(Kd)", "level", {}, {"policies": ("UCB",), "per": ("K", "d")}),
        ("theorem6", "cannot distinguish", "alike", {}, {"over": "problem", "arm": 1}),
        ("theorem6", "R_T ≥ 1/2 Δ · d_i(1 - 2Δ)", "level", {}, {"largest": "problem", "unit": 200.0, "low": 0.5}),
        ("table1", "is bounded by", "bounded", {}, {}),
    ],
)
def test_a_sentence_of_the_paper(name: str, words: str, kind: str, where: Any, fields: dict[str, Any]) -> None:
    assert len(found(name, words, kind, where, **fields)) == 1


@pytest.mark.parametrize(
    ("words", "kind", "study", "fields"),
    [
        ("a bet on which arm loses it", "best", "loss", {"policy": "Optimistic-UCB", "among": ()}),
        ("without delay UCB beats it", "below", "figure1", {"policy": "UCB", "than": "Thompson"}),
        ("no policy survives", "none below", "hidden", {"than": "Uniform", "factor": 0.8, "among": ()}),
        ("does not give up the best arm", "eliminates", "hidden", {"policy": "OPSE", "arm": 0, "high": 0.01}),
        ("SE beats UCB; with few arms", "below", "delays", {"policy": "UCB", "than": "SE", "factor": 1.0}),
    ],
)
def test_a_sentence_of_our_own(words: str, kind: str, study: str, fields: dict[str, Any]) -> None:
    (claim,) = found("beyond", words, kind, **fields)
    assert claim.own
    assert claim.study == study


@pytest.mark.parametrize(
    ("words", "kind", "study", "fields"),
    [
        ("the slope of PSE zeroes in some regions", "flat stretches", "loss", {"policy": "PSE"}),
        ("and receives less reward", "below", "loss", {"policy": "PSE", "than": "SE"}),
        ("standard SE eliminates the best arm", "eliminates", "biased", {"policy": "SE", "arm": 0, "low": 0.9}),
        ("favors the sub-optimal arms at the beginning", "ratio", "beginning", {"policy": "UCB", "than": "Uniform"}),
    ],
)
def test_a_sentence_is_judged_for_all_means_and_confidences(
    words: str, kind: str, study: str, fields: dict[str, Any]
) -> None:
    (claim,) = found("robustness", words, kind, {}, **fields)
    assert (claim.study, claim.each, claim.own) == (study, ("c", "best mean"), False)


@pytest.mark.parametrize(
    ("name", "words", "kind"),
    [
        ("figure2", "strictly smaller", "below"),
        ("figure2", "0.28 under PB", "peak"),
        ("figure5", "somewhat similar", "ratio"),
        ("figure5", "minor advantage", "below"),
        ("figure5", "under the rest of Δ", "below"),
        ("figure5", "strictly superior for all", "below"),
        ("figure5", "moves right", "peak moves right"),
    ],
)
def test_both_readings_of_patient_bandits_are_judged(name: str, words: str, kind: str) -> None:
    """The index as it is printed, and that with half of the radius."""
    printed, half, *_ = (claim for claim in found(name, words, kind) if "PB" in str(claim.test))
    for told, label in ((printed, "PB"), (half, "PB (1/2)")):
        assert label in (told.test.policy, getattr(told.test, "than", ""))  # type: ignore[attr-defined]
    assert (printed.sentence, printed.place, printed.where) == (half.sentence, half.place, half.where)
    assert (printed.variant, half.variant) == ("PB as published", "PB (1/2)")


def test_the_places_that_the_paper_names_are_inside() -> None:
    (crossing,) = found("figure1", "around delay of 200", "crosses")
    assert crossing.test.low < 200 < crossing.test.high  # type: ignore[attr-defined]
    (peak,) = found("figure2", "0.28 under PB", "peak", policy="PB")
    assert peak.test.low < 0.28 < peak.test.high  # type: ignore[attr-defined]


def test_sentences_are_counted_once() -> None:
    """Both constants of the baseline are tests of one sentence; Table 1's entries are arithmetic, and nothing else."""
    experiments = [load(name) for name in PAPER]
    assert sum(experiment.sentences for experiment in experiments) == 33
    assert sum(len(experiment.claims) for experiment in experiments) == 52
    arithmetic = {claim.sentence for experiment in experiments for claim in experiment.claims if claim.test.arithmetic}
    assert arithmetic == {"Those are significantly stronger, in many cases, then previous results"}
    for experiment in experiments:
        places = {(claim.sentence, claim.place) for claim in experiment.claims}
        assert len(places) == experiment.sentences


def test_names() -> None:
    assert (*PAPER, *EXTRA) == NAMES
    assert len(set(NAMES)) == len(NAMES)


@pytest.fixture(params=NAMES)
def experiment(request: pytest.FixtureRequest) -> ExperimentFile:
    return load(request.param)


def test_a_file_tells_what_it_is_about(experiment: ExperimentFile) -> None:
    assert all(text.strip() for text in (experiment.title, experiment.place, experiment.about, *experiment.assumed))
    assert experiment.assumed
    assert experiment.paper is (experiment.name in PAPER)
    assert experiment.studies
    assert experiment.figures
    for study in experiment.studies.values():
        assert study.about.strip()
    for picture in experiment.figures:
        assert picture.caption.strip()
        assert picture.rows


def test_a_claim_tells_what_is_tested(experiment: ExperimentFile) -> None:
    assert experiment.claims
    for claim in experiment.claims:
        assert all(text.strip() for text in (claim.sentence, claim.place, claim.reading))
        assert claim.study in experiment.studies
        assert claim.confidence == 0.999
        assert claim.own is (experiment.name == "beyond")
    readings = [(claim.sentence, claim.reading, str(claim.where), str(claim.test)) for claim in experiment.claims]
    assert len(set(readings)) == len(readings)
