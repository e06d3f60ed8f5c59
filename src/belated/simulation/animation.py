"""Moving pictures of one run: feedback in flight, as a GIF."""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from belated.errors import InvalidParameter
from belated.formatting import plural
from belated.simulation.figures import STYLE
from belated.simulation.notebook import style_context
from belated.simulation.trace_figures import LOST, PENDING, Lanes, canvas, check_window, draw_pulls
from belated.validation import check_integer

if TYPE_CHECKING:
    from PIL.Image import Image

    from belated.simulation.trace import Trace

_DPI = 90
_DEFAULT_ROUNDS = 160
_STRENGTHS = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.15)
"""Of the colours of the palette that all frames share."""
_PAUSE = 1500
"""Milliseconds for which the last frame stays."""


@dataclass(frozen=True, eq=False, repr=False)
class Animation:
    """A moving picture. A notebook plays it; :meth:`save` writes it to a file."""

    gif: bytes
    title: str
    frames: int

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the GIF; return its path."""
        target = Path(path)
        if target.suffix.lower() != ".gif":
            raise InvalidParameter(f"path is {os.fspath(path)!r}; give the name of a file that ends with .gif.")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(self.gif)
        return target

    def __repr__(self) -> str:
        return f"<Animation of {self.title}: {plural(self.frames, 'frame')}, {len(self.gif) / 1024:,.0f} KiB>"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.gif).decode()
        return f'<img alt="feedback in flight" style="max-width:100%" src="data:image/gif;base64,{data}">'


def animate(
    trace: Trace, path: str | os.PathLike[str] | None, first: int, last: int | None, frames: int, speed: int
) -> Animation:
    """Draw a run as a moving picture; see :meth:`belated.simulation.trace.Trace.animate`."""
    if last is None:
        last = min(check_integer("first", first, 1, trace.horizon) + _DEFAULT_ROUNDS - 1, trace.horizon)
    first, last = check_window(trace, first, last)
    frames = check_integer("frames", frames, 2, 1000)
    milliseconds = round(1000 / check_integer("frames_per_second", speed, 1, 50))
    moments = np.unique(np.linspace(first, last, frames).round().astype(int))
    with style_context(STYLE):
        scene = _Scene(trace, first, last)
        pictures = [scene.at(int(now)) for now in moments]
    palette = scene.palette()
    reduced = [_reduced(picture, palette) for picture in pictures]
    times = [milliseconds] * (len(reduced) - 1) + [_PAUSE]
    file = io.BytesIO()
    reduced[0].save(file, "GIF", save_all=True, append_images=reduced[1:], duration=times, loop=0, optimize=True)
    animation = Animation(file.getvalue(), f"{trace.label}, run {trace.run:,}", len(reduced))
    if path is not None:
        animation.save(path)
    return animation


class _Scene:
    """The picture of a run up to a round: feedback in flight is bright, and what has arrived fades."""

    def __init__(self, trace: Trace, first: int, last: int) -> None:
        self._trace = trace
        self._lanes = Lanes(trace, first, last)
        drawn, self._flights, self._pending = canvas(self._lanes, first, last)
        self._figure = _without_pyplot(drawn)
        self._canvas: Any = FigureCanvasAgg(self._figure)
        self._paths = np.array([self._lanes.flight(int(round)) for round in self._lanes.rounds])
        lost = np.isinf(trace.delay[self._lanes.rounds - 1])
        self._colours = np.array(
            [LOST if gone else self._lanes.colour(int(r)) for r, gone in zip(self._lanes.rounds, lost, strict=True)]
        )
        self._dots = draw_pulls(self._flights, self._lanes)
        self._edges, self._faces = self._dots.get_edgecolors().copy(), self._dots.get_facecolors().copy()
        self._lines = LineCollection([], linewidths=1.0)
        self._flights.add_collection(self._lines)
        self._heads = self._flights.scatter([], [], s=16.0, zorder=5, linewidths=0)
        self._now = [axes.axvline(first, color="#222222", linewidth=0.8) for axes in (self._flights, self._pending)]
        (self._count,) = self._pending.step([], [], where="mid", color=PENDING, linewidth=1.4)
        self._pending.set_ylim(0, 1.15 * max(int(trace.pending[first - 1 : last].max()), 1))
        self._text = self._flights.annotate(
            "",
            (1.0, 1.0),
            xycoords="axes fraction",
            xytext=(0, 19),
            textcoords="offset points",
            ha="right",
            fontsize=9,
            color="#222222",
        )
        for text in self._flights.texts[:-1]:  # when arms were eliminated is not known before
            text.set_visible(False)
        self._canvas.draw()  # type: ignore[no-untyped-call]
        self._figure.set_layout_engine("none")

    def at(self, now: int) -> npt.NDArray[np.uint8]:
        """The picture at the end of a round."""
        start, end, base, top = self._paths.T
        begun, arrived = start <= now, end <= now
        share = np.clip((now - start) / np.maximum(end - start, 1.0), 0.0, 1.0)
        x, y = start + share * (end - start), base + share * (top - base)
        segments = np.stack([np.stack([start, base], -1), np.stack([x, y], -1)], 1)
        colours = matplotlib.colors.to_rgba_array(self._colours)
        colours[:, 3] = np.where(arrived, 0.18, 0.9)
        self._lines.set_segments(list(segments[begun]))
        self._lines.set_color(list(colours[begun]))
        flying = begun & ~arrived
        heads = flying | (begun & (end > now - 1) & arrived)
        self._heads.set_offsets(np.stack([x, y], -1)[heads])
        self._heads.set_facecolor(list(matplotlib.colors.to_rgba_array(self._colours[heads])))
        for colours_of, put in ((self._edges, self._dots.set_edgecolors), (self._faces, self._dots.set_facecolors)):
            seen = colours_of.copy()
            seen[~begun, 3] = 0.0
            put(list(seen))
        for line in self._now:
            line.set_xdata([now, now])
        shown = self._lanes.rounds[begun]
        self._count.set_data(shown, self._trace.pending[shown - 1])
        self._text.set_text(f"round {now:,}, {int(self._trace.pending[now - 1]):,} pending")
        self._show_eliminations(now)
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba())[:, :, :3]

    def palette(self) -> npt.NDArray[np.int64]:
        """(n, 3) the colours of all frames: greys, and those of the lanes in several strengths."""
        colours = [np.full(3, level) for level in range(0, 256, 5)]
        for name in sorted({*self._colours}):
            rgb = 255.0 * np.array(matplotlib.colors.to_rgb(name))
            colours += [np.round(strength * rgb + (1.0 - strength) * 250.0) for strength in _STRENGTHS]
        return np.unique(np.array([*colours[:255], np.full(3, 255)]), axis=0).astype(np.int64)

    def _show_eliminations(self, now: int) -> None:
        for text in self._flights.texts[:-1]:
            text.set_visible(text.xy[0] <= now)  # type: ignore[attr-defined]
        for line in self._flights.get_lines():
            if line is not self._now[0]:
                line.set_visible(float(np.asarray(line.get_xdata())[0]) <= now)


def _reduced(picture: npt.NDArray[np.uint8], palette: npt.NDArray[np.int64]) -> Image:
    """A picture in the nearest colours of a palette."""
    from PIL import Image

    packed = picture.astype(np.int64) @ np.array([1 << 16, 1 << 8, 1])
    colours, inverse = np.unique(packed, return_inverse=True)
    rgb = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], -1)
    nearest = np.argmin(((rgb[:, None] - palette[None]) ** 2).sum(-1), axis=1).astype(np.uint8)
    image = Image.fromarray(nearest[inverse].reshape(packed.shape), mode="P")
    image.putpalette(palette.astype(np.uint8).tobytes())
    return image


def _without_pyplot(figure: Any) -> Figure:
    """A figure that a notebook does not show, as the moving picture is shown."""
    import sys

    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)
    figure.set_dpi(_DPI)
    drawn: Figure = figure
    return drawn
