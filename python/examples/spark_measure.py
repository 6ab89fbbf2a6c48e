"""Measures flowgmm on Spark: cost per step, fits on 1, 2 and 4 workers, a killed executor, scoring of millions of rows.

    python spark_measure.py steps   RESULTS                       # processor time of steps by parameters, rows and shards
    python spark_measure.py reductions RESULTS                    # all-reduces by numbers and workers; wants an idle machine
    python spark_measure.py covtype RESULTS covtype.data.gz       # equal digests, accuracy, time and memory per worker
    python spark_measure.py killed  RESULTS covtype.data.gz       # an executor is killed in mid-fit
    python spark_measure.py scoring RESULTS --rows 1000000 10000000   # CPU beside `flowgmm predict`, memory of executors

Every command writes one JSON file into the directory RESULTS. Executors are processes of their own (local-cluster mode) on this machine,
with a core each: with more executors than cores they share them, and times say little of a real cluster.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pyspark
from pyspark.sql import SparkSession

from flowgmm import FlowGMMClassifier
from flowgmm.spark import FlowGMMClassifier as SparkClassifier
from flowgmm.spark import FlowGMMClassifierModel
from flowgmm.spark._scoring import Scoring

warnings.simplefilter("ignore")


#: What an executor with its Python worker needs to stay below 1 GB, and to start quickly: a small heap, and a collector without
#: threads of its own.
SMALL = {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -Xms128m"}


def session(executors: int) -> SparkSession:
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,612]").appName("flowgmm measurements")
    settings = {
        **SMALL,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",
        "spark.network.timeout": "1800s",  # machines that are measured may be busy
        "spark.sql.parquet.compression.codec": "uncompressed",  # Spark's Snappy does not load on every machine
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "spark": pyspark.__version__,
        "mode": "local-cluster, one core for each executor",
        "settings": SMALL,
    }


def processes(application: str) -> dict[int, list[int]]:
    """The executors of an application, and the processes below each."""
    parents: dict[int, int] = {}
    found: dict[int, list[int]] = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            parents[int(process.name)] = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command and application in command:
            found[int(process.name)] = []
    for process, parent in parents.items():
        while parent in parents and parent not in found:
            parent = parents[parent]
        if parent in found:
            found[parent].append(process)
    return found


def cpu(application: str) -> dict[tuple[int, int], float]:
    """Seconds that each executor and each process below one has computed; processes by number and start."""
    found = {}
    for executor, below in processes(application).items():
        for process in [executor, *below]:
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            found[process, int(fields[19])] = sum(int(field) for field in fields[11:13]) / os.sysconf("SC_CLK_TCK")
    return found


def held(process: int) -> int:
    """The bytes that a process holds; of what it shares with others, its part."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


class Watch:
    """What work costs: seconds by the clock, processor seconds of executors and the processes below them, and the most bytes that one
    executor held at once together with those.
    """

    def __init__(self, application: str) -> None:
        self.application, self.over = application, threading.Event()
        self.found: dict[str, float] = {"largest_executor_bytes": 0}

    def __enter__(self) -> Watch:
        self.began, self.start = time.monotonic(), cpu(self.application)
        self.last = dict(self.start)
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.found["seconds"] = time.monotonic() - self.began
        self.over.set()
        self.thread.join()
        self.last.update(cpu(self.application))
        self.found["cpu_seconds"] = sum(seconds - self.start.get(process, 0.0) for process, seconds in self.last.items())

    def _look(self) -> None:
        while not self.over.wait(1.0):
            self.last.update(cpu(self.application))  # of a process that ends, all but the last second
            for executor, below in processes(self.application).items():
                together = sum(map(held, [executor, *below]))
                self.found["largest_executor_bytes"] = max(self.found["largest_executor_bytes"], together)


def covtype(path: str, directory: str) -> pandas.DataFrame:
    """Forest cover types, 50 labels of each class; also as Parquet in several files."""
    names = [f"x{j}" for j in range(54)]
    frame = pandas.read_csv(path, header=None, names=[*names, "truth"])
    generator = np.random.default_rng(0)
    chosen = np.concatenate([generator.choice(np.flatnonzero(frame["truth"] == k), 50, replace=False) for k in range(1, 8)])
    frame["y"] = np.where(np.isin(np.arange(len(frame)), chosen), frame["truth"].astype(float), np.nan)
    frame[names] = frame[names].astype(float)
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), 8)):
        frame.iloc[rows].to_parquet(Path(directory) / f"part-{part}.parquet", index=False, compression=None)
    return frame


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {"preset": arguments.preset, "steps": arguments.steps, "shards": arguments.shards, "sample_rows": arguments.sample}


