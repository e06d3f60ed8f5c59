"""The parts of a file that is right."""

from __future__ import annotations

from belated.rewards import Bernoulli

R = 'rewards = [{law = "Bernoulli", mean = 0.4}, {law = "Bernoulli", mean = 0.6}]'
D = 'delays = {law = "Fixed", rounds = 5}'
P = '[[policies]]\npolicy = "UCB"'
TEXT = f"horizon = 100\nruns = 3\n\n[problem]\n{R}\n{D}\n\n{P}\n"
TWO = [Bernoulli(0.4), Bernoulli(0.6)]
