"""Training steps and scoring beside PyTorch and JAX: the same work, in turns, on one machine.

    python -m venv peers && peers/bin/pip install torch jax optax numpy
    cargo build --release --example speed
    peers/bin/python experiments/peers.py                   # writes experiments/results/speed/peers-avx512.json, or what there is
    peers/bin/python experiments/peers.py --simd avx2       # everybody held to AVX2: peers-avx2.json
    peers/bin/python experiments/peers.py --rounds 1 --works W1 W2-200 --engines jax --out /tmp/some.json

Engines: `authors` multiplies nets of full width by masks, as the paper's code does; `torch` gives each net the half that it sees;
`compiled` is that under torch.compile; `jax` is that under jit. The works are those of `--example speed`, which documents them.
Medians of each round, then the median of the rounds. Run nothing else meanwhile: a shared machine changes speed from minute to minute.
"""
import argparse, functools, json, math, os, pathlib, statistics, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
WORKS = ["W1", "W2-200", "W2-2000", "W3", "W4a", "W4b"]
TABLE = dict(dim=21, hidden=256, classes=2)
TEXT = dict(dim=768, hidden=512, classes=4)
TRAINING = {"W1": dict(rows=2000, **TABLE), "W2-200": dict(rows=200, **TEXT), "W2-2000": dict(rows=2000, **TEXT)}
SCORING = {"W4a": dict(rows=100_000, **TABLE), "W4b": dict(rows=20_000, **TEXT)}
DEPTH, BATCH, THREADS = 7, 2000, 2
NAMES = {
    "W1": "training step, 2,000 rows of 21 columns",
    "W2-200": "training step, 200 rows of 768 columns",
    "W2-2000": "training step, 2,000 rows of 768 columns",
    "W3": "residual convolutions, forward and backward",
    "W4a": "scoring 100,000 rows of 21 columns",
    "W4b": "scoring 20,000 rows of 768 columns",
}
# What holds each engine to AVX2.
AVX2 = {
    "FLOWGMM_SIMD": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
}


def timed(step, warm, iterations):
    for _ in range(warm):
        step()
    times, began = [], time.perf_counter()
    while len(times) < iterations and (len(times) < 5 or time.perf_counter() - began < 30):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def kept(dim, layer):
    """Columns that a coupling keeps, and those that it changes."""
    return list(range(layer % 2, dim, 2)), list(range(1 - layer % 2, dim, 2))


def by_torch(engine, work, iterations):
    import torch
    from torch import nn

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    if work == "W3":
        return min(torch_residual(layout, iterations) for layout in (torch.contiguous_format, torch.channels_last))
    shape = TRAINING.get(work) or SCORING[work]
    dim, hidden, classes = shape["dim"], shape["hidden"], shape["classes"]

    class Flow(nn.Module):
        def __init__(self):
            super().__init__()
            self.nets, self.gains = nn.ModuleList(), nn.ParameterList()
            self.register_buffer("means", torch.randn(classes, dim))
            for layer in range(DEPTH):
                keep, change = kept(dim, layer)
                width = (dim, dim) if engine == "authors" else (len(keep), len(change))
                self.nets.append(nn.Sequential(nn.Linear(width[0], hidden), nn.ReLU(), nn.Linear(hidden, 2 * width[1])))
                self.gains.append(nn.Parameter(torch.full((width[1],), 0.5)))
                mask = torch.zeros(dim)
                mask[keep] = 1
                self.register_buffer(f"mask{layer}", mask)
                self.register_buffer(f"keep{layer}", torch.tensor(keep))
                self.register_buffer(f"change{layer}", torch.tensor(change))
                self.register_buffer(f"back{layer}", torch.tensor(keep + change).argsort())

        def log_joint(self, x):
            log_det = x.new_zeros(len(x))
            for layer, (net, gain) in enumerate(zip(self.nets, self.gains)):
                at = functools.partial(lambda name, layer: getattr(self, f"{name}{layer}"), layer=layer)
                if engine == "authors":
                    raw, shift = net(x * at("mask")).chunk(2, 1)
                    log_scale = gain * raw.tanh() * (1 - at("mask"))
                    x = x * at("mask") + (1 - at("mask")) * (x * log_scale.exp() + shift)
                else:
                    same, other = x[:, at("keep")], x[:, at("change")]
                    raw, shift = net(same).chunk(2, 1)
                    log_scale = gain * raw.tanh()
                    x = torch.cat([same, other * log_scale.exp() + shift], 1)[:, at("back")]
                log_det = log_det + log_scale.sum(1)
            distances = (x * x).sum(1, True) - 2 * x @ self.means.T + (self.means * self.means).sum(1)
            return log_det[:, None] - 0.5 * distances - 0.5 * dim * math.log(2 * math.pi) - math.log(classes)

        def forward(self, x):
            return -self.log_joint(x).logsumexp(1).mean()

    flow, x = Flow(), torch.randn(shape["rows"], dim)
    if work in SCORING:
        flow.eval()
        log_joint = torch.compile(flow.log_joint) if engine == "compiled" else flow.log_joint

        def score():
            with torch.inference_mode():
                for batch in x.split(BATCH):
                    joint = log_joint(batch)
                    joint.softmax(1), joint.logsumexp(1)

        return timed(score, 1, iterations)
    adam = torch.optim.Adam(flow.parameters(), lr=1e-3)
    loss = torch.compile(flow) if engine == "compiled" else flow

    def step():
        adam.zero_grad(set_to_none=True)
        loss(x).backward()
        adam.step()

    return timed(step, 4, iterations)