def steps(history: list[dict[str, Any]]) -> int:
    """The steps of a fit, which the recipe chooses where nobody asks for a number."""
    return int(history[-1]["step"])


def spark_classifier(arguments: argparse.Namespace, **more: Any) -> SparkClassifier:
    names = [f"x{j}" for j in range(54)]
    return SparkClassifier(features_col=names, label_col="y", **settings(arguments), **more)


def measure_covtype(arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"machine": machine(), "settings": settings(arguments), "rows": 0, "fits": []}
    with tempfile.TemporaryDirectory() as directory:
        frame = covtype(arguments.data, directory)
        found["rows"] = len(frame)
        spark = session(max(arguments.workers))
        rows = spark.read.parquet(directory).selectExpr("* except (y)", "nanvl(y, null) as y")
        application = spark.sparkContext.applicationId
        spark.range(1000).repartition(max(arguments.workers)).count()  # executors are there
        for workers in arguments.workers:
            with Watch(application) as watch:
                model = spark_classifier(arguments, num_workers=workers).fit(rows)
            fit = {"workers": workers, **watch.found, "digest": model.digest(), "held": model.workers}
            print(fit, flush=True)
            found["steps"] = steps(model.history)
            found["fits"].append(fit)
            save(found, arguments)
        scored = model.transform(rows).selectExpr("avg(cast(prediction = truth as double)) as accuracy").first()
        found["accuracy"] = scored["accuracy"]
        save(found, arguments)
        spark.stop()
        names = [f"x{j}" for j in range(54)]
        shards = {"train.shards": arguments.shards, "sample": arguments.sample}
        own = {"preset": arguments.preset, "steps": arguments.steps, "verbose": 0}
        began, start = time.monotonic(), time.process_time()
        alone = FlowGMMClassifier(settings=shards, **own).fit(frame[names], frame["y"])
        took = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - start}
        digest = hashlib.sha256(alone.model_.to_bytes()).hexdigest()
        equal = all(fit["digest"] == digest for fit in found["fits"])
        found["one_machine"] = {**took, "digest": digest, "equal": equal, "accuracy": alone.score(frame[names], frame["truth"])}
        save(found, arguments)
        began, start = time.monotonic(), time.process_time()
        plain = FlowGMMClassifier(**own).fit(frame[names], frame["y"])
        took = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - start}
        found["without_shards"] = {**took, "accuracy": plain.score(frame[names], frame["truth"])}
    return found


def measured_digest(arguments: argparse.Namespace) -> str | None:
    """The digest of undisturbed fits with these settings, if `covtype` has measured them."""
    path = arguments.results / "covtype.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return known["fits"][0]["digest"] if known.get("settings") == settings(arguments) and known["fits"] else None


def measure_killed(arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"machine": machine(), "settings": settings(arguments)}
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as kept:
        covtype(arguments.data, directory)
        spark = session(2)
        rows = spark.read.parquet(directory).selectExpr("* except (y)", "nanvl(y, null) as y")
        began = time.monotonic()
        found["digest"] = measured_digest(arguments) or spark_classifier(arguments, num_workers=2).fit(rows).digest()
        found["seconds"] = time.monotonic() - began
        print(found, flush=True)

        def kill() -> None:
            while not list(Path(kept).glob("*.checkpoint")):
                time.sleep(0.1)
            victim = next(iter(processes(spark.sparkContext.applicationId)))
            os.kill(victim, signal.SIGKILL)
            found["killed_after"] = time.monotonic() - began

        threading.Thread(target=kill, daemon=True).start()
        began = time.monotonic()
        model = spark_classifier(arguments, num_workers=2, checkpoint=kept, checkpoint_steps=arguments.checkpoint_steps).fit(rows)
        found["seconds_with_a_killed_executor"] = time.monotonic() - began
        found["checkpoint_steps"], found["steps"] = arguments.checkpoint_steps, steps(model.history)
        found["held"] = model.workers
        found["digest_after_kill"] = model.digest()
        found["equal"] = found["digest_after_kill"] == found["digest"]
        found["rows"] = rows.count()
        scored = model.transform(rows).selectExpr("avg(cast(prediction = truth as double)) as accuracy").first()
        found["accuracy"] = scored["accuracy"]
        spark.stop()
    return found


