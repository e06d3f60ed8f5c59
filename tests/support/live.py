"""Random histories of a live policy."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from belated.live.learner import Learner

Log = dict[int, tuple[int, float | None]]
"""Of each decision for an arm its rank and its reward, None while that is pending."""
REWARDS = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))


def lived(learner: Learner, data: st.DataObject) -> Iterator[list[Log]]:
    """A random history, as of a service, which takes pulls back and replaces answers, also of arms that are out, and
    adds arms: after each step the log of each arm."""
    logs: list[Log] = [{} for _ in range(learner.arms)]
    for _ in range(data.draw(st.integers(1, 60))):
        known = [(arm, number) for arm, log in enumerate(logs) for number in log]
        step = data.draw(st.sampled_from(["decide", "decide", "answer", "take back", "replace", "new arm"]))
        if step == "new arm" and learner.supports_new_arms and learner.arms < 5:
            learner.add_arm()
            logs.append({})
        elif step == "decide" or not known:
            for _ in range(data.draw(st.integers(1, 4))):
                arm, rank = learner.decide()
                assert rank == len(logs[arm])
                logs[arm][learner.decisions - 1] = (rank, None)
        else:
            arm, number = data.draw(st.sampled_from(known))
            rank, before = logs[arm][number]
            if step == "take back":
                learner.retract(arm, rank, number, before)
                del logs[arm][number]
            elif before is None:
                reward = data.draw(REWARDS)
                learner.observe(arm, reward, rank, number)
                logs[arm][number] = (rank, reward)
            else:
                reward = data.draw(REWARDS)
                learner.replace_reward(arm, rank, number, before, reward)
                logs[arm][number] = (rank, reward)
        yield logs
