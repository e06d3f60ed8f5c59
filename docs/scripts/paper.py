"""What ``make paper`` runs today: one example in the paper's setting, and no more.

    python docs/scripts/paper.py FOLDER

Two Bernoulli arms with Pareto delays, the better arm's much heavier: the setting of the paper's Figure 2, with UCB and
SE. Writes regret.png, regret.svg, regret.npz and regret.md to the folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

from belated import Problem, Result, simulate
from belated.delays import Pareto
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli

NOTICE = """\
This is one example, not the paper: the reproduction of its Figures 1 to 5 and of its claims is not there yet."""


def example() -> Result:
    """Play the example."""
    problem = Problem(rewards=[Bernoulli(0.4), Bernoulli(0.6)], delays=[Pareto(1.0), Pareto(0.2)])
    policies = [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)]
    return simulate(problem, policies, horizon=3000, runs=300, seed=0)


def table(result: Result) -> str:
    """Return what happened up to the horizon, per policy, as a Markdown table."""
    head = f"| policy | pseudo-regret at round {result.horizon:,} | standard error | observed | in flight | lost |"
    lines = [head, "|:--|--:|--:|--:|--:|--:|"]
    for number, label in enumerate(result.labels):
        regret = f"{result.mean[number, -1]:.1f} | {result.stderr[number, -1]:.1f}"
        counts = (result.observed, result.in_flight, result.lost)
        shares = " | ".join(f"{part[number].sum() / result.pulls[number].sum():.1%}" for part in counts)
        lines.append(f"| {label} | {regret} | {shares} |")
    return "\n".join(lines)


def main(folder: str) -> None:
    """Write the example's files and say what they are."""
    target = Path(folder)
    result = example()
    saved = result.save(target / "regret.npz")
    figure = result.plot()
    figure.savefig(target / "regret.png")
    figure.savefig(target / "regret.svg", metadata={"Date": None})
    text = table(result)
    (target / "regret.md").write_text(f"{text}\n\n{NOTICE}\n")
    names = ", ".join(str(saved.with_suffix(end)) for end in (".png", ".svg", ".npz", ".md"))
    print(f"{text}\n\nWrote {names}.\n{NOTICE}")


if __name__ == "__main__":
    main(*sys.argv[1:])
