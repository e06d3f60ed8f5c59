"""The texts of ``--help``, with the examples of ``cli/examples``."""

from __future__ import annotations

import re
from pathlib import Path

from rich.markup import escape

EXAMPLES = Path(__file__).parent / "examples"

PROBLEMS = """\
# Bernoulli arms, the first is best:
rewards = {best = 0.6, gap = 0.1, arms = 10}
# Ten equal arms:
rewards = {law = "Beta", a = 2.0, b = 6.0, repeat = 10}
# Revenues from 0 to 200, which policies meet through a wider range:
rewards = [
  {law = "Scaled", of = {law = "Beta", a = 2, b = 6}, low = 0, high = 200},
]
reward_range = [0, 250]
# Feedback that comes every 1,000 rounds, as from a nightly load:
delays = {law = "Batch", size = 1000}
# Delays that change at round 5001:
delays.law = "ByRound"
delays.laws.1 = {law = "Fixed", rounds = 10}
delays.laws.5001 = {law = "Pareto", alpha = 0.5}
# Delays that depend on the reward:
delays.law = "ByReward"
delays.laws.0 = {law = "Never"}
delays.laws.1 = {law = "Fixed", rounds = 500}
# Instead of both, your own function from a numpy.random.Generator to a
# belated.Problem, in a module next to the file. (Your own policy or law is
# "my_module:ClassName".)
family = "my_module:function"
"""
"""Fragments: other ways to write a problem."""

SWEPT_KEYS = (
    ("problem.rewards.gap", "[0.05, 0.1, 0.2]"),
    ("problem.rewards.arms", "[2, 5, 10, 20, 50]"),
    ("problem.delays[1].alpha", "{from = 0.2, to = 1.0, steps = 5}"),
    ("policies[0].confidence", '{from = 0.1, to = 10.0, steps = 9, scale = "log"}'),
    ("policies[*].confidence", "[0.5, 1.0, 2.0]   (in all policies at once)"),
    ("problem.delays.law", '["Geometric", "Poisson"]'),
    ("horizon", "[1000, 10_000, 100_000]"),
)


