"""What ``--help`` says: the form of a file, with examples that work."""

from __future__ import annotations

import re

from rich.markup import escape

MINIMAL = """\
horizon = 3000

[problem]
rewards = [{law = "Bernoulli", mean = 0.4}, {law = "Bernoulli", mean = 0.6}]
delays = {law = "Fixed", rounds = 50}

[[policies]]
policy = "UCB"
"""

COMPLETE = """\
horizon = 20_000      # rounds of a run
runs = 100            # independent runs (100 if left out)
seed = 0              # the same seed gives the same bits (0)
checkpoints = 100     # points of a curve, or a list of rounds (100)
out = "out/example"   # folder for the files (out/NAME OF THE FILE)

[problem]
# One law for each arm. "repeat" copies an arm; {uniform = [low, high]} in
# place of a number draws it anew for each run (and for each copy).
rewards = [
  {law = "Bernoulli", mean = 0.8},
  {law = "Bernoulli", mean = {uniform = [0.25, 0.75]}, repeat = 9},
]
# One delay law for all arms, or a list with one for each.
delays = [
  {law = "PacketLoss", observed = 0.1},
  {law = "Fixed", rounds = 200, repeat = 9},
]

[[policies]]          # a section for each policy
policy = "SuccessiveElimination"
confidence = 1.0

[[policies]]
policy = "PhasedElimination"
confidence = 1.0
"""

SHORTER = """\
# Bernoulli arms, the first is best:
rewards = {best = 0.6, gap = 0.1, arms = 10}
# Ten arms alike:
rewards = {law = "Beta", a = 2.0, b = 6.0, repeat = 10}
# Delays that depend on the reward:
delays.law = "ByReward"
delays.laws.0 = {law = "Never"}
delays.laws.1 = {law = "Fixed", rounds = 500}
# Instead of both, your own function from a numpy.random.Generator to a
# belated.Problem, in a module beside the file. (Your own policy or law is
# "my_module:ClassName".)
family = "my_module:function"
"""

SWEPT = """\
horizon = 20_000
runs = 100

[problem]
rewards = {best = 0.6, gap = 0.1, arms = 10}
delays = {law = "Fixed", rounds = 200}

[[policies]]
policy = "UCB"
confidence = 1.0

[[policies]]
policy = "SuccessiveElimination"
confidence = 1.0

[sweep]
key = "problem.delays.rounds"
values = {from = 0, to = 500, steps = 11}
name = "delay in rounds"   # in table and plot (the key if left out)
"""

KEYS_TO_SWEEP = (
    ("problem.rewards.gap", "[0.05, 0.1, 0.2]"),
    ("problem.rewards.arms", "[2, 5, 10, 20, 50]"),
    ("problem.delays[1].alpha", "{from = 0.2, to = 1.0, steps = 5}"),
    ("policies[0].confidence", '{from = 0.1, to = 10.0, steps = 9, scale = "log"}'),
    ("policies[*].confidence", "[0.5, 1.0, 2.0]   (in all policies at once)"),
    ("problem.delays.law", '["Geometric", "Poisson"]'),
    ("horizon", "[1000, 10_000, 100_000]"),
)


def toml(text: str) -> str:
    """TOML as rich markup: keys, text and comments told apart."""
    lines = []
    for line in text.rstrip().splitlines():
        code, mark, comment = line.partition("#")
        shown = re.sub(r'("[^"]*")', r"[green]\1[/green]", escape(code))
        shown = re.sub(r"^(\s*)([\w.]+)( =)", r"\1[cyan]\2[/cyan]\3", shown)
        if code.startswith("["):
            shown = f"[bold]{escape(code)}[/bold]"
        lines.append(f"  {shown}[dim]{escape(mark + comment)}[/dim]" if mark else f"  {shown}")
    return "\n".join(lines)


def shell(*lines: str) -> str:
    """Commands as rich markup."""
    return "\n".join(f"  [bold]{escape(line)}[/bold]" for line in lines)


def _help(first: str, *rest: str) -> str:
    """A help text; all but the first paragraph would be dim otherwise."""
    return "\n\n".join([first, *(f"[not dim]{part}[/not dim]" for part in rest)])


EXITS = "Exit status: 0 fine, 2 a mistake in file or options, 130 interrupted."

APP = _help(
    "Bandits whose feedback comes late, or never: simulate them, or run them.",
    "A file says what is played: a problem (arms with rewards and delays) and\npolicies.",
    toml(MINIMAL),
    "Save this as first.toml, and play it:",
    shell("belated simulate first.toml"),
    "The whole form of a file, with a complete example: [bold]belated simulate --help[/bold]\n"
    "What can stand in it: [bold]belated policies[/bold], [bold]belated laws[/bold]\n"
    "Regret against a delay, a gap, ...: [bold]belated sweep --help[/bold]\n"
    "What theory guarantees: [bold]belated bounds --help[/bold]\n"
    "The paper's figures and claims: [bold]belated reproduce --help[/bold]\n"
    "Which policy for which delays: [bold]belated arena --help[/bold]",
    "On real traffic, behind HTTP, with a dashboard: [bold]belated serve --help[/bold]\n"
    "To look around there, with traffic that is simulated: [bold]belated demo[/bold]",
)