def measure_scoring(arguments: argparse.Namespace) -> dict[str, Any]:
    """CPU of the command and of Spark for each number of rows, each in a session of its own, so that each pays for its start.

    Beside `flowgmm` two jobs without it write the same three columns from the same files: `copy` is Spark alone, and `identity` sends
    the rows to Python and back. Nobody who scores in Python can be cheaper than `identity` and the arithmetic of scoring together.
    """
    found: dict[str, Any] = {"machine": machine(), "columns": 10, "runs": []}
    names = [f"x{j}" for j in range(10)]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        file = scoring_model(folder, names)
        parquet_rows(folder / "rows", 500_000, names)
        found["scoring_alone"] = cost_of_scoring_alone(file, folder / "rows")
        for rows in sorted(arguments.rows):
            parquet_rows(folder / "rows", rows, names)
            run: dict[str, Any] = {"rows": rows, "command": cost_of_command(arguments, file, folder)}
            for job in ("copy", "identity", "flowgmm"):
                run[job] = cost_of_spark(job, file, folder)
                print(rows, job, run[job], flush=True)
            command = run["command"]["cpu_seconds"]
            least = run["identity"]["cpu_seconds"] + rows * found["scoring_alone"]["microseconds_a_row"] / 1e6
            start = run["identity"]["start_cpu_seconds"]
            run["ratios"] = {
                "start": start / command,
                "identity": run["identity"]["cpu_seconds"] / command,
                "flowgmm": run["flowgmm"]["cpu_seconds"] / command,
                "least": least / command,
                "flowgmm_with_start": (run["flowgmm"]["start_cpu_seconds"] + run["flowgmm"]["cpu_seconds"]) / command,
                "least_with_start": (start + least) / command,
            }
            print(rows, run["ratios"], flush=True)
            found["runs"].append(run)
            save(found, arguments)
    first, last = found["runs"][0], found["runs"][-1]
    if last["rows"] > first["rows"]:
        more = (last["rows"] - first["rows"]) / 1e6
        found["microseconds_a_row"] = {
            job: (last[job]["cpu_seconds"] - first[job]["cpu_seconds"]) / more
            for job in ("command", "copy", "identity", "flowgmm")
        }
    return found


def cost_of_spark(job: str, file: Path, folder: Path) -> dict[str, float]:
    """A job of two executors from the rows to Parquet: processor seconds of their start, and of the work once they are there."""
    spark = session(2)
    model = FlowGMMClassifierModel.load_file(file, label_type="double")
    model.set(model.typicalityCol, "")
    spark.range(1000).repartition(2).count()  # executors are there
    application = spark.sparkContext.applicationId
    start = sum(cpu(application).values())
    frame = spark.read.parquet(str(folder / "rows"))
    output = ("x0 as prediction", "array(x1, x2, x3) as probability", "x4 as log_p")
    shutil.rmtree(folder / "spark", ignore_errors=True)
    with Watch(application) as watch:
        if job == "copy":
            scored = frame.selectExpr(*output)
        elif job == "identity":
            scored = frame.mapInArrow(lambda batches: batches, frame.schema).selectExpr(*output)
        else:
            scored = model.transform(frame).select("prediction", "probability", "log_p")
        scored.write.parquet(str(folder / "spark"))
    spark.stop()
    return {"start_cpu_seconds": start, **watch.found}


def cost_of_scoring_alone(file: Path, rows: Path) -> dict[str, float]:
    """What a Python worker does with batches that are there: no Spark, no files. The least of three runs on one thread."""
    model = FlowGMMClassifierModel.load_file(file, label_type="double")
    outputs = {"prediction": "prediction", "probability": "probability", "log_p": "log_p"}
    table = pyarrow.parquet.read_table(rows).combine_chunks()
    names = table.column_names
    scoring = Scoring(model.to_bytes(), model.digest(), {name: name for name in names}, names, outputs, "double", 1)
    took = []
    for _ in range(3):
        start = time.process_time()
        for _ in scoring.scored(iter(table.to_batches(max_chunksize=10_000))):
            pass
        took.append(time.process_time() - start)
    return {"rows": table.num_rows, "microseconds_a_row": min(took) / table.num_rows * 1e6}


def scoring_model(folder: Path, names: list[str]) -> Path:
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 3, 3000)
    train = pandas.DataFrame(generator.normal(truth[:, None] * np.linspace(0, 2, 10), 1.0), columns=names)
    labels = pandas.Series(np.where(np.arange(3000) < 60, truth, -1), name="y")
    FlowGMMClassifier(steps=200, verbose=0).fit(train, labels).save(folder / "model.flowgmm")
    return folder / "model.flowgmm"


def parquet_rows(folder: Path, rows: int, names: list[str]) -> None:
    """A folder of files of half a million rows; those that are there stay."""
    folder.mkdir(exist_ok=True)
    for part, start in enumerate(range(0, rows, 500_000)):
        generator = np.random.default_rng([1, part])
        table = pyarrow.table({name: generator.normal(1.0, 1.5, min(500_000, rows - start)) for name in names})
        path = folder / f"part-{part:03}.parquet"
        if not path.exists():
            pyarrow.parquet.write_table(table, path, compression="none")


