"""Draw the package graph from the code: ``python docs/scripts/package_graph.py`` writes ``docs/images/packages.svg``.

Nodes are the packages and modules directly under ``belated``; their rows are the layers of the import contract in
``pyproject.toml``. Arrows are imports, including late and typing imports, without those implied by others (transitive
reduction) and without those to the shelf of small modules that everything may import. The tests check that the
committed picture is current."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCE = ROOT / "src" / "belated"
PICTURE = ROOT / "docs" / "images" / "packages.svg"
SKIPPED = {"__init__", "__main__"}
ROLES = {
    "cli": "one module per command",
    "service": "HTTP API, journal, dashboard",
    "studies": "sweeps, claims, arena, paper",
    "client": "Python client of the service",
    "testing": "the contract of a policy",
    "live": "Bandit and Learner",
    "simulation": "simulate, Result, plots",
    "specs": "problems and policies as data",
    "engine": "the compiled loop, CPU and GPU",
    "policies": "one policy per file",
    "theory": "regret bounds as numbers",
    "problem": "rewards and delays of the arms",
    "delays": "one delay law per file",
    "rewards": "one reward law per file",
    "kernel": "numba, random numbers, tables",
    "registry": "laws and policies by name",
    "parameter_docs": "parameters in docstrings",
    "validation": "checks of values",
    "formatting": "numbers as text",
    "html_table": "tables for notebooks",
    "atomic_output": "all-or-nothing output files",
    "interrupts": "Ctrl-C while threads work",
    "errors": "errors that users can cause",
    "own_code": "which code is the user's",
    "_version": "the version",
}
GROUPS = {
    "top": ("cli",),
    "application": ("service", "studies", "client", "testing"),
    "frontend": ("live", "simulation"),
    "core": ("specs", "engine", "policies", "theory", "problem", "delays", "rewards"),
}
"""Colour classes; everything else is ``base``."""
SHELF = (
    "registry",
    "parameter_docs",
    "validation",
    "formatting",
    "html_table",
    "atomic_output",
    "interrupts",
    "errors",
    "own_code",
    "_version",
)
"""Drawn at the bottom, without arrows."""
WIDTH, HEIGHT, PITCH, GAP, MARGIN = 206.0, 46.0, 76.0, 26.0, 28.0
PER_ROW = 3
"""Boxes in a row of the shelf."""
BEND = 14.0
"""Width that an arrow takes where it passes a row."""

Graph = dict[str, set[str]]


# ---- the graph ----


def layers() -> list[list[str]]:
    """Return the layers of the import contract, top first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    contract = next(each for each in contracts["contracts"] if each["type"] == "layers")
    return [[name.strip().removeprefix("belated.") for name in layer.split("|")] for layer in contract["layers"]]


def imports() -> Graph:
    """Return which units each unit imports, anywhere in its code."""
    graph: Graph = {}
    for path in sorted(SOURCE.rglob("*.py")):
        unit = path.relative_to(SOURCE).with_suffix("").parts[0]
        if unit not in SKIPPED:
            graph.setdefault(unit, set()).update(_imported(path))
    return {unit: (targets & set(graph)) - {unit} for unit, targets in graph.items()}


