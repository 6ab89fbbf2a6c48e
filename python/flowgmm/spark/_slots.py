"""Whether as many tasks can run at once as a barrier stage needs: Spark itself would ask for ten minutes."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession

#: Seconds that executors may take to register.
_PATIENCE = 30.0


def check_slots(session: SparkSession, workers: int) -> None:
    """An error unless ``workers`` tasks can run at once."""
    if session.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        raise ValueError(
            "a fit needs its workers all at once, which spark.dynamicAllocation.enabled does not promise: turn it off for this "
            "application, and give it as many executors as workers"
        )
    deadline = time.monotonic() + _PATIENCE
    while (slots := _slots(session)) is not None and slots < workers:
        if time.monotonic() > deadline:
            raise ValueError(
                f"num_workers={workers} needs as many tasks at once, and this application has slots for {slots}: ask for fewer "
                "workers, or for more executors or cores (spark.executor.instances, spark.executor.cores, spark.task.cpus)"
            )
        time.sleep(0.5)


def _slots(session: SparkSession) -> int | None:
    """Tasks that can run at once; None where a client cannot know."""
    context: Any = getattr(session, "_sc", None)
    if context is None:
        return None
    java = context._jsc.sc()
    return int(java.maxNumConcurrentTasks(java.resourceProfileManager().resourceProfileFromId(0)))