def example(name: str) -> str:
    """The text of an example file."""
    return (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")


def _toml(text: str) -> str:
    """TOML as rich markup: keys, strings and comments in different colours."""
    lines = []
    for line in text.rstrip().splitlines():
        code, mark, comment = line.partition("#")
        markup = re.sub(r'("[^"]*")', r"[green]\1[/green]", escape(code))
        markup = re.sub(r"^(\s*)([\w.]+)( =)", r"\1[cyan]\2[/cyan]\3", markup)
        if code.startswith("["):
            markup = f"[bold]{escape(code)}[/bold]"
        lines.append(f"> {markup}[dim]{escape(mark + comment)}[/dim]" if mark else f"> {markup}")
    return "\n".join(lines)


def _shell(*lines: str) -> str:
    return "\n".join(f"> [bold]{escape(line)}[/bold]" for line in lines)


def _help(*paragraphs: str) -> str:
    """A help text for :mod:`belated.cli.help_page`."""
    return "\n\n".join(paragraphs)


EXIT_STATUS = "Exit status: 0 success, 2 a mistake in file or options, 130 interrupted."

APP = _help(
    "Bandits with delayed or missing feedback: simulate them, or run them.",
    "A file describes a simulation: a problem (arms with rewards and delays) and policies.",
    _toml(example("first")),
    "Save this as first.toml and simulate it:",
    _shell("belated simulate first.toml"),
    "The whole format of a file, with a complete example: [bold]belated simulate --help[/bold]\n"
    "Names for a file: [bold]belated policies[/bold], [bold]belated laws[/bold]\n"
    "Regret as a function of a delay, a gap, ...: [bold]belated sweep --help[/bold]\n"
    "What theory guarantees: [bold]belated bounds --help[/bold]\n"
    "The paper's figures and claims: [bold]belated reproduce --help[/bold]\n"
    "Which policy for which delays: [bold]belated arena --help[/bold]",
    "Results as JSON: --json. A file from standard input: -\n"
    "Completion in bash, zsh and fish: [bold]belated --install-completion[/bold]",
    "On real traffic, over HTTP, with a dashboard: [bold]belated serve --help[/bold]\n"
    "The same with simulated traffic, to try it out: [bold]belated demo[/bold]",
)

BOUNDS = _help(
    "Print what theory guarantees for the problem of a file.",
    "For each policy with a theorem: the bound on its regret at the horizon, its terms, the delay quantiles that "
    "minimise it, and what dominates it; then the paper's Table 1 with the numbers of the file.",
    _shell("belated bounds first.toml", "belated bounds first.toml --horizon 1000000"),
    "The format of a file: [bold]belated simulate --help[/bold]",
)

POLICIES = _help(
    "List the policies and their parameters, or describe one.",
    _shell("belated policies", "belated policies SuccessiveElimination", "belated policies OPSE"),
)

LAWS = _help(
    "List the reward and delay laws, or describe one.",
    _shell("belated laws", "belated laws Pareto"),
)

SIMULATE = _help(
    "Simulate what a file describes; write result, table and plot.",
    _shell("belated simulate first.toml", "belated simulate first.toml --runs 1000 --seed 7 --out out/more"),
    "A minimal file:",
    _toml(example("first")),
    f"Without a section [bold]{escape('[[policies]]')}[/bold] it compares UCB, Thompson sampling, "
    "PrefixUCB (spread) and ImputedUCB (anytime).",
    "A file with all its keys (names: belated policies, belated laws):",
    _toml(example("complete")),
    "Other ways to write a problem:",
    _toml(PROBLEMS),
    f"A section [bold]{escape('[sweep]')}[/bold] is for belated sweep; see belated sweep --help.",
    "Output: result.npz (all arrays with their manifest, for belated.Result.load), "
    "regret.csv (the curves), regret.png and regret.svg. Existing files of these "
    "names are replaced. Ctrl-C keeps the finished runs.",
    "In each run all policies face the same rewards and delays, so the differences in the table are paired.",
    EXIT_STATUS,
)

SWEEP = _help(
    "Regret as a function of one key of a file, such as the delay, or of two.",
    _shell("belated sweep delays.toml", "belated sweep delays.toml --runs 20 --out out/quick"),
    f"A file as for belated simulate, with a section [bold]{escape('[sweep]')}[/bold]:",
    _toml(example("sweep")),
    "Keys are joined by dots; indices of a list start at 0:",
    "\n".join(f"> [green]{escape(key):<24}[/green]  {escape(values)}" for key, values in SWEPT_KEYS),
    f"Two sections [bold]{escape('[[sweep]]')}[/bold] play all pairs of values and draw a heat map for each policy.",
    "Values between integers are integers; write 0.0 and 1.0 for decimals. All "
    "values have the same seed, so they are paired run by run.",
    "Output: sweep.csv, sweep.png, sweep.svg, sweep.sweep (for Sweep.load and "
    "belated plot), and a result for each value in results/. Existing files are "
    "replaced. Ctrl-C keeps the finished values.",
    EXIT_STATUS,
)

PLOT = _help(
    "Plot a saved result again.",
    _shell(
        "belated plot out/first",
        "belated plot out/first/result.npz --out regret.pdf",
        "belated plot out/delays --out sweep.svg",
    ),
)

REPRODUCE = _help(
    "Run the paper's experiments and test its claims.",
    _shell(
        "belated reproduce                        the whole paper, full size",
        "belated reproduce figure1 theorem6       a part of it",
        "belated reproduce all                    also what goes beyond the paper",
        "belated reproduce --fraction 0.05        a quick look",
        "belated reproduce --list                 the experiments",
    ),
    "Each claim of the paper is a sentence with a statistical test: it holds, fails, "
    "or is undecided, with the numbers. While a claim is undecided, more runs are "
    "added, up to a maximum that --list shows.",
    "Output: report/index.html (open this), report/figures (SVG, PDF, PNG and data), "
    "report/claims.md and claims.json, and all results in results/. Finished results "
    "with the same manifest are reused. Ctrl-C keeps and reports what is finished.",
    "An experiment is a TOML file. Your own file of the same format works as well: belated reproduce mine.toml",
    EXIT_STATUS,
)

ARENA = _help(
    "Compare all policies on all kinds of delays.",
    _shell(
        "belated arena                                all scenarios and policies",
        "belated arena --rows 'fixed-*,pareto-*'      some scenarios",
        "belated arena --policies UCB,SE,PrefixUCB    some policies",
        "belated arena --policy mine.rules:MyPolicy   and one of your own",
        "belated arena --list                         list the scenarios",
        "belated arena --long --device cuda           those of a million rounds",
        "belated arena --submissions arena/submissions   policies of others: record",
        "belated arena --verify arena/submissions        the same: check the records",
    ),
    "A scenario is a family of problems. In each run of a scenario all policies "
    "face the same rewards and delays; a policy's score is the ratio of its regret "
    "to the scenario's smallest. Runs are added until the standard error of each "
    "ratio is at most 5 % of it. Every policy with a confidence "
    "has c = 1, but for Imputed-UCB anytime, whose level grows with the rounds.",
    "Output: arena.png and arena.svg (the figure), arena-small.png and "
    "arena-small.svg (one line per policy), arena.md (tables: geometric means by "
    "kind of scenario and of the held-out ones, worst scenarios, twins and their "
    "limits, runs that still lose at the end, every ratio, the scenarios above "
    "1.25), ratios.csv, scores.json. Ctrl-C keeps the finished scenarios.",
    "Exit status: 0 success, 1 a record differs (--verify), 2 a mistake in file or options, 130 interrupted.",
)

SERVE = _help(
    "Run policies on real traffic, over HTTP.",
    "The journal is a SQLite file, or a PostgreSQL URL; with PostgreSQL several servers can share one database. The "
    "path / shows a dashboard, /openapi.json describes the API.",
    "An experiment created without a policy uses Imputed-UCB with confidence anytime, or Prefix-UCB with confidence 1 "
    "and spread if it has silence.",
    "Each setting is a flag, or an environment variable (BELATED_DB, BELATED_HOST, BELATED_PORT, BELATED_LOG), or a "
    "line of a TOML file (--config, or BELATED_CONFIG):",
    _toml('db = "bandits.db"\nhost = "127.0.0.1"\nport = 8000\nlog = "info"'),
    "Other variables that begin with BELATED_ are ignored, with a warning; so are those that Kubernetes sets for a "
    "Service named belated.",
    "Without keys the server listens only on this machine; see belated keys.",
)

VERIFY = _help(
    "Recompute everything from the journal and compare.",
    "Every experiment is replayed from its first event: the decisions must be the same, the lifecycle of each decision "
    "must be valid, and the state must equal the snapshots, to the bit. The exit status is 1 if something differs.",
)

IMPORT = _help(
    "Restore an export.",
    "FILE.parquet comes from GET /v1/experiments/NAME/export.parquet. Events that are already there must be the same "
    "and are not imported twice; after an error nothing is imported.",
)

KEYS = _help(
    "Manage API keys.",
    "A reader can view, a writer can also create experiments, decide and send feedback, an admin can also stop and "
    "change experiments. Once a key exists, every request needs one: Authorization: Bearer KEY.",
)

DEMO = _help(
    "Try the service with simulated traffic.",
    "Three experiments with hours of history, whose feedback is delayed or lost; visitors keep coming until Ctrl-C. In "
    "one, successes are slow and failures fast (OPSE); in one, only successes are reported (silence means failure, "
    "with the default policy for that); in one, delays have a heavy tail (Thompson sampling).",
    "The dashboard's address is printed, and opened in a browser if there is one. The database is a temporary file "
    "unless --db says where to keep it; the same --db again continues from there.",
)
