"""`flowgmm fit --preset paper-toy` on the moons and circles of the authors' notebooks: test accuracy by eq. 4 alone, seed by seed.

    python experiments/paper_toys.py --flowgmm target/release/flowgmm --out experiments/results/paper/toys-fit.jsonl

Points are scikit-learn's (even, noise 0.05, circles with factor 0.4, class 0 is the upper moon and the outer circle), 1,000 of them,
with labels at the places of the notebooks; 2,000 test points have random angles. A seed decides noise, test points and the fit. No
setting was chosen on these seeds. A result is written as soon as it is known, and what is known is not run again. Needs numpy.

Settings are tried on other seeds (results/paper/toys-trials.jsonl), as TOML of what differs from the preset:

    python experiments/paper_toys.py --out experiments/results/paper/toys-trials.jsonl --toys circles --first 100 --seeds 6 \\
        --settings "architecture.sigma = 1.3132616875182228"
"""
import argparse, json, pathlib, subprocess, tempfile
import numpy as np

# Degrees of the labelled points in the notebooks, class 0 then class 1.
PLACES = {
    "moons": [[10, 63, 83, 107, 179], [19, 62, 129, 170, 178]],
    "circles": [[19, 55, 126, 166, 215, 294, 357], [38, 124, 258, 355]],
}


def points(toy, rng, n, even):
    """Rows, classes and angles."""
    turn, half = (np.pi, n // 2) if toy == "moons" else (2 * np.pi, n // 2)
    one = np.linspace(0, turn, half, endpoint=toy == "moons")
    t = np.append(one, one) if even else rng.uniform(0, turn, n)
    y = np.repeat([0, 1], half)
    first = np.c_[np.cos(t), np.sin(t)]
    second = np.c_[1 - np.cos(t), 0.5 - np.sin(t)] if toy == "moons" else 0.4 * first
    return np.where(y[:, None] == 0, first, second) + rng.normal(scale=0.05, size=(n, 2)), y, t


def write(path, x, labels):
    lines = [f"{a},{b},{label}" for (a, b), label in zip(x, labels)]
    path.write_text("\n".join(["x1,x2,class", *lines]) + "\n")


def problem(toy, seed, folder):
    rng = np.random.RandomState(seed)
    x, y, t = points(toy, rng, 1000, even=True)
    labels = [""] * len(y)
    for k, places in enumerate(PLACES[toy]):
        rows = np.flatnonzero(y == k)
        for place in places:
            apart = np.abs((np.degrees(t[rows]) - place + 180) % 360 - 180)
            labels[rows[np.argmin(apart)]] = k
    write(folder / "train.csv", x, labels)
    x, y, _ = points(toy, rng, 2000, even=False)
    write(folder / "test.csv", x, y)


def accuracy(flowgmm, toy, seed, settings):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        problem(toy, seed, folder)
        command = [flowgmm, "fit", folder / "train.csv", "--label", "class", "--test", folder / "test.csv", "--preset", "paper-toy"]
        command += ["--seed", str(seed), "--model", folder / "model.flow", "--threads", "1", "--json", "--quiet"]
        if settings:
            (folder / "settings.toml").write_text(settings + "\n")
            command += ["--config", folder / "settings.toml"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["test"]["accuracy"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--flowgmm", default="flowgmm")
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--toys", nargs="+", choices=list(PLACES), default=list(PLACES))
    arguments.add_argument("--settings", default="", help="TOML of settings that differ from the preset's")
    arguments.add_argument("--first", type=int, default=7000)
    arguments.add_argument("--seeds", type=int, default=5)
    arguments = arguments.parse_args()
    for toy in arguments.toys:
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            known = [json.loads(line) for line in arguments.out.read_text().splitlines()] if arguments.out.exists() else []
            if any((run["toy"], run["seed"], run.get("settings", "")) == (toy, seed, arguments.settings) for run in known):
                continue
            found = {"toy": toy, "seed": seed, "accuracy": accuracy(arguments.flowgmm, toy, seed, arguments.settings)}
            if arguments.settings:
                found["settings"] = arguments.settings
            with arguments.out.open("a") as out:
                out.write(json.dumps(found) + "\n")
    known = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    for toy, settings in sorted({(run["toy"], run.get("settings", "")) for run in known}):
        values = [run["accuracy"] for run in known if (run["toy"], run.get("settings", "")) == (toy, settings)]
        print(f"{toy} {settings}: {100 * np.mean(values):.2f} % mean of {len(values)} seeds: {values}")


if __name__ == "__main__":
    main()
