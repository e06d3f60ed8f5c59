"""The style of each policy: one colour, dash and marker for all plots, tables and figures."""

from __future__ import annotations

import colorsys
import hashlib
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from belated.formatting import natural_order

Dash = str | tuple[int, tuple[float, ...]]


class LineStyle(NamedTuple):
    """How a policy is drawn."""

    colour: str
    dash: Dash
    marker: str

    @property
    def line(self) -> dict[str, Any]:
        """Keywords for a line of matplotlib."""
        return {"color": self.colour, "linestyle": self.dash}


_DASHES: tuple[Dash, ...] = (
    "-",
    (0, (4, 1.2)),
    (0, (5, 1, 1, 1)),
    (0, (2.2, 0.8)),
    (0, (6, 1, 1, 1, 1, 1)),
    (0, (1, 0.7)),
    (0, (8, 1.5)),
)
BUILT_IN: dict[str, LineStyle] = {
    "UCB": LineStyle("#0072B2", _DASHES[0], "o"),
    "SE": LineStyle("#D55E00", _DASHES[1], "s"),
    "PSE": LineStyle("#009E73", _DASHES[2], "^"),
    "OPSE": LineStyle("#CC79A7", _DASHES[3], "D"),
    "Thompson": LineStyle("#E69F00", _DASHES[4], "v"),
    "Optimistic-UCB": LineStyle("#56B4E9", _DASHES[5], "P"),
    "Prefix-SE": LineStyle("#000000", _DASHES[6], "X"),
    "Prefix-UCB": LineStyle("#8C6D31", _DASHES[0], "h"),
    "Prefix-UCB spread": LineStyle("#C2A366", _DASHES[3], "d"),
    "Pending-UCB": LineStyle("#332288", _DASHES[1], "<"),
    "Imputed-UCB": LineStyle("#FF3344", _DASHES[3], "p"),
    "Imputed-UCB anytime": LineStyle("#CC0000", _DASHES[0], "*"),
    "Imputed-UCB safe": LineStyle("#BB0099", _DASHES[4], "H"),
    "PatientBandits": LineStyle("#882255", _DASHES[2], ">"),
    "Uniform": LineStyle("#8A8A8A", _DASHES[5], "."),
}
"""The policies of the package by label: Okabe and Ito's palette for colour-blind readers, then dark shades of Tol's."""
_FREE_COLOURS = ("#7F19B3", "#CC6666", "#0000FF", "#8F0030", "#0080FF", "#245F6B", "#DD00EE", "#3C246B")
_FREE_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_FREE = [
    LineStyle(colour, _DASHES[(number + turn) % len(_DASHES)], _FREE_MARKERS[(number + turn) % len(_FREE_MARKERS)])
    for turn in range(len(_DASHES))
    for number, colour in enumerate(_FREE_COLOURS)
]
"""For all other policies; each colour once before one is used again, neighbours with different dashes."""
_SHADES = (0.0, -0.45, 0.45, -0.25, 0.25)
"""Of the variants of one policy: its own colour, then darker and lighter ones."""


def style_for(label: str, among: Sequence[str] = ()) -> LineStyle:
    """The style of a policy, by its label in a plot of the policies ``among``.

    A policy of the package always has the same one. Any other label has one that follows from its letters, or the next
    that is free if another label of the plot has it. Variants of one policy, such as ``UCB(confidence=2)``, are shades
    of its colour.

    >>> style_for("UCB") == style_for("UCB", ["SE", "UCB", "Mine"])
    True
    >>> style_for("UCB(confidence=1)", ["UCB(confidence=1)", "UCB(confidence=2)"]).colour
    '#0072B2'
    """
    return styles_of([*dict.fromkeys([*among, label])])[label]


def styles_of(labels: Sequence[str]) -> dict[str, LineStyle]:
    """The style of each label of a plot, all different."""
    families: dict[str, list[str]] = {}
    for label in dict.fromkeys(labels):
        families.setdefault(_policy_of(label), []).append(label)
    own = sorted(family for family in families if family not in BUILT_IN)
    base = {family: BUILT_IN[family] for family in families if family in BUILT_IN} | _free_styles(own)
    return {
        label: _variant(base[family], number)
        for family, members in families.items()
        for number, label in enumerate(sorted(members, key=natural_order))
    }


def _policy_of(label: str) -> str:
    """A label without the parameters or the number that tell variants apart."""
    plain = re.sub(r"( *\(.*\)| #\d+)+$", "", label)
    if plain not in BUILT_IN:
        plain = next((name for name in BUILT_IN if plain.startswith(f"{name} ")), plain)
    return plain or label


def _free_styles(families: Sequence[str]) -> dict[str, LineStyle]:
    """A style for each policy that is not built in: by a hash of its label, or the next that is free."""
    slots: dict[str, int] = {}
    for family in families:
        slot = int.from_bytes(hashlib.sha256(family.encode()).digest()[:4]) % len(_FREE_COLOURS)
        while slot in slots.values():
            slot += 1
        slots[family] = slot
    return {family: _variant(_FREE[slot % len(_FREE)], slot // len(_FREE)) for family, slot in slots.items()}


def _variant(style: LineStyle, number: int) -> LineStyle:
    """The style of variant ``number`` of a policy: another shade and another dash."""
    if number == 0:
        return style
    dash = _DASHES[(_DASHES.index(style.dash) + number) % len(_DASHES)]
    marker = _FREE_MARKERS[number % len(_FREE_MARKERS)]
    return LineStyle(shade(style.colour, _SHADES[number % len(_SHADES)]), dash, marker)


def shade(colour: str, amount: float) -> str:
    """A colour made lighter (up to 1, white) or darker (down to -1, black).

    >>> shade("#0072B2", 0.0), shade("#0072B2", 1.0), shade("#0072B2", -1.0)
    ('#0072B2', '#FFFFFF', '#000000')
    """
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    light = max(light, 0.18) if amount else light  # black has lighter shades alone
    light += amount * (1.0 - light) if amount > 0.0 else amount * light
    parts = colorsys.hls_to_rgb(hue, light, saturation)
    return "#" + "".join(f"{round(255 * part):02X}" for part in parts)
