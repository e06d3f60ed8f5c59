"""Print the line coverage of each package as a table for docs/notes/tests.md, from what ``coverage json`` wrote."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path


def rows(files: dict[str, dict[str, dict[str, int]]]) -> dict[str, tuple[int, int]]:
    """(lines, covered lines) of each package, by its name; of the modules beside the packages together."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, file in files.items():
        inside = Path(name).parts[Path(name).parts.index("belated") + 1 :]
        package = f"belated.{inside[0]}" if len(inside) > 1 else "belated (modules)"
        counts[package][0] += file["summary"]["num_statements"]
        counts[package][1] += file["summary"]["covered_lines"]
    return {package: (lines, covered) for package, (lines, covered) in sorted(counts.items())}


def table(files: dict[str, dict[str, dict[str, int]]]) -> str:
    """The same as Markdown, with the total."""
    found = rows(files)
    total = tuple(map(sum, zip(*found.values(), strict=True)))
    shown = [*((f"`{name}`" if name[-1] != ")" else name, *row) for name, row in found.items()), ("all", *total)]
    lines = [f"| {name} | {count:,} | {100 * covered / max(count, 1):.1f} % |" for name, count, covered in shown]
    return "\n".join(["| package | statements | covered |", "|:--|--:|--:|", *lines])


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text())["files"]))
