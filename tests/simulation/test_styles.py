"""A policy has one style everywhere, and no two in a plot are alike."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.colors import to_rgb

from belated.policies import POLICIES, ImputedUCB, PrefixUCB
from belated.simulation.styles import _FREE, BUILT_IN, style_for, styles_of

LABELS = [
    *(POLICIES[name].label for name in POLICIES),
    PrefixUCB(spread=True).label,
    ImputedUCB(confidence="anytime").label,
]


def test_each_built_in_policy_has_a_style_of_its_own() -> None:
    assert set(LABELS) == set(BUILT_IN)
    assert len(set(BUILT_IN.values())) == len(BUILT_IN)
    assert len({style.colour for style in BUILT_IN.values()}) == len(BUILT_IN)


def test_a_policy_has_the_same_style_in_all_company() -> None:
    for label in LABELS:
        assert style_for(label) == style_for(label, ["Mine", *LABELS]) == style_for(label, [label, "Yours"])
    assert style_for("Mine") == style_for("Mine", ["UCB", "Mine"]) == style_for("Mine", ["Mine", "SE", "Thompson"])


def test_no_two_styles_of_a_plot_are_alike() -> None:
    own = [f"policy {number}" for number in range(80)]
    variants = [f"UCB(confidence={c})" for c in (0.25, 0.5, 1, 2, 4)] + ["UCB #1", "UCB #2"]
    styles = styles_of([*LABELS, *own, *variants])
    assert len(styles) == len(LABELS) + len(own) + len(variants)
    assert len({(style.colour, style.dash) for style in styles.values()}) == len(styles)


def test_own_policies_differ_in_colour_and_dash() -> None:
    names = ["EpsilonGreedy", "KLUCB", "QPMD", "DelayedExp3", "BatchedThompson", "Mine"]
    styles = styles_of([*LABELS, *names])
    assert len({styles[name].colour for name in names}) == len(names)
    assert len({styles[name].dash for name in names}) >= len(names) - 1


def test_variants_are_shades_of_one_colour() -> None:
    styles = styles_of(["UCB(confidence=1)", "UCB(confidence=10)", "UCB(confidence=2)", "SE"])
    assert styles["UCB(confidence=1)"] == BUILT_IN["UCB"]
    colours = {styles[label].colour for label in styles if label.startswith("UCB")}
    assert len(colours) == 3
    for colour in colours:
        red, _, blue = to_rgb(colour)
        assert blue > red


# Machado, Oliveira and Fernandes (2009): what eyes without red, green or blue cones see, in linear light.
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def seen(colour: str, matrix: object) -> np.ndarray:
    """A colour as CIE Lab, as such eyes see it."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(matrix) @ linear, 0.0, 1.0)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    x, y, z = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_colour_blind_readers_tell_policies_apart() -> None:
    """Those of the package, and eight of one's own, whatever their names are."""
    failures = []
    shown = {**BUILT_IN, **{f"own {number}": style for number, style in enumerate(_FREE[:8])}}
    for (first, a), (second, b) in itertools.combinations(shown.items(), 2):
        least = min(float(np.linalg.norm(seen(a.colour, m) - seen(b.colour, m))) for m in [np.eye(3), *BLIND.values()])
        if least < 8.0 or (least < 14.0 and a.dash == b.dash):
            failures.append(f"{first} and {second}: {least:.1f}")
    assert not failures, failures
