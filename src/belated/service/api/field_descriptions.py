"""What each field of a request or an answer means: for the document, and for the reference."""

from __future__ import annotations

from belated.policies._base.defaults import DEFAULT_POLICY

_POLICY = "The policy's `name`, as a label or a class, and its parameters; what is left out has its default."
_SEED = "Of all that the policy draws at random. The same seed, answers and order give the same decisions."
_SEEN = (
    "When the answer was seen, if not now: RFC 3339, at most five minutes ahead of the server's clock. A time before "
    "the decision counts as a delay of 0."
)
_DECISION = {
    "id": "The id, yours or the server's (a UUID, version 7).",
    "experiment": "The experiment's name.",
    "arm": "The arm to be shown.",
    "decided_at": "When it was decided.",
}

PARAMETERS: dict[str, dict[str, str]] = {
    "PendingUCB": {
        "patience": "The longest believable delay, counted in decisions of the experiment and not in seconds: how many "
        "it makes, at its busiest, while an answer may be out. Left out: 4 times the longest delay that the arm had.",
    },
    "PrefixUCB": {"spread": "Whether pulls are spread over the arms while answers are out."},
}
"""Of policies: parameters that mean something of their own over HTTP, or that are no numbers."""

FIELDS: dict[str, dict[str, str]] = {
    "SilenceRequest": {
        "after": "Seconds after the decision at which no answer becomes an answer; at most ten years.",
        "reward": "The reward that is written then, marked as imputed. The true one, should it come, replaces it.",
    },
    "ExperimentRequest": {
        "name": "Letters, digits, `.`, `_` and `-`, beginning with a letter or digit.",
        "arms": "Names of the arms, no two the same. Their order is theirs in all answers.",
        "policy": f"{_POLICY} Left out: {DEFAULT_POLICY} The answer shows it.",
        "seed": _SEED,
        "silence": "What no answer means. Left out: nothing; decisions stay pending for ever.",
    },
    "HistoryRequest": {
        "arms": "As of an experiment.",
        "policy": _POLICY,
        "decisions": "Of each decision in its order, the place of its arm (0, 1, ...).",
        "answers": "`[how many decisions were made before it, the decision's number, the reward]`, in their order.",
        "seed": _SEED,
        "after": "How many decisions and answers were in the parts before this one.",
        "first": "How many of those were decisions.",
        "more": "Whether parts follow. Until the last one the experiment is stopped.",
    },
    "ArmRequest": {"arm": "The name of the new arm."},
    "DecisionRequest": {
        "id": "Your id, an idempotency key for ever. Left out, the server makes one, and the same again decides again.",
        "unit": "For whom the decision is, as a text of yours. It is kept with the decision and changes nothing.",
        "metadata": "Anything of yours, kept with the decision: at most 16,384 bytes as JSON and 64 levels deep.",
        "count": "So many decisions at once. With an `id` their ids are `ID.0`, `ID.1`, ...",
        "of": "How many you make in all, where one `id` needs several requests; another number is another request.",
    },
    "FeedbackRequest": {"reward": "The reward.", "observed_at": _SEEN},
    "FeedbackItem": {"id": "Of the decision.", "reward": "The reward.", "observed_at": _SEEN},
    "FeedbacksRequest": {"feedback": "The feedbacks. One that is wrong is refused in its own result, and no other."},
    "ArmAnswer": {
        "arm": "Its name.",
        "pulls": "Decisions for it that were not cancelled.",
        "observed": "Those with an answer, imputed ones too.",
        "pending": "Those without one: `pulls - observed`.",
        "mean": "The average of the answers; null before the first.",
        "lower": "The policy's lower bound on the mean, within [0, 1], given what is pending.",
        "upper": "Its upper bound. Bounds of different pulls may cross: one of the two does not hold then.",
        "active": "Whether it can still be chosen.",
        "eliminated_at": "The number of a decision, not a time: the first one (1, 2, ...) that could no longer be this "
        "arm. Null for an active arm.",
        "lower_from": "How many of the arm's first pulls give `lower`, of a policy with prefix brackets (Prefix-UCB, "
        "Prefix-SE); null for others, and before the first pull.",
        "upper_from": "The same of `upper`.",
    },
    "SilenceAnswer": {"after": "Seconds.", "reward": "The reward that is taken for granted then."},
    "ExperimentAnswer": {
        "name": "Its name.",
        "policy": "The policy's label and all of its parameters that have a value.",
        "seed": "The seed.",
        "silence": "What no answer means; null: nothing.",
        "status": "`running` or `stopped`.",
        "created_at": "When it was made.",
        "arms": "What is known of each arm.",
        "decisions": "All that were made, cancelled ones too.",
        "pulls": "Those that were not cancelled.",
        "observed": "Those with an answer, imputed ones too.",
        "pending": "Those without one.",
        "cancelled": "Those that were cancelled.",
        "imputed": "Those whose answer is silence, now.",
        "late": "True answers that came after silence had been taken for one, and replaced it.",
        "last_event": "The number of the last event: how far the events reach.",
    },
    "ExperimentsAnswer": {
        "experiments": "All of them, the oldest first.",
        "damaged": "The names of those that cannot be read; `belated verify` says why.",
    },
    "DecisionAnswer": _DECISION,
    "DecisionsAnswer": {"decisions": "The decisions, in their order."},
    "DecisionStatusAnswer": {
        **_DECISION,
        "status": "`pending`, `observed`, `imputed` (silence was taken for an answer) or `cancelled`.",
        "reward": "The reward; null while pending, and once cancelled.",
        "observed_at": "When the answer was seen, as its sender said, or else when it was written. Of an imputed "
        "decision: when silence was taken for an answer.",
        "late": "Whether the true answer came after silence had been taken for one.",
        "deadline": "When silence becomes an answer; null where it never does. No restart moves it.",
        "unit": "As it was given.",
        "metadata": "As it was given.",
    },
    "FeedbackResult": {
        "id": "Of the decision; null where none was given.",
        "status": "The status that the feedback would have had alone: 201, 200, 404, 409, 422 or 503.",
        "type": "The kind of problem, where it was refused.",
        "detail": "What is wrong and what to do, where it was refused.",
    },
    "FeedbacksAnswer": {"results": "What became of each feedback, in their order."},
    "CurveAnswer": {
        "arm": "The arm.",
        "observed": "Answers that came, imputed ones left out.",
        "pending": "Answers that are out.",
        "seconds": "Where the curve steps, at most 200 places.",
        "answered": "The share of answers that come within so many seconds (Kaplan-Meier).",
        "lower": "The lower end of its 95 % interval; null where that is not defined.",
        "upper": "The upper end.",
    },
    "DelaysAnswer": {
        "experiment": "The experiment's name.",
        "at": "When this was computed.",
        "decisions": "How many were looked at: the newest, at most 100,000. Cancelled ones, and those that moved here, "
        "are left out.",
        "curves": "One for each arm.",
    },
    "ProblemAnswer": {
        "type": "`urn:belated:problem:` and the kind. It never changes.",
        "title": "The status in words.",
        "status": "The status.",
        "detail": "What was given, what is allowed, what to do.",
    },
    "StateAnswer": {"status": "`alive`, or `ready`."},
    "EventLine": {
        "seq": "Its number in the experiment: 1, 2, ... without a gap.",
        "kind": "`decided`, `observed`, `imputed`, `replaced` (the true answer after an imputed one), `cancelled`, "
        "`arm-added`, `stopped` or `resumed`.",
        "at": "When it was written.",
        "id": "Of the decision.",
        "arm": "The decision's arm.",
        "reward": "Of `observed`, `imputed` and `replaced`; of `cancelled`, the imputed one that is taken back.",
        "deadline": "Of `decided`: when silence becomes an answer.",
        "unit": "Of `decided`.",
        "metadata": "Of `decided`.",
        "count": "Of `decided`, in a batch with an id: how many it has.",
        "of": "Of `decided`, in a batch with an id: how many the caller makes in all.",
        "observed_at": "Of `observed` and `replaced`: when the answer was seen, if its sender said so.",
        "name": "Of `arm-added`: the new arm.",
        "moved": "True where it happened elsewhere, before a bandit moved here; `at` is the time of the move.",
    },
    "Feedback": {
        "duplicates": "Feedbacks that were sent again, since the server started.",
        "conflicts": "Feedbacks that were refused with 409, since the server started.",
    },
    "Series": {
        "arm": "The arm; null for all others together.",
        "place": "Its place among the arms; null for all others together.",
        "decisions": "Its decisions in each stretch.",
    },
    "Traffic": {
        "begin": "Where each stretch of time begins.",
        "end": "Where it ends.",
        "series": "The decisions in each stretch, arm by arm.",
    },
    "Bracket": {
        "arm": "The arm.",
        "all_fail": "Its mean if all that is pending fails; null before its first decision.",
        "all_succeed": "Its mean if all that is pending succeeds.",
    },
    "Elimination": {
        "arm": "The arm.",
        "place": "Its place among the arms.",
        "decision": "The first decision (1, 2, ...) that could no longer be this arm: `eliminated_at`.",
        "at": "When that decision was made.",
        "upper": "The arm's upper bound then.",
        "by": "The arm whose lower bound was the largest then.",
        "lower": "That lower bound.",
        "sentence": "The same in words.",
    },
    "Ages": {
        "at": "When this was computed.",
        "edges": "Ages in seconds, where each class begins; the last has no end.",
        "pending": "Pending decisions in each class.",
        "oldest": "The age of the oldest in seconds; null where nothing is pending.",
    },
    "Page": {
        "experiment": "The experiment as it is now.",
        "counted": "Traffic, eliminations and ages are of the events up to this one: the last, or an earlier one while "
        "a long journal is being read.",
        "feedback": "Feedback that changed nothing.",
        "traffic": "Decisions over time.",
        "brackets": "Each arm's mean between the worst and the best that is still possible.",
        "eliminated": "When and why arms were eliminated.",
        "pending_by_age": "How old pending decisions are.",
        "delays": "The delay curves.",
        "events": "The newest events, the newest first.",
    },
}
