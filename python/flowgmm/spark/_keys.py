"""Which rows the driver samples, and which shard every row is in: functions of a row's cells and the seed, computed where rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import _native

SHARD = "__flowgmm_shard"
SAMPLED = "__flowgmm_sampled"
MARKER = "__flowgmm_marker"


def keyed(table: DataFrame, features: Sequence[str], seed: int, shards: int, sample: int, total: int) -> DataFrame:
    """The table with the shard of each row and whether it belongs to a sample of about ``sample`` of ``total`` rows."""
    schema = T.StructType([*table.schema.fields, T.StructField(SHARD, T.IntegerType()), T.StructField(SAMPLED, T.BooleanType())])
    return table.mapInArrow(_adding(list(features), seed, shards, sample, total), schema)


def _adding(
    features: list[str], seed: int, shards: int, sample: int, total: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = _native.Table.from_arrow(pa.Table.from_batches([batch.select(features)]))
            shard, sampled = _native.row_keys(rows, seed, shards, sample, total)
            columns = [*batch.columns, pa.array(shard), pa.array(sampled)]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, SHARD, SAMPLED])

    return add


def worker_of(shard: int, shards: int, workers: int) -> int:
    """The worker that holds a shard: neighbouring shards are together, and workers have as many as their neighbours, or one more."""
    return shard * workers // shards


def by_worker(rows: DataFrame, shards: int, workers: int) -> DataFrame:
    """The rows in one partition for each worker, its shards together.

    Every shard has one row more, a marker: Spark would run no stage at all if there were no rows.
    """
    # Spark partitions by a hash of a value: for each worker one is found that the hash sends there.
    candidates = rows.sparkSession.range(64 * workers + 64).select("id", F.pmod(F.hash("id"), F.lit(workers)).alias("at"))
    value_of = {int(row["at"]): int(row["id"]) for row in candidates.collect()}
    values = [value_of[worker_of(shard, shards, workers)] for shard in range(shards)]
    value = F.element_at(F.array(*(F.lit(value).cast("long") for value in values)), F.col(SHARD) + 1)
    shard = F.col("id").cast("int").alias(SHARD)
    nothing = [F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema.fields if field.name != SHARD]
    markers = rows.sparkSession.range(shards).select(shard, *nothing, F.lit(True).alias(MARKER))
    return rows.withColumn(MARKER, F.lit(False)).unionByName(markers).repartition(workers, value)


def without_markers(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch."""
    marked = batch.column(MARKER)
    rows = batch.drop_columns([MARKER])
    return rows.filter(pc.invert(marked)) if pc.any(marked).as_py() else rows
