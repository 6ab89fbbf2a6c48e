"""Measures flowgmm on Spark: cost per step, fits on 1, 2 and 4 workers, a killed executor, scoring of millions of rows.

    python spark_measure.py steps   RESULTS                       # reductions and steps by parameters and workers
    python spark_measure.py covtype RESULTS covtype.data.gz       # equal digests, accuracy, time and memory per worker
    python spark_measure.py killed  RESULTS covtype.data.gz       # an executor is killed in mid-fit
    python spark_measure.py scoring RESULTS --rows 10000000       # CPU beside `flowgmm predict`, memory of executors

Every command writes one JSON file into the directory RESULTS. Executors are processes of their own (local-cluster mode) on this machine,
with a core each: with more executors than cores they share them, and times say little of a real cluster.
"""

from __future__ import annotations

import argparse
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

warnings.simplefilter("ignore")


def session(executors: int, memory: int = 900) -> SparkSession:
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,{memory + 100}]").appName("flowgmm measurements")
    settings = {
        "spark.executor.memory": f"{memory}m",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",
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


def cpu(application: str) -> float:
    """Seconds that executors and the processes below them have computed, ended ones included."""
    total = 0.0
    for executor, below in processes(application).items():
        for process in [executor, *below]:
            try:
                fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return total


class Memory(threading.Thread):
    """The most bytes that an executor and the processes below it hold at once."""

    def __init__(self, application: str) -> None:
        super().__init__(daemon=True)
        self.application, self.peak, self.over = application, 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            for executor, below in processes(self.application).items():
                held = 0
                for process in [executor, *below]:
                    try:
                        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
                    except (OSError, IndexError):
                        continue
                    held += pages * os.sysconf("SC_PAGE_SIZE")
                self.peak = max(self.peak, held)


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
        for workers in arguments.workers:
            began = time.monotonic()
            model = spark_classifier(arguments, num_workers=workers).fit(rows)
            fit = {"workers": workers, "seconds": time.monotonic() - began, "digest": model.digest(), "held": model.workers}
            print(fit, flush=True)
            found["fits"].append(fit)
            save(found, arguments)
        scored = model.transform(rows).selectExpr("avg(cast(prediction = truth as double)) as accuracy").first()
        found["accuracy"] = scored["accuracy"]
        save(found, arguments)
        spark.stop()
        names = [f"x{j}" for j in range(54)]
        began = time.monotonic()
        shards = {"train.shards": arguments.shards, "sample": arguments.sample}
        own = {"preset": arguments.preset, "steps": arguments.steps, "verbose": 0}
        alone = FlowGMMClassifier(settings=shards, **own).fit(frame[names], frame["y"])
        found["one_machine"] = {"seconds": time.monotonic() - began, "equal": alone.model_.to_bytes() == model.to_bytes()}
        save(found, arguments)
        began = time.monotonic()
        plain = FlowGMMClassifier(**own).fit(frame[names], frame["y"])
        accuracy = plain.score(frame[names], frame["truth"])
        found["without_shards"] = {"seconds": time.monotonic() - began, "accuracy": accuracy}
    return found


def measure_killed(arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"machine": machine(), "settings": settings(arguments)}
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as kept:
        covtype(arguments.data, directory)
        spark = session(2)
        rows = spark.read.parquet(directory).selectExpr("* except (y)", "nanvl(y, null) as y")
        began = time.monotonic()
        found["digest"] = spark_classifier(arguments, num_workers=2).fit(rows).digest()
        found["seconds"] = time.monotonic() - began

        def kill() -> None:
            while not list(Path(kept).glob("*.checkpoint")):
                time.sleep(0.1)
            victim = next(iter(processes(spark.sparkContext.applicationId)))
            os.kill(victim, signal.SIGKILL)
            found["killed_after"] = time.monotonic() - began

        threading.Thread(target=kill, daemon=True).start()
        began = time.monotonic()
        model = spark_classifier(arguments, num_workers=2, checkpoint=kept, checkpoint_steps=100).fit(rows)
        found["seconds_with_a_killed_executor"] = time.monotonic() - began
        found["equal"] = model.digest() == found["digest"]
        spark.stop()
    return found


def measure_scoring(arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {"machine": machine(), "rows": arguments.rows, "columns": 10}
    generator = np.random.default_rng(0)
    names = [f"x{j}" for j in range(10)]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        truth = generator.integers(0, 3, 3000)
        train = pandas.DataFrame(generator.normal(truth[:, None] * np.linspace(0, 2, 10), 1.0), columns=names)
        labels = pandas.Series(np.where(np.arange(3000) < 60, truth, -1), name="y")
        file = folder / "model.flowgmm"
        FlowGMMClassifier(steps=200, verbose=0).fit(train, labels).save(file)
        (folder / "rows").mkdir()
        done, part = 0, 0
        while done < arguments.rows:
            n = min(500_000, arguments.rows - done)
            table = pyarrow.table({name: generator.normal(1.0, 1.5, n) for name in names})
            pyarrow.parquet.write_table(table, folder / "rows" / f"part-{part:03}.parquet", compression="none")
            done, part = done + n, part + 1
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        command = arguments.command or shutil.which("flowgmm")
        subprocess.run([command, "predict", file, folder / "rows", "-o", folder / "command.parquet"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found["command"] = {
            "seconds": time.monotonic() - began,
            "cpu_seconds": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
        }
        print(found["command"], flush=True)
        spark = session(2, 640)
        model = FlowGMMClassifierModel.load_file(file, label_type="double")
        model.set(model.typicalityCol, "")
        spark.range(1000).repartition(2).count()  # executors are there
        application = spark.sparkContext.applicationId
        start, began = cpu(application), time.monotonic()
        memory = Memory(application)
        memory.start()
        rows = spark.read.parquet(str(folder / "rows"))
        model.transform(rows).select("prediction", "probability", "log_p").write.parquet(str(folder / "spark"))
        found["spark"] = {"seconds": time.monotonic() - began, "cpu_seconds": cpu(application) - start}
        memory.over.set()
        memory.join()
        found["spark"]["largest_executor_bytes"] = memory.peak
        found["cpu_ratio"] = found["spark"]["cpu_seconds"] / found["command"]["cpu_seconds"]
        spark.stop()
    return found


def measure_steps(arguments: argparse.Namespace) -> dict[str, Any]:
    """Steps on one thread, and reductions alone by the number of parameters and workers, as the barrier stage does them."""
    import pyarrow as pa

    found: dict[str, Any] = {"machine": machine(), "steps": [], "reductions": []}
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
            entry = {"parameters": weights, "batch": batch, "shards": shards,
                     "cpu_seconds": (took[1] - took[0]) / 50}
            print(entry, flush=True)
            found["steps"].append(entry)
    for workers in arguments.workers:
        spark = session(workers, 600)

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
    parser.add_argument("what", choices=["steps", "covtype", "killed", "scoring"])
    parser.add_argument("results", type=Path)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--sample", type=int, default=50_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--command", help="the flowgmm command; the one on the PATH if absent")
    arguments = parser.parse_args()
    measures = {"steps": measure_steps, "covtype": measure_covtype, "killed": measure_killed, "scoring": measure_scoring}
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
