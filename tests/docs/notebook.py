"""Execute the notebook of the examples, and compare its pictures with those that are kept here.

    python tests/docs/notebook.py OUT.ipynb        execute it, with the cells of FORMS and PAIRS after its own
    python tests/docs/notebook.py --record         keep the pictures that it shows now (small copies of them)

A picture is compared as a small copy, so that another version of a font does not matter, and other lines do."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from PIL import Image

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "first-steps.ipynb"
KEPT = Path(__file__).parent / "notebook_pictures"
SIZE = (60, 40)
FORMS = {
    "the last line": "result.plot()",
    "with a semicolon": "result.plot();",
    "a statement": "figure = result.plot()",
    "not the last line": "result.plot()\nx = 1",
    "displayed": "display(result.plot())",
    "into Axes": "import matplotlib.pyplot as plt\n_, ax = plt.subplots()\nresult.plot(ax)",
    "once more": "figure",
    "of pulls": "pulls = result.plot_pulls()\npulls",
    "a law": "problem.delays[0].plot()",
    "a moving picture": "result.trace('UCB').animate(last=20, frames=2)",
}
"""Ways to show one picture in a cell; each must show exactly one."""
PAIRS = {
    "a statement and the last line": "result.plot()\nresult.plot_pulls()",
    "two statements": "result.plot()\nresult.plot_pulls()\nx = 1",
    "an old picture last": "result.plot()\npulls",
    "displayed, then the last line": "display(result.plot())\nresult.plot_pulls()",
    "both displayed": "display(result.plot(), result.plot_pulls())",
}
"""Ways to show the pictures of FORMS "the last line" and "of pulls" in one cell, in this order."""


def execute_cells(notebook: Any, folder: Path, client: type[NotebookClient] = NotebookClient) -> None:
    """Execute a notebook in a kernel of this interpreter, which talks over files of the folder instead of ports."""
    manager = AsyncKernelManager(transport="ipc", connection_file=str(folder / "kernel.json"))
    manager.kernel_spec.argv[0] = sys.executable  # type: ignore[union-attr]
    resources = {"metadata": {"path": str(folder)}}
    client(notebook, km=manager, timeout=600, resources=resources).execute(cleanup_kc=True)


def execute(target: Path) -> None:
    """Execute the notebook, FORMS and PAIRS in one kernel."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell(source) for source in [*FORMS.values(), *PAIRS.values()]]
    execute_cells(notebook, target.parent)
    nbformat.write(notebook, target)


def pictures_of(cell: Any) -> list[Image.Image]:
    """The pictures that a cell shows, still or moving."""
    found = []
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "image/png" in data:
            found.append(Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB"))
        elif "data:image/gif;base64," in data.get("text/html", ""):
            gif = data["text/html"].partition("base64,")[2].partition('"')[0]
            moving = Image.open(io.BytesIO(base64.b64decode(gif)))
            moving.seek(moving.n_frames - 1)  # type: ignore[attr-defined]
            found.append(moving.convert("RGB"))
    return found


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def sections(cells: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """(the notebook's own cells, those of FORMS, those of PAIRS)."""
    own = len(cells) - len(FORMS) - len(PAIRS)
    return cells[:own], cells[own : own + len(FORMS)], cells[own + len(FORMS) :]


def small(picture: Image.Image) -> Any:
    """A small copy as an array."""
    return np.asarray(picture.resize(SIZE, Image.Resampling.BOX), np.float64)


def distance(a: Any, b: Any) -> float:
    """How far two small copies differ, in levels of 255; of all places the worst tenth, as lines are thin."""
    apart = np.abs(a - b).max(axis=-1).ravel()
    return float(np.sort(apart)[-apart.size // 10 :].mean())


def kept() -> list[Any]:
    return [np.asarray(Image.open(path).convert("RGB"), np.float64) for path in sorted(KEPT.glob("*.png"))]


def record(executed: Path) -> None:
    cells = sections(code_cells(executed))[0]
    for path in KEPT.glob("*.png"):
        path.unlink()
    for number, picture in enumerate([picture for cell in cells for picture in pictures_of(cell)]):
        picture.resize(SIZE, Image.Resampling.BOX).save(KEPT / f"{number:02d}.png")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            execute(Path(folder) / "executed.ipynb")
            record(Path(folder) / "executed.ipynb")
    else:
        execute(Path(sys.argv[1]))