def torch_residual(layout, iterations):
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            half = lambda: (nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1, bias=False))
            self.body = nn.Sequential(*half(), *half())

        def forward(self, x):
            return x + self.body(x)

    blocks = nn.Sequential(*(Block() for _ in range(4))).to(memory_format=layout)
    x = torch.randn(32, 64, 28, 28).to(memory_format=layout).requires_grad_()

    def step():
        blocks.zero_grad(set_to_none=True)
        x.grad = None
        blocks(x).sum().backward()

    return timed(step, 2, iterations)


def by_jax(work, iterations):
    import jax, optax
    import jax.numpy as jnp

    shape = TRAINING.get(work) or SCORING[work]
    dim, hidden, classes = shape["dim"], shape["hidden"], shape["classes"]
    keys = iter(jax.random.split(jax.random.key(0), 4 * DEPTH + 2))

    def linear(n_in, n_out):
        uniform = functools.partial(jax.random.uniform, minval=-(n_in**-0.5), maxval=n_in**-0.5)
        return {"w": uniform(next(keys), (n_in, n_out)), "b": uniform(next(keys), (n_out,))}

    halves = [kept(dim, layer) for layer in range(DEPTH)]
    back = [sorted(range(dim), key=(keep + change).__getitem__) for keep, change in halves]
    nets = [{"in": linear(len(keep), hidden), "out": linear(hidden, 2 * len(change)), "gain": jnp.full(len(change), 0.5)}
            for keep, change in halves]
    means, x = jax.random.normal(next(keys), (classes, dim)), jax.random.normal(next(keys), (shape["rows"], dim))

    def log_joint(nets, x):
        log_det = jnp.zeros(len(x))
        for net, (keep, change), order in zip(nets, halves, back):
            h = jax.nn.relu(x[:, jnp.array(keep)] @ net["in"]["w"] + net["in"]["b"])
            raw, shift = jnp.split(h @ net["out"]["w"] + net["out"]["b"], 2, axis=1)
            log_scale = net["gain"] * jnp.tanh(raw)
            moved = x[:, jnp.array(change)] * jnp.exp(log_scale) + shift
            x = jnp.concatenate([x[:, jnp.array(keep)], moved], 1)[:, jnp.array(order)]
            log_det += log_scale.sum(1)
        distances = (x * x).sum(1, keepdims=True) - 2 * x @ means.T + (means * means).sum(1)
        return log_det[:, None] - 0.5 * distances - 0.5 * dim * math.log(2 * math.pi) - math.log(classes)

    if work in SCORING:
        def outcome(nets, x):
            joint = log_joint(nets, x)
            return jax.nn.softmax(joint, axis=1), jax.nn.logsumexp(joint, axis=1)

        outcome = jax.jit(outcome)
        return timed(lambda: [jax.block_until_ready(outcome(nets, x[i : i + BATCH])) for i in range(0, len(x), BATCH)], 1, iterations)
    adam = optax.adam(1e-3)

    @jax.jit
    def update(nets, state):
        gradients = jax.grad(lambda nets: -jax.nn.logsumexp(log_joint(nets, x), axis=1).mean())(nets)
        changes, state = adam.update(gradients, state, nets)
        return optax.apply_updates(nets, changes), state

    held = [nets, adam.init(nets)]

    def step():
        held[:] = jax.block_until_ready(update(*held))

    return timed(step, 4, iterations)


