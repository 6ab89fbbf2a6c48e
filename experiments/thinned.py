"""What a limit of memory costs: fits to all of 200,000 rows, and to the part of them that a smaller limit allows.

    python experiments/thinned.py --flowgmm target/release/flowgmm --data DIRECTORY

The rows are of covtype (7 classes, 54 columns), 50 labels of each class; three draws, each with its own seed. Accuracy is on 20,000 other
rows. Results are kept in experiments/results/scaling/thinned.json; what is there already is not run again.
"""

import argparse
import gzip
import json
import os
import platform
import random
import re
import subprocess
import tempfile
import time

ROWS, TEST, PER_CLASS = 200_000, 20_000, 50
LIMITS = ["8G", "200M"]
DRAWS = [2000, 2001, 2002]


def tables(data: str, draw: int, folder: str) -> tuple[str, str]:
    """Writes the rows to learn from and the rows to test on."""
    with gzip.open(os.path.join(data, "tabular", "covtype.data.gz"), "rt") as file:
        lines = file.read().split()
    rng = random.Random(draw)
    rng.shuffle(lines)
    train, test = lines[:ROWS], lines[ROWS : ROWS + TEST]
    left: dict[str, int] = {}
    n_columns = train[0].count(",")
    header = ",".join([f"x{i}" for i in range(n_columns)] + ["class"]) + "\n"
    names = [os.path.join(folder, name) for name in ("train.csv", "test.csv")]
    with open(names[0], "w") as out:
        out.write(header)
        for line in train:
            cells, label = line.rsplit(",", 1)
            left[label] = left.get(label, 0) + 1
            out.write(f"{cells},{label if left[label] <= PER_CLASS else ''}\n")
    with open(names[1], "w") as out:
        out.write(header + "\n".join(test) + "\n")
    return names[0], names[1]


def fit(program: str, train: str, test: str, limit: str, seed: int, folder: str) -> dict:
    """One fit and its accuracy, seconds, peak memory and rows."""
    model = os.path.join(folder, "model.flow")
    command = [program, "fit", train, "--label", "class", "--model", model, "--memory", limit, "--seed", str(seed), "-f", "-v"]
    began = time.perf_counter()
    done = subprocess.run(["/usr/bin/env", "time", "-f", "peak %M", *command], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    peak = int(re.search(r"peak (\d+)", done.stderr).group(1)) / 1000
    evaluated = subprocess.run([program, "evaluate", model, test, "--label", "class", "--json"], capture_output=True, text=True, check=True)
    scores = json.loads(evaluated.stdout)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "memory" in line.lower() or line.startswith("rows ")]
    kept = {name: scores[name] for name in ("accuracy", "balanced_accuracy", "nll", "ece")}
    return {"limit": limit, "seed": seed, "seconds": round(seconds, 1), "peak_mb": round(peak), "scores": kept, "said": said}


def write(results: dict, out: str) -> None:
    """Writes the fits, and means over draws for each limit."""
    results["means"] = {}
    for limit in LIMITS:
        fits = [found for found in results["fits"] if found["limit"] == limit]
        if fits:
            mean = lambda key: sum(key(found) for found in fits) / len(fits)
            results["means"][limit] = {"percent": 100 * mean(lambda found: found["scores"]["accuracy"]), "mb": mean(lambda found: found["peak_mb"])}
    with open(out, "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flowgmm", default="target/release/flowgmm")
    parser.add_argument("--data", default=os.environ.get("FLOWGMM_DATA", "../shared/data"))
    parser.add_argument("--out", default="experiments/results/scaling/thinned.json")
    arguments = parser.parse_args()
    results = {"rows": ROWS, "test": TEST, "labels_per_class": PER_CLASS, "processor": platform.processor(), "fits": []}
    if os.path.exists(arguments.out):
        with open(arguments.out) as file:
            results = json.load(file)
    done = {(fit["limit"], fit["seed"]) for fit in results["fits"]}
    for draw in DRAWS:
        with tempfile.TemporaryDirectory() as folder:
            missing = [limit for limit in LIMITS if (limit, draw) not in done]
            if not missing:
                continue
            train, test = tables(arguments.data, draw, folder)
            for limit in missing:
                found = fit(arguments.flowgmm, train, test, limit, draw, folder)
                results["fits"].append(found)
                print(found["limit"], found["seed"], found["scores"].get("accuracy"), f"{found['seconds']} s", f"{found['peak_mb']} MB")
                write(results, arguments.out)
    write(results, arguments.out)


if __name__ == "__main__":
    main()
