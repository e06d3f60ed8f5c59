import time
from belated import simulate
from belated.arena import entrants, play, rows

E = entrants()
for n in range(3):
    t = time.perf_counter()
    s = play(rows(), E, device="cuda", runs=60 if n < 2 else None)
    print("play", n, round(time.perf_counter() - t, 1), int(s.runs.sum()), flush=True)
for name in ("fixed-200", "fixed-200-hundred-arms", "low-means", "bias-5000"):
    r = rows([name])[0]
    for p in E:
        t = time.perf_counter()
        simulate(r.problem, [p], horizon=r.horizon, runs=60, device="cuda", progress=False, checkpoints=1)
        print(name, p.describe(), round(time.perf_counter() - t, 2), flush=True)
