"""Load: `flowgmm serve` beside FastAPI with a scikit-learn logistic regression of the same table.

    pip install fastapi uvicorn scikit-learn numpy
    python experiments/serve_load.py --binary target/release/flowgmm            # writes experiments/results/serve/load.json
    python experiments/serve_load.py --binary target/release/flowgmm --soak 30  # minutes; writes soak.json
    nice -n 19 python experiments/serve_load.py --binary target/release/flowgmm --soak 30 --rate 200   # beside other work

Both get the same JSON of the Open Inference Protocol from the same generator, `wrk` (Debian's package wrk; --wrk names another),
on the same machine, one after the other, with as many workers as there are cores. Figures of a busy machine say so: --note.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

COLUMNS = 10
RESULTS = Path(__file__).parent / "results" / "serve"

PEER = '''
import csv
import numpy as np
from fastapi import FastAPI, Request
from sklearn.linear_model import LogisticRegression

rows = list(csv.DictReader(open("table.csv")))
names = [name for name in rows[0] if name != "kind"]
known = [row for row in rows if row["kind"]]
model = LogisticRegression(max_iter=1000).fit(
    [[float(row[name]) for name in names] for row in known], [row["kind"] for row in known])
app = FastAPI()

@app.post("/v2/models/table/infer")
async def infer(request: Request):
    body = await request.json()
    by_name = {tensor["name"]: tensor["data"] for tensor in body["inputs"]}
    p = model.predict_proba(np.column_stack([by_name[name] for name in names]))
    classes = model.classes_[p.argmax(1)]
    return {"model_name": "table", "outputs": [
        {"name": "class", "datatype": "BYTES", "shape": [len(p)], "data": classes.tolist()},
        {"name": "probabilities", "datatype": "FP64", "shape": list(p.shape), "data": p.ravel().tolist()}]}
'''


def table(rows: int, seed: int) -> str:
    """Two classes in ten columns, one row in twenty labelled."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, COLUMNS)) + kind[:, None] * np.linspace(0, 1.5, COLUMNS)
    head = ",".join([f"x{j + 1}" for j in range(COLUMNS)] + ["kind"])
    lines = [",".join([f"{v:.4f}" for v in row] + [("a", "b")[k] if i % 20 == 0 else ""])
             for i, (row, k) in enumerate(zip(x, kind))]
    return "\n".join([head, *lines]) + "\n"


def request(rows: int) -> str:
    rng = np.random.default_rng(rows)
    tensors = [{"name": f"x{j + 1}", "datatype": "FP64", "shape": [rows], "data": rng.normal(size=rows).round(4).tolist()}
               for j in range(COLUMNS)]
    return json.dumps({"inputs": tensors, "outputs": [{"name": "class"}, {"name": "probabilities"}]})


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait(port: int, body: str) -> None:
    for _ in range(300):
        try:
            url = f"http://127.0.0.1:{port}/v2/models/table/infer"
            asked = urllib.request.Request(url, body.encode(), {"content-type": "application/json"})
            urllib.request.urlopen(asked, timeout=5).read()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"nothing answers at port {port}")