def cost_of_command(arguments: argparse.Namespace, model: Path, folder: Path) -> dict[str, float]:
    """``flowgmm predict`` from Parquet to Parquet: the least processor time of two runs."""
    command = arguments.command or shutil.which("flowgmm")
    runs = []
    for _ in range(2):
        (folder / "command.parquet").unlink(missing_ok=True)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([command, "predict", model, folder / "rows", "-o", folder / "command.parquet"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        runs.append({"seconds": time.monotonic() - began, "cpu_seconds": seconds})
    return min(runs, key=lambda run: run["cpu_seconds"])


def measure_steps(arguments: argparse.Namespace) -> dict[str, Any]:
    """Steps on one thread, with shards and without."""
    found: dict[str, Any] = {"machine": machine(), "steps": []}
    generator = np.random.default_rng(0)
    X = generator.normal(size=(4000, 50))
    y = np.where(np.arange(4000) < 40, np.arange(4000) % 2, -1)
    for depth, hidden in ((4, [64]), (8, [256]), (8, [256, 256])):
        for batch, shards in ((256, 8), (2048, 8), (256, None)):
            took = []
            for steps in (10, 60):  # what is not a step falls out of the difference
                began = time.process_time()  # of one thread; other programs do not count
                shape = {"depth": depth, "hidden": hidden, "batch_unlabelled": batch, "batch_labelled": 40}
                cut = None if shards is None else {"train.shards": shards}
                FlowGMMClassifier(preset="paper", steps=steps, settings=cut, n_jobs=1, verbose=0, **shape).fit(X, y)
                took.append(time.process_time() - began)
            weights = sum(a * b + b for a, b in zip([25, *hidden], [*hidden, 50])) * depth
            entry = {"depth": depth, "hidden": hidden, "parameters": weights, "batch": batch, "shards": shards,
                     "cpu_seconds": (took[1] - took[0]) / 50}
            print(entry, flush=True)
            found["steps"].append(entry)
    return found


def measure_reductions(arguments: argparse.Namespace) -> dict[str, Any]:
    """Reductions alone by the number of parameters and workers, as the barrier stage does them."""
    import pyarrow as pa

    found: dict[str, Any] = {"machine": machine(), "reductions": []}
    for workers in arguments.workers:
        spark = session(workers)

        def work(batches: Any) -> Any:
            import time as clock

            from pyspark import BarrierTaskContext
            from xgboost import collective

            from flowgmm.spark import _workers

            context = BarrierTaskContext.get()
            count = len(context.getTaskInfos())
            tracker, where = _workers._tracker(context, count) if context.partitionId() == 0 else (None, None)
            args = next(json.loads(m) for m in context.allGather(json.dumps(where)) if m != "null")
            with collective.CommunicatorContext(dmlc_task_id=f"{context.partitionId():06}", **args):
                reduce = _workers._reduce(collective)
                for parameters in (10, 1_000, 10_000, 100_000, 1_000_000):
                    values = np.ones(parameters, dtype=np.int64)
                    times = []
                    for _ in range(20):
                        began = clock.monotonic()
                        reduce(values, "sum")
                        times.append(clock.monotonic() - began)
                    yield pa.RecordBatch.from_pylist([{"parameters": parameters, "seconds": float(np.median(times))}])

        rows = spark.range(workers).repartition(workers).mapInArrow(work, "parameters long, seconds double", barrier=True)
        for row in rows.groupBy("parameters").max("seconds").orderBy("parameters").collect():
            entry = {"workers": workers, "int64": row[0], "seconds": row[1]}
            print(entry, flush=True)
            found["reductions"].append(entry)
        spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["steps", "reductions", "covtype", "killed", "scoring"])
    parser.add_argument("results", type=Path)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--steps", type=int, help="steps of fits; the recipe's choice if absent")
    parser.add_argument("--checkpoint-steps", type=int, default=500, help="steps between checkpoints of `killed`")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--sample", type=int, default=50_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--command", help="the flowgmm command; the one on the PATH if absent")
    arguments = parser.parse_args()
    measures = {
        "steps": measure_steps,
        "reductions": measure_reductions,
        "covtype": measure_covtype,
        "killed": measure_killed,
        "scoring": measure_scoring,
    }
    found = measures[arguments.what](arguments)
    save(found, arguments)
    print(json.dumps(found, indent=1))


def save(found: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Writes what is found so far."""
    found["machine"]["load_after"] = os.getloadavg()[0]
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / f"{arguments.what}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
