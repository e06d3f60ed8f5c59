"""A server's life: what the experiments of the fixtures went through, what can be seen of them, and how they go on.

Every decision is a matter of an experiment's seed and of the order of its events. One caller makes one request after
the other, so that nothing depends on time, but for silence: where silence becomes an answer within this life, nothing
is done before it has."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from typing import Any

from golden_rules import reward_of
from golden_serving import WITHIN, Server

from belated import AsyncClient, Bandit, Client
from belated.policies import UCB, ThompsonSampling

ARMS = ["red", "green", "blue"]
TEN_YEARS = 3650 * 86_400
SHORT, OVERDUE = 0.25, 4.0
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "ucb": {"policy": {"name": "UCB", "confidence": 1.0}, "seed": 1},
    "ucb-any-time": {"policy": {"name": "ucb", "delta": 0.1}},
    "optimistic": {"policy": {"name": "OptimisticUCB", "confidence": 0.5}},
    "patient": {"policy": {"name": "PatientBandits", "alpha": 0.5, "constant": 0.5, "horizon": 500}},
    "se": {"policy": {"name": "SE", "confidence": 0.1}},
    "pse": {"policy": {"name": "PSE", "confidence": 0.02}},
    "opse": {"policy": {"name": "OPSE", "confidence": 0.05}},
    "prefix-se": {"policy": {"name": "Prefix-SE", "confidence": 0.05}},
    "prefix": {"policy": {"name": "Prefix-UCB"}},
    "prefix-spread": {"policy": {"name": "Prefix-UCB", "confidence": 1.0, "spread": True}},
    "pending": {},
    "pending-patience": {"policy": {"name": "Pending-UCB", "confidence": 0.5, "patience": 12}},
    "thompson": {"policy": {"name": "Thompson", "successes": 0.5, "failures": 2.0}, "seed": 2**53},
    "uniform": {"policy": {"name": "Uniform"}, "seed": 12},
    "silent": {"silence": {"after": TEN_YEARS, "reward": 0}},
    "silent-pending": {"policy": {"name": "Pending-UCB"}, "silence": {"after": TEN_YEARS, "reward": 0.5}},
    "stopped": {"policy": {"name": "UCB"}},
    "finished": {"policy": {"name": "Thompson"}, "seed": 4},
}
"""Those that live the usual life. Others: ``silent-short`` and ``overdue``, whose silence becomes an answer; ``moved``
and ``half-moved``, bandits that began elsewhere; ``words``, with names, units and metadata of all kinds; ``empty``."""
SILENT: dict[str, Any] = {
    "silent-short": {"silence": {"after": SHORT, "reward": 0}, "policy": {"name": "Prefix-UCB", "spread": True}},
    "silent-ucb": {"silence": {"after": SHORT, "reward": 0.25}, "policy": {"name": "UCB", "confidence": 1.0}},
}
DECISIONS, THEN, NEXT = 36, 8, 30
"""Of an experiment: before the server is ended for the first time, after that, and when it goes on from the fixture."""
NEVER = 3
"""Every so many-th decision is not answered."""
WORDS: dict[str, Any] = {
    "name": "words",
    "arms": ["naïve", "a/b", "日本", " "],
    "seed": 3,
    "policy": {"name": "Pending-UCB"},
}
PLACES = [*ARMS, "late", "last", *WORDS["arms"]]
"""All arms that there are."""
TIMES = ("created_at", "decided_at", "observed_at", "deadline")


def at(name: str) -> str:
    """Where an experiment is."""
    return f"/v1/experiments/{name}"


def create(server: Server, name: str, arms: list[str], **more: Any) -> None:
    """Make an experiment, twice."""
    assert server.post("/v1/experiments", {"name": name, "arms": arms, **more})[0] == 201
    assert server.post("/v1/experiments", {"name": name, "arms": arms, **more})[0] == 200


def decide(server: Server, name: str, id: str, **more: Any) -> tuple[int, str | None]:
    """Status and arm."""
    status, answer = server.post(f"{at(name)}/decisions", {"id": id, **more})
    return status, answer.get("arm")


def tell(server: Server, arm: str, number: int, id: str, graded: bool) -> int:
    """Feedback by the rule; the status."""
    reward = reward_of(PLACES.index(arm), number, graded)
    return server.post(f"/v1/decisions/{id}/feedback", {"reward": reward})[0]


def is_graded(name: str) -> bool:
    """Whether an experiment's rewards are other than 0 and 1."""
    return len(name) % 2 == 0


