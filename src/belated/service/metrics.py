"""Prometheus metrics of the server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

DAY = 86_400.0
DELAYS = (1.0, 10.0, 60.0, 600.0, 3_600.0, 6 * 3_600.0, DAY, 3 * DAY, 7 * DAY, 30 * DAY, 90 * DAY)
COMMITS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Metrics of this process since it started."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.decisions = Counter("belated_decisions", "Decisions made.", ["experiment"], registry=registry)
        self.feedback = Counter(
            "belated_feedback",
            "Feedback by result: observed, late (after a reward was imputed), duplicate, conflict.",
            ["experiment", "result"],
            registry=registry,
        )
        self.unknown = Counter("belated_feedback_unknown", "Feedback for unknown decisions.", registry=registry)
        self.imputed = Counter("belated_imputed", "Rewards imputed after silence.", ["experiment"], registry=registry)
        self.pending = Gauge("belated_pending", "Decisions without feedback.", ["experiment"], registry=registry)
        self.damaged = Gauge("belated_experiments_damaged", "Experiments that cannot be read.", registry=registry)
        self.oldest = Gauge(
            "belated_oldest_pending_seconds",
            "Age of the oldest decision without feedback.",
            ["experiment"],
            registry=registry,
        )
        self.delay = Histogram(
            "belated_feedback_delay_seconds",
            "Time from a decision to its feedback.",
            ["experiment"],
            buckets=DELAYS,
            registry=registry,
        )
        self.commits = Histogram(
            "belated_commit_seconds",
            "Time from the start of a transaction to its commit.",
            buckets=COMMITS,
            registry=registry,
        )
        self.events = Counter("belated_events", "Events written.", registry=registry)

        self._decided: dict[str, Counter] = {}

    def decided(self, experiment: str, count: int) -> None:
        """Count decisions."""
        counter = self._decided.get(experiment)
        if counter is None:
            counter = self._decided[experiment] = self.decisions.labels(experiment)
        counter.inc(count)

    def committed(self, seconds: float, events: int) -> None:
        """Record a commit."""
        self.commits.observe(seconds)
        self.events.inc(events)

    def text(self) -> bytes:
        """The metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