def _imported(path: Path) -> Iterator[str]:
    """Yield the units that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, *rest = name.split(".")
            if package == "belated" and rest:
                yield rest[0]


def reduced(graph: Graph) -> Graph:
    """Return the graph without the shelf and without edges that follow from others."""
    graph = {unit: targets - set(SHELF) for unit, targets in graph.items() if unit not in SHELF}

    @cache
    def below(unit: str) -> frozenset[str]:
        return frozenset(graph[unit]).union(*(below(target) for target in graph[unit]))

    return {
        unit: {target for target in targets if not any(target in below(other) for other in targets)}
        for unit, targets in graph.items()
    }


# ---- the layout ----

Point = tuple[int, str]
"""A row and a name; an arrow that passes a row has a point there, named after its target."""


def chains(graph: Graph, rank: dict[str, int]) -> list[list[Point]]:
    """Return each edge as the points it passes, from row to row. Edges to the same target share their points."""
    return [
        [
            (rank[unit], unit),
            *((row, f">{target}") for row in range(rank[unit] + 1, rank[target])),
            (rank[target], target),
        ]
        for unit in sorted(graph, key=lambda unit: (rank[unit], unit))
        for target in sorted(graph[unit], key=lambda unit: (rank[unit], unit))
    ]


def positions(rows: list[list[str]], paths: list[list[Point]]) -> dict[Point, float]:
    """Return the horizontal centre of every point: near its neighbours, in an order with few crossings; in the last
    pass below what is above it, so that chains are straight."""
    points: list[list[Point]] = [[(row, name) for name in names] for row, names in enumerate(rows)]
    near: dict[Point, set[Point]] = {point: set() for row in points for point in row}
    for path in paths:
        for point in path:
            if point not in near:
                near[point] = set()
                points[point[0]].append(point)
        for one, other in pairwise(path):
            near[one].add(other)
            near[other].add(one)
    centre = {point: place for row in points for point, place in zip(row, _centred(row), strict=True)}
    for step in range(101):
        for row in range(len(points)) if step % 2 == 0 else range(len(points) - 1, -1, -1):
            goal = {}
            for point in points[row]:
                above = [other for other in near[point] if other[0] < row] if step == 100 else []
                close = above or sorted(near[point])
                goal[point] = sum(centre[other] for other in close) / len(close) if close else centre[point]
            points[row].sort(key=lambda point: (goal[point], point))
            centre.update(_apart(points[row], goal))
    return centre


def _size(point: Point) -> float:
    return BEND if point[1].startswith(">") else WIDTH


def _centred(row: list[Point]) -> list[float]:
    total = sum(_size(point) for point in row) + GAP * (len(row) - 1)
    places, left = [], -total / 2
    for point in row:
        places.append(left + _size(point) / 2)
        left += _size(point) + GAP
    return places


def _apart(row: list[Point], goal: dict[Point, float]) -> dict[Point, float]:
    """Return places near the goals, in their order, that do not overlap."""
    place = {point: goal[point] for point in row}
    for _ in range(200):
        moved = False
        for one, other in pairwise(row):
            least = (_size(one) + _size(other)) / 2 + GAP
            lack = least - (place[other] - place[one])
            if lack > 0.01:
                place[one] -= lack / 2
                place[other] += lack / 2
                moved = True
        if not moved:
            break
    return place


# ---- the picture ----

STYLE = """\
.page{fill:#ffffff}.box{fill:#f6f8fa;stroke:#c9d1d9}.name{fill:#1f2328;font-weight:600;font-size:15px}
.role{fill:#59636e;font-size:12px}.edge{fill:none;stroke:#8c959f;stroke-width:1.4}.head{fill:#8c959f}
.top{fill:#fff4e5;stroke:#e3a857}.application{fill:#eaf2ff;stroke:#8db4ef}.frontend{fill:#e9f8f0;stroke:#84c9a4}
.core{fill:#f3eefe;stroke:#b8a3ec}.rule{stroke:#c9d1d9;stroke-dasharray:4 4}
@media (prefers-color-scheme:dark){.page{fill:#12161c}.box{fill:#1b2129;stroke:#3d4652}.name{fill:#e6edf3}
.role{fill:#9aa5b1}.edge{stroke:#6e7a87}.head{fill:#6e7a87}.top{fill:#33270f;stroke:#a9762a}
.application{fill:#13253f;stroke:#3f6cae}.frontend{fill:#10291d;stroke:#3b8a62}.core{fill:#231b3a;stroke:#6f57b8}.rule{stroke:#3d4652}}
"""


def draw() -> str:
    """Return the picture as SVG."""
    graph = imports()
    missing = sorted(set(graph) ^ {name for row in layers() for name in row} | (set(graph) ^ set(ROLES)))
    if missing:
        raise SystemExit(f"the layers of pyproject.toml, ROLES and the code disagree about {', '.join(missing)}")
    rows = [row for row in ([name for name in row if name not in SHELF] for row in layers()) if row]
    rank = {name: row for row, names in enumerate(rows) for name in names}
    paths = chains(reduced(graph), rank)
    centre = positions(rows, paths)
    left = min(centre[point] - _size(point) / 2 for point in centre) - MARGIN
    width = max(centre[point] + _size(point) / 2 for point in centre) + MARGIN - left
    x = {point: place - left for point, place in centre.items()}
    half, shelf = width / 2, _top(len(rows)) + 26
    height = shelf + -(-len(SHELF) // PER_ROW) * (HEIGHT + GAP / 2) - GAP / 2 + MARGIN
    places = [divmod(number, PER_ROW) for number in range(len(SHELF))]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="system-ui, -apple-system, Segoe UI, Noto Sans, DejaVu Sans, sans-serif" '
        'text-anchor="middle" role="img">',
        "<title>The packages of belated and their imports</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'<rect class="page" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
        *(_arrow(path, x) for path in paths),
        *(_box(name, x[row, name], _top(row)) for row, names in enumerate(rows) for name in names),
        f'<path class="rule" d="M{MARGIN:.0f} {shelf - 32:.1f}H{width - MARGIN:.1f}"/>',
        f'<text class="role" x="{half:.1f}" y="{shelf - 13:.1f}">every package may import these</text>',
        *(
            _box(name, half + (column - (PER_ROW - 1) / 2) * (WIDTH + GAP), shelf + row * (HEIGHT + GAP / 2))
            for name, (row, column) in zip(SHELF, places, strict=True)
        ),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _top(row: int) -> float:
    return MARGIN + PITCH * row


def _box(name: str, x: float, y: float) -> str:
    colour = next((group for group, names in GROUPS.items() if name in names), "base")
    return (
        f'<g><rect class="box {colour}" x="{x - WIDTH / 2:.1f}" y="{y:.1f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" '
        f'rx="7"/><text class="name" x="{x:.1f}" y="{y + 20:.1f}">{escape(name)}</text>'
        f'<text class="role" x="{x:.1f}" y="{y + 36:.1f}">{escape(ROLES[name])}</text></g>'
    )


def _arrow(path: list[Point], x: dict[Point, float]) -> str:
    """Return an edge as a smooth curve: straight past each row, bent between two."""
    row = path[0][0]
    parts = [f"M{x[path[0]]:.1f} {_top(row) + HEIGHT:.1f}"]
    for before, point in pairwise(path):
        start, end = _top(before[0]) + HEIGHT, _top(point[0])
        middle = (start + end) / 2
        parts.append(f"C{x[before]:.1f} {middle:.1f} {x[point]:.1f} {middle:.1f} {x[point]:.1f} {end:.1f}")
        if point is not path[-1]:
            parts.append(f"V{end + HEIGHT:.1f}")
    return f'<path class="edge" d="{"".join(parts)}" marker-end="url(#head)"/>'


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