def live(server: Server, name: str, first: int, count: int) -> None:
    """The usual life: so many decisions, answered one to five decisions later or not at all; one is cancelled, an arm
    is added, if the policy takes that."""
    arms: dict[int, str] = {}
    for number in range(first, first + count):
        status, arm = decide(server, name, f"{name}.{number}", unit=f"u{number % 5}")
        assert arm is not None, (name, status)
        arms[number] = arm
        for earlier in range(first, number):
            if earlier % NEVER and earlier + 1 + 7 * earlier % 5 == number:
                tell(server, arms[earlier], earlier, f"{name}.{earlier}", is_graded(name))
        if number == 17:
            server.post(f"/v1/decisions/{name}.{number}/cancel")  # refused by some
        if number == 24 and name != "silent-pending":
            server.post(f"{at(name)}/arms", {"arm": "late"})  # refused by some


def wait_for_silence(server: Server, name: str) -> None:
    """Until nothing is pending."""
    end = time.monotonic() + WITHIN
    while server.get(at(name))["pending"]:
        assert time.monotonic() < end, f"silence is no answer in {name}"
        time.sleep(0.02)


def live_in_silence(server: Server, name: str, batch: str) -> list[str]:
    """Decisions made together; silence answers them all, the truth comes late for some, and one is cancelled after
    all. Their arms."""
    made = server.post(f"{at(name)}/decisions", {"id": f"{name}.{batch}", "count": 9})[1]["decisions"]
    wait_for_silence(server, name)
    for number in (7, 2, 4):
        reward = reward_of(number % 3, number)
        assert server.post(f"/v1/decisions/{made[number]['id']}/feedback", {"reward": reward})[0] == 201
    assert server.post(f"/v1/decisions/{made[5]['id']}/cancel")[0] == 201
    return [each["arm"] for each in made]


def notebook(policy: Any, decisions: int) -> Bandit:
    """A bandit that moves to a server: the last four decisions are pending."""
    bandit = Bandit(ARMS, policy, seed=9)
    for number in range(decisions):
        bandit.choose()
        if number >= 4:
            bandit.observe(number - 4, reward_of(bandit.to_dict()["decisions"][number - 4], number))
    return bandit


def history(bandit: Bandit) -> dict[str, Any]:
    """The request with which a bandit moves; the policy as an experiment names it."""
    data = bandit.to_dict()
    policy = {key: value for key, value in data["policy"].items() if key != "policy" and value is not None}
    body = {key: data[key] for key in ("arms", "seed", "decisions", "answers")}
    return {**body, "policy": {"name": data["policy"]["policy"], **policy}}