BOUNDS = _help(
    "Print what theory guarantees for the problem of a file, before a single pull.",
    "For each policy that a theorem is about: the bound on its regret at the\nhorizon, its parts, the quantiles of the "
    "delays that make it smallest, and\nwhat drives it; then the paper's Table 1 with the file's numbers.",
    shell("belated bounds first.toml", "belated bounds first.toml --horizon 1000000"),
    "The form of a file: [bold]belated simulate --help[/bold]",
)

POLICIES = _help(
    "List the policies: formulas, parameters; or tell about one.",
    shell("belated policies", "belated policies SuccessiveElimination", "belated policies OPSE"),
)

LAWS = _help(
    "List the laws of rewards and delays: formulas, parameters; or tell about one.",
    shell("belated laws", "belated laws Pareto"),
)

SIMULATE = _help(
    "Play what a file says, and write a result, a table and a plot.",
    shell(
        "belated simulate first.toml",
        "belated simulate first.toml --runs 1000 --seed 7 --out out/more",
    ),
    "A minimal file:",
    toml(MINIMAL),
    f"Without a section [bold]{escape('[[policies]]')}[/bold] it compares UCB, Thompson sampling,\n"
    "PrefixUCB (spread) and PendingUCB, with confidence = 1.",
    "All that a file may say (names: belated policies, belated laws):",
    toml(COMPLETE),
    "Other ways to write a problem:",
    toml(SHORTER),
    "In the folder: result.npz (all arrays, and what they came from; belated.Result\n"
    "has load for it), regret.csv (the curves), regret.png and regret.svg. They\n"
    "replace files of the same names. Ctrl-C keeps the runs that are finished.",
    "All policies of a run meet the same rewards and delays, so the differences in\nthe table are paired.",
    EXITS,
)

SWEEP = _help(
    "Regret against one key of a file: the delay, the gap, the number of arms, ...",
    shell("belated sweep delays.toml", "belated sweep delays.toml --runs 20 --out out/quick"),
    "A file as for belated simulate, with a section [bold]" + escape("[sweep]") + "[/bold]:",
    toml(SWEPT),
    "Keys are joined by dots, places in a list count from 0:",
    "\n".join(f"  [green]{escape(key):<24}[/green]  {escape(values)}" for key, values in KEYS_TO_SWEEP),
    "Values between whole ends are whole; write 0.0 and 1.0 for decimals. All\n"
    "values have the same seed, so that they are paired run by run.",
    "In the folder: sweep.csv, sweep.png, sweep.svg, and in results/ a result for\n"
    "each value. They replace those that are there. Ctrl-C keeps the values that\n"
    "are finished.",
    EXITS,
)

PLOT = _help(
    "Draw a saved result again.",
    shell(
        "belated plot out/first",
        "belated plot out/first/result.npz --out regret.pdf",
        "belated plot out/delays --out sweep.svg",
    ),
)

REPRODUCE = _help(
    "Play the paper's experiments, and test what it says about them, claim by claim.",
    shell(
        "belated reproduce                        all of the paper, full size",
        "belated reproduce figure1 theorem6       some of it",
        "belated reproduce all                    also what goes beyond it",
        "belated reproduce --fraction 0.05        a quick look",
        "belated reproduce --list                 what there is",
    ),
    "Each claim of the paper is a sentence with a statistical test: it holds, fails,\n"
    "or is undecided, with the numbers. Where one is undecided more runs are played,\n"
    "up to a most that --list shows.",
    "In the folder: report/index.html (the page to open), report/figures (SVG, PDF,\n"
    "PNG, and the data of each), report/claims.md and claims.json, and all results in\n"
    "results/. What is finished there with the same manifest is used again. Ctrl-C\n"
    "keeps it, and reports what is finished.",
    "An experiment is a file of data. One of your own, of the same form, can be played\n"
    "as well: belated reproduce mine.toml",
    EXITS,
)

ARENA = _help(
    "Play every policy on every kind of delay, and compare.",
    shell(
        "belated arena                                all rows, all policies",
        "belated arena --rows 'fixed-*,pareto-*'      some rows",
        "belated arena --policies UCB,SE,PrefixUCB    some policies",
        "belated arena --policy mine.rules:MyPolicy   one of your own enters too",
        "belated arena --list                         the rows, with their reasons",
    ),
    "A row is a family of problems. Within a row all policies meet the same\n"
    "rewards and delays, run by run, and each has its ratio to the row's least\n"
    "regret. Rows are played until each ratio's standard error is at most 5 % of\n"
    "it. Every policy that has a confidence has c = 1.",
    "In the folder: arena.png and arena.svg (the picture), arena-small.png and\n"
    "arena-small.svg (one line a policy), arena.md (tables: geometric means by\n"
    "kind of row, with the rows held out by themselves, worst rows, every ratio,\n"
    "the rows above 1.25 by name), ratios.csv, scores.json. Ctrl-C keeps the rows\n"
    "that are finished.",
    EXITS,
)