def one(engine, works, iterations):
    """In a process of its own: one engine's times, a line of JSON for each work."""
    for work in works:
        if engine == "jax" and work == "W3":
            continue
        ms = by_jax(work, iterations) if engine == "jax" else by_torch(engine, work, iterations)
        print(json.dumps({"work": work, "ms": ms}), flush=True)


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines() if pathlib.Path("/proc/cpuinfo").exists() else []
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    keys = ("model name", "cpu family", "model")
    return ", ".join(f"{key.strip()} {value.strip()}" for key, value in ((k, v) for k, v in found.items() if k.strip() in keys))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ours", default=str(HERE.parent / "target/release/examples/speed"), help="the built example")
    arguments.add_argument("--engines", nargs="+", default=["authors", "torch", "compiled", "jax"])
    arguments.add_argument("--works", nargs="+", default=WORKS, choices=WORKS)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--iterations", type=int, default=15)
    arguments.add_argument("--simd", choices=["avx512", "avx2"], default="avx512")
    arguments.add_argument("--seconds", type=float, default=600, help="of one engine in one round, at most")
    arguments.add_argument("--out", type=pathlib.Path)
    arguments.add_argument("--one", help=argparse.SUPPRESS)
    arguments = arguments.parse_args()
    if arguments.one:
        return one(arguments.one, arguments.works, arguments.iterations)
    environment = {**os.environ, "ITERS": str(arguments.iterations), "THREADS": str(THREADS), "OMP_NUM_THREADS": str(THREADS)}
    environment.update(AVX2 if arguments.simd == "avx2" else {})
    times = {work: {engine: [] for engine in ["ours", *arguments.engines]} for work in arguments.works}
    failed, peaks = {}, []
    for _ in range(arguments.rounds):
        for engine in ["ours", *arguments.engines]:
            own = [arguments.ours, *arguments.works, "peak"]
            other = [sys.executable, __file__, "--one", engine, "--iterations", str(arguments.iterations), "--works", *arguments.works]
            try:
                done = subprocess.run(own if engine == "ours" else other, env=environment, capture_output=True, text=True,
                                      timeout=arguments.seconds)
                said, status = done.stdout, done.returncode
                if status:
                    failed[engine] = (done.stderr.strip().splitlines() or [f"ended with {status}"])[-1][:200]
            except subprocess.TimeoutExpired as late:
                said = (late.stdout or b"").decode()
                failed[engine] = f"not done after {arguments.seconds:.0f} seconds"
            for line in filter(lambda line: line.startswith("{"), said.splitlines()):
                found = json.loads(line)
                if found["work"] == "peak":
                    peaks.append(0.01 / found["ms"])  # TFLOP in a millisecond
                else:
                    times[found["work"]][engine].append(found["ms"])
    rows = []
    for work, found in times.items():
        if not found["ours"]:
            continue
        ours = statistics.median(found["ours"])
        row = {"work": NAMES[work], "ms": round(ours, 1)}
        row.update({e: round(statistics.median(found[e]) / ours, 2) if found[e] else None for e in arguments.engines})
        rows.append({**row, "rounds": {engine: [round(ms, 1) for ms in all] for engine, all in found.items()}})
        print(json.dumps(row))
    out = arguments.out or HERE / f"results/speed/peers-{arguments.simd}.json"
    result = {"made_by": f"experiments/peers.py --simd {arguments.simd} --rounds {arguments.rounds}", "cores": os.cpu_count(),
              "processor": processor(), "what": "milliseconds of flowgmm; how many times longer the peers take", "rows": rows}
    if peaks:
        # Of 20,000 rows of 768 columns: two products of 384 x 512 and 512 x 768 in each of seven couplings.
        gflop, rate = 2e-9 * 20_000 * DEPTH * (384 * 512 + 512 * 768), 1e6 * statistics.median(peaks)
        result["peak"] = {"gflop": round(gflop, 1), "gflop_per_second": round(rate), "ms": round(1e3 * gflop / rate)}
    if failed:
        result["failed"] = failed
    out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
