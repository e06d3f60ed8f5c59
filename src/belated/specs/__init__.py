"""Laws, problems, families and policies as plain data, and back: for manifests and for files.

A law is ``{"law": "Pareto", "alpha": 1.0}``, a policy ``{"policy": "UCB", "confidence": 1.0}``. In a problem, any
number may be ``{"uniform": [low, high]}``, drawn again for each run, and an arm may be ``"repeat"``-ed; ``{"best": 0.6,
"gap": 0.1, "arms": 10}`` is short for Bernoulli arms of which the first is best."""
