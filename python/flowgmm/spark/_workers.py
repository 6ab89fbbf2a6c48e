"""The barrier stage: every task is a worker that holds whole shards, and each step they sum their gradients.

``BarrierTaskContext`` brings the tasks together and tells them where the tracker is; ``xgboost.collective`` does the sums. The first
task starts the tracker, so that a stage that Spark runs again has one of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import BarrierTaskContext
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from .. import _native
from ._keys import MARKER, by_worker, without_markers, worker_of

#: Seconds that a worker waits after the collective has failed. A lost peer is the usual cause, and Spark should hear of its loss before it
#: hears of ours: told too early, it would run the stage again with a task on the lost executor, for which all others then wait.
_GRACE = 20.0
#: Seconds that a worker waits for the others to have read their rows. Spark itself would wait for a year.
_RENDEZVOUS = 1800.0

_RESULT = T.StructType([T.StructField("state", T.BinaryType()), T.StructField("error", T.StringType()),
                        T.StructField("kind", T.StringType()), T.StructField("rows", T.LongType()),
                        T.StructField("peak", T.LongType())])


class Checkpoints:
    """One file on shared storage for each job: of the same rows and settings."""

    def __init__(self, where: str, job: str) -> None:
        from pyarrow import fs

        if "://" in where:
            self._system, directory = fs.FileSystem.from_uri(where)
        else:
            self._system, directory = fs.LocalFileSystem(), os.path.abspath(where)
        self._directory, self._path = directory, f"{directory}/{job}.checkpoint"

    def read(self) -> bytes | None:
        """The last checkpoint, if there is one."""
        from pyarrow import fs

        if self._system.get_file_info(self._path).type == fs.FileType.NotFound:
            return None
        with self._system.open_input_stream(self._path) as stream:
            return bytes(stream.read())

    def write(self, content: bytes) -> None:
        """Replaces the checkpoint: written beside it, then moved."""
        self._system.create_dir(self._directory, recursive=True)
        with self._system.open_output_stream(self._path + ".part") as stream:
            stream.write(content)
        self._system.move(self._path + ".part", self._path)

    def remove(self) -> None:
        """After the fit nobody needs it."""
        if self.read() is not None:
            self._system.delete_file(self._path)


@dataclass(frozen=True)
class Stage:
    """Trains a job on the rows of a DataFrame: what ``fit_on`` calls."""

    rows: DataFrame
    shards: int
    workers: int
    checkpoint: str | None
    every: int
    threads: int
    #: What each worker held: rows beyond the driver's sample, and the most bytes of its process.
    reports: list[dict[str, int]] = field(default_factory=list)

    def __call__(self, job: bytes) -> bytes:
        context = getattr(self.rows.sparkSession, "_sc", None)
        shared: Any = job if context is None else context.broadcast(job)
        name = hashlib.sha256(job).hexdigest()[:32]
        names = [*(name for name in self.rows.columns if not name.startswith("__flowgmm")), MARKER]
        partitioned = by_worker(self.rows, self.shards, self.workers).select(*(_quoted(name) for name in names))
        task = _task(shared, name, self.shards, self.workers, self.checkpoint, self.every, self.threads)
        try:
            # The shuffle behind the stage is for Spark: it runs a barrier stage again only if another stage reads it.
            found = partitioned.mapInArrow(task, _RESULT, barrier=True).repartition(1).collect()
        finally:
            if context is not None:
                shared.unpersist()
        for row in found:
            if row["error"] is not None:
                raise getattr(_native, row["kind"], ValueError)(row["error"])
        self.reports.extend({"rows": row["rows"], "peak_bytes": row["peak"]} for row in found)
        [state] = [row["state"] for row in found if row["state"] is not None]
        if self.checkpoint is not None:
            Checkpoints(self.checkpoint, name).remove()
        return bytes(state)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _task(
    job: Any, name: str, shards: int, workers: int, checkpoint: str | None, every: int, threads: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from xgboost import collective
        from xgboost.core import XGBoostError

        context = BarrierTaskContext.get()
        rank = context.partitionId()
        own = [shard for shard in range(shards) if worker_of(shard, shards, workers) == rank]
        problem: tuple[str, str] | None = None
        try:
            worker = _native.Worker(job.value if hasattr(job, "value") else job)
            for batch in map(without_markers, batches):
                if batch.num_rows:
                    worker.add(_native.Table.from_arrow(pa.Table.from_batches([batch])))
        except (ValueError, TypeError) as error:
            problem = ("ValueError", f"{error}")
        # Everybody is here, and says whether it is ready; the first has started the tracker.
        tracker, where = _tracker(context, workers) if rank == 0 else (None, None)
        told = [json.loads(message) for message in _together(context, json.dumps([where, problem]))]
        problem = next((problem for _, problem in told if problem), None)
        if problem:
            yield _result(error=problem[1], kind=problem[0])
            return
        held = len(worker)
        with _patient(), collective.CommunicatorContext(dmlc_task_id=f"{rank:06}", **told[0][0]):
            store = Checkpoints(checkpoint, name) if checkpoint is not None and rank == 0 else None
            found = (store.read() if store else None) or b""
            resume = collective.broadcast(found if rank == 0 else None, _rank_of_first(collective, rank))
            try:
                state = worker.train(own, resume or None, _reduce(collective), every, store.write if store else None, threads)
            except (ValueError, _native.DivergedError) as error:
                if isinstance(error, XGBoostError):
                    raise  # a peer is lost: Spark runs the stage again
                # The same on all workers, and again if the stage were run again.
                yield _result(error=str(error), kind=type(error).__name__)
                return
        yield _result(state=state if rank == 0 else None, rows=held)

    return work


def _together(context: BarrierTaskContext, message: str) -> list[str]:
    """The messages of all tasks. Ends this process if one does not come: Spark then runs the stage again."""
    timer = threading.Timer(_RENDEZVOUS, os._exit, (1,))
    timer.daemon = True
    timer.start()
    try:
        return list(context.allGather(message))
    finally:
        timer.cancel()


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Waits a while before it passes on an error of the collective."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException:
        time.sleep(_GRACE)
        raise


def _tracker(context: BarrierTaskContext, workers: int) -> tuple[Any, dict[str, Any]]:
    from xgboost.tracker import RabitTracker

    host = context.getTaskInfos()[0].address.rsplit(":", 1)[0]
    tracker = RabitTracker(n_workers=workers, host_ip=socket.gethostbyname(host), sortby="task")
    tracker.start()
    return tracker, tracker.worker_args()


def _rank_of_first(collective: Any, partition: int) -> int:
    """The rank of the task of partition 0: ranks need not be those of partitions."""
    mine = np.array([collective.get_rank() if partition == 0 else 0], dtype=np.int64)
    return int(collective.allreduce(mine, collective.Op.SUM)[0])


def _reduce(collective: Any) -> Callable[[Any, str], Any]:
    operations = {"max": collective.Op.MAX, "sum": collective.Op.SUM}

    def reduce(values: Any, operation: str) -> Any:
        return collective.allreduce(values, operations[operation])

    return reduce


def _result(
    state: bytes | None = None, error: str | None = None, kind: str | None = None, rows: int | None = None
) -> pa.RecordBatch:
    columns = [pa.array([state], pa.binary()), pa.array([error], pa.string()), pa.array([kind], pa.string()),
               pa.array([rows], pa.int64()), pa.array([_peak()], pa.int64())]
    return pa.RecordBatch.from_arrays(columns, names=[field.name for field in _RESULT.fields])


def _peak() -> int:
    """The most bytes that this process has held."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