def halves(bandit: Bandit, first: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same in two requests: the first so many decisions with the answers that came between them, and the rest."""
    whole = history(bandit)
    early = [answer for answer in whole["answers"] if answer[0] < first]
    late = [answer for answer in whole["answers"] if answer[0] >= first]
    one = {**whole, "decisions": whole["decisions"][:first], "answers": early, "more": True}
    rest = {"decisions": whole["decisions"][first:], "answers": late, "after": first + len(early), "first": first}
    return one, {**whole, **rest}


def first_life(server: Server) -> None:
    """Everything up to the first end of the server."""
    for name, asked in EXPERIMENTS.items():
        create(server, name, ARMS, **asked)
        live(server, name, 0, DECISIONS)
    for name, asked in SILENT.items():
        create(server, name, ARMS, **asked)
        live_in_silence(server, name, "first")
    create(server, "empty", ARMS)
    create(server, "words", **{key: value for key, value in WORDS.items() if key != "name"})
    for number in range(12):
        id = f"visit {number} ü"
        decide(server, "words", id, metadata={"page": "ß", "n": number, "deep": {"list": [1, None, 0.5]}})
        if number % 2:
            body = {"reward": 0.25, "observed_at": "2024-02-29T23:59:60+01:00"}
            server.post(f"/v1/decisions/visit%20{number}%20%C3%BC/feedback", body)
    server.post(f"{at('words')}/decisions", {"id": "batch", "count": 5, "of": 20})
    bodies = [{"id": f"batch.{number}", "reward": number / 4} for number in range(4)] + [{"id": "none", "reward": 1}]
    server.post("/v1/feedback", {"feedback": bodies})
    assert server.post(f"{at('moved')}/history", history(notebook(UCB(confidence=1.0), 30)))[0] == 201
    assert server.post(f"{at('half-moved')}/history", halves(notebook(ThompsonSampling(), 30), 14)[0])[0] == 201


def second_life(server: Server) -> None:
    """What happens after that, behind the snapshots; then the server is killed."""
    for name in EXPERIMENTS:
        live(server, name, DECISIONS, THEN)
    for name in SILENT:
        live_in_silence(server, name, "second")
    server.post(f"{at('stopped')}/stop")
    body = server.get(at("finished"))
    for number in range(body["decisions"]):
        server.post(f"/v1/decisions/finished.{number}/feedback", {"reward": 1})  # refused where it has another one
    server.post(f"{at('finished')}/stop")
    create(server, "overdue", ARMS, policy={"name": "UCB"}, silence={"after": OVERDUE, "reward": 0})
    server.post(f"{at('overdue')}/decisions", {"id": "overdue", "count": 10})
    for number in (1, 4):
        server.post(f"/v1/decisions/overdue.{number}/feedback", {"reward": 1})
    assert server.get(at("overdue"))["pending"] == 8, "it took too long: once more"


# ---- what can be seen ----


SEEN_ALONE = ("ucb.0", "ucb.1", "ucb.17", "silent.3", "silent.4", "silent-short.first.2", "silent-short.first.5")
MORE_SEEN = ("silent-short.first.0", "moved.3", "moved.29", "visit%200%20%C3%BC", "visit%201%20%C3%BC", "batch.4")


def seen(server: Server) -> dict[str, Any]:
    """What a server tells of a journal, with its times; but for ``overdue``, in which something happens by itself."""
    found = server.get("/v1/experiments")
    experiments = [each for each in found["experiments"] if each["name"] != "overdue"]
    events = {}
    for name in (each["name"] for each in experiments):
        status, body = server.ask("GET", f"{at(name)}/events?limit=1000")
        assert status == 200
        events[name] = hashlib.sha256(body).hexdigest()[:16]
    curves = server.get(f"{at('finished')}/delays")
    return {
        "experiments": experiments,
        "damaged": found["damaged"],
        "decisions": {id: server.get(f"/v1/decisions/{id}") for id in (*SEEN_ALONE, *MORE_SEEN)},
        "events": events,
        "delays of finished": curves["curves"],
    }


# ---- how it goes on ----


def timeless(data: Any) -> Any:
    """Data without times."""
    if isinstance(data, dict):
        return {key: timeless(value) for key, value in data.items() if key not in TIMES}
    return [timeless(value) for value in data] if isinstance(data, list) else data


def go_on(server: Server, name: str) -> dict[str, Any]:
    """The next decisions of an experiment by a rule, with feedback, old and new; what was answered to each request."""
    before = server.get(at(name))
    graded = is_graded(name)
    log: list[Any] = []
    arms: list[str] = []

    def ask(what: str, path: str, body: Any = None) -> None:
        status, answer = server.post(path, body)
        log.append([what, status, answer["type"] if status >= 400 else ""])

    ask("resume", f"{at(name)}/resume")
    for number in range(NEXT):
        status, arm = decide(server, name, f"{name}.next.{number}")
        assert arm is not None, (name, status)
        arms.append(arm)
        late = number - 3
        if late >= 0 and late % 4:
            log.append(["feedback", tell(server, arms[late], late, f"{name}.next.{late}", graded)])
        if number == 7:  # an answer to a decision of before
            ask("old", f"/v1/decisions/{name}.33/feedback", {"reward": 1})
        if number == 9:
            ask("conflict", f"/v1/decisions/{name}.33/feedback", {"reward": 0})
        if number == 12:
            ask("cancel", f"/v1/decisions/{name}.next.12/cancel")
        if number == 13:
            ask("cancel an old one", f"/v1/decisions/{name}.30/cancel")
        if number == 15:
            ask("the same id", f"{at(name)}/decisions", {"id": f"{name}.next.15"})
            ask("an id in use", f"{at(name)}/decisions", {"id": f"{name}.next.15", "unit": "other"})
        if number == 18:
            ask("arm", f"{at(name)}/arms", {"arm": "last"})
    after = server.get(at(name))
    return {"before": timeless(before), "arms": arms, "log": log, "after": timeless(after)}


def go_on_in_silence(server: Server, name: str) -> dict[str, Any]:
    """The same where silence becomes an answer."""
    wait_for_silence(server, name)
    before = server.get(at(name))
    arms = live_in_silence(server, name, "third") + live_in_silence(server, name, "fourth")
    wait_for_silence(server, name)
    return {"before": timeless(before), "arms": arms, "after": timeless(server.get(at(name)))}


def through_clients(server: Server) -> dict[str, Any]:
    """The same with the clients of the package: decisions, answers, and a bandit that moves."""
    with Client(server.url, "ucb", key=server.key) as client:
        made = client.choose(6, id="monday")
        told = client.observe_many({decision.id: reward_of(n, n) for n, decision in enumerate(made[:4])})
        client.cancel(made[4].id)
        statuses = [client.decision(decision.id).status for decision in made]
        known = [[arm.arm, arm.pulls, arm.observed, arm.mean, arm.lower, arm.upper] for arm in client.summary()]
        numbers = [client.decisions, client.pending, list(client.arms)]
        bandit = client.move(notebook(UCB(confidence="theory", horizon=500), 25), "from-a-notebook")
        bandit.observe(24, 1.0)
        later = [decision.arm for decision in bandit.choose(10, id="later")]

    async def ask() -> list[str]:
        async with AsyncClient(server.url, "thompson", key=server.key) as client:
            return [(await client.choose(id=f"async-{number}")).arm for number in range(5)]

    arms = [decision.arm for decision in made]
    return {
        "arms": arms,
        "told": told,
        "statuses": statuses,
        "known": known,
        "numbers": numbers,
        "later": later,
        "asynchronous": asyncio.run(ask()),
    }


def gone_on(server: Server) -> dict[str, Any]:
    """Everything goes on."""
    found = {name: go_on(server, name) for name in (*EXPERIMENTS, "empty", "words", "moved")}
    for name in SILENT:
        found[name] = go_on_in_silence(server, name)
    wait_for_silence(server, "overdue")
    before, made = server.get(at("overdue")), server.post(f"{at('overdue')}/decisions", {"id": "then", "count": 20})[1]
    found["overdue"] = {"before": timeless(before), "arms": [each["arm"] for each in made["decisions"]]}
    status, _ = server.post(f"{at('half-moved')}/decisions", {"id": "too soon"})
    rest = halves(notebook(ThompsonSampling(), 30), 14)[1]
    moved = [status, server.post(f"{at('half-moved')}/history", rest)[0]]
    found["half-moved"] = {"moved": moved, **go_on(server, "half-moved")}
    found["clients"] = through_clients(server)
    return found


def seen_of_an_older_one(server: Server) -> dict[str, Any]:
    """What is seen of the journal with the tables of before, and how its first experiment goes on."""
    wait_for_silence(server, "silent")
    before = timeless(server.get("/v1/experiments"))
    made = server.post(f"{at('plain')}/decisions", {"id": "next", "count": 20})[1]["decisions"]
    return {"before": before, "arms": [each["arm"] for each in made]}


def as_text(data: Any) -> str:
    """Readable, and the same for the same data."""
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