def measure(wrk: str, port: int, script: Path, connections: int, seconds: int) -> dict[str, float]:
    threads = min(2, connections)
    command = [wrk, f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "30s", "-s", str(script),
               f"http://127.0.0.1:{port}/v2/models/table/infer"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Requests/sec:\s+([\d.]+)", text)
    percentiles = {p: re.search(rf"\s{p}%\s+([\d.]+)(us|ms|s|m)\b", text) for p in (50, 99)}
    scale = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
    errors = sum(int(n) for n in re.findall(r"(?:Non-2xx or 3xx responses: |read |write |timeout |connect )(\d+)", text))
    if not found or not all(percentiles.values()):
        sys.exit(f"wrk said what this script does not understand:\n{text}")
    return {"requests_per_second": float(found[1]), "errors": errors,
            **{f"p{p}_ms": float(m[1]) * scale[m[2]] for p, m in percentiles.items() if m}}


def memory(pid: int) -> float:
    """Resident memory of a process and its children, MB."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if int(status.parent.name) == pid or re.search(rf"^PPid:\s+{pid}$", text, re.M):
            found = re.search(r"^VmRSS:\s+(\d+) kB", text, re.M)
            total += int(found[1]) if found else 0
    return total / 1024


def lua(folder: Path, rows: int, connections: int, rate: float | None = None) -> Path:
    """A script of wrk: requests of so many rows, at most `rate` a second over all connections."""
    body, script = folder / f"body-{rows}.json", folder / f"load-{rows}-{connections}.lua"
    body.write_text(request(rows))
    # Connections that wait at random, so that their requests do not come all at once.
    wait = "" if rate is None else f"function delay() return math.random(0, {round(2000 * connections / rate)}) end\n"
    script.write_text(f'wrk.method = "POST"\nwrk.headers["content-type"] = "application/json"\n'
                      f'wrk.body = io.open("{body}"):read("*a")\n{wait}')
    return script


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, type=Path)
    parser.add_argument("--wrk", default="wrk")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--soak", type=float, help="minutes of load on flowgmm alone, memory measured")
    parser.add_argument("--rate", type=float, help="requests a second of the soak, at most; of 1,000 rows a twentieth of it")
    parser.add_argument("--note", default="", help="what a reader should know, such as a busy machine")
    args = parser.parse_args()
    args.binary = args.binary.resolve()
    cores = os.cpu_count() or 1
    RESULTS.mkdir(parents=True, exist_ok=True)
    about = {"note": args.note, "cores": cores, "machine": platform.processor() or platform.machine(),
             "columns": COLUMNS, "seconds": args.seconds, "version": subprocess.run(
                 [args.binary, "--version"], capture_output=True, text=True).stdout.splitlines()[0]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table.csv").write_text(table(4000, 1))
        (folder / "peer.py").write_text(PEER)
        subprocess.run([args.binary, "fit", "table.csv", "--label", "kind", "--model", "table.flow", "--quiet"],
                       cwd=folder, check=True, capture_output=True)
        ports = {"flowgmm": free_port(), "fastapi": free_port()}
        commands = {
            "flowgmm": [args.binary, "serve", "table.flow", "--no-open", "--port", str(ports["flowgmm"])],
            "fastapi": [sys.executable, "-m", "uvicorn", "peer:app", "--port", str(ports["fastapi"]), "--workers", str(cores),
                        "--log-level", "warning"],
        }
        if args.soak:
            samples = []
            with subprocess.Popen(commands["flowgmm"], cwd=folder, stdout=subprocess.DEVNULL) as process:
                wait(ports["flowgmm"], request(1))
                until = time.time() + 60 * args.soak
                while time.time() < until:
                    for rows, connections in ((1, 16), (1000, 16), (1, 256)):
                        rate = args.rate and (args.rate if rows == 1 else args.rate / 20)
                        script = lua(folder, rows, connections, rate)
                        found = measure(args.wrk, ports["flowgmm"], script, connections, args.seconds)
                        samples.append({"seconds": round(time.time() - until + 60 * args.soak), "mb": memory(process.pid),
                                        "rows": rows, "connections": connections, **found})
                        print(samples[-1], flush=True)
                process.terminate()
            (RESULTS / "soak.json").write_text(json.dumps({**about, "most_requests_per_second": args.rate, "samples": samples}, indent=1) + "\n")
            return
        runs = []
        for server, command in commands.items():
            with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
                wait(ports[server], request(1))
                for rows in (1, 1000):
                    for connections in (1, 16, 256):
                        found = measure(args.wrk, ports[server], lua(folder, rows, connections), connections, args.seconds)
                        runs.append({"server": server, "rows": rows, "connections": connections, **found,
                                     "mb": memory(process.pid)})
                        print(runs[-1], flush=True)
                process.terminate()
        (RESULTS / "load.json").write_text(json.dumps({**about, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
