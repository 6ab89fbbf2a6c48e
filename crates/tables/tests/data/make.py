"""The files in this directory, as other people's tools write them: python make.py (numpy, pyarrow, pandas)."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

day = dt.date(2024, 2, 29)
noon = dt.datetime(2024, 2, 29, 12, 30, 15)
types = pa.table(
    {
        "i8": pa.array([1, None, -3], pa.int8()),
        "u64": pa.array([1, 2, 2**40], pa.uint64()),
        "f16": pa.array(np.array([0.5, 1, np.nan], np.float16)),
        "f32": pa.array([0.5, None, float("inf")], pa.float32()),
        "f64": pa.array([0.1, 1e300, None], pa.float64()),
        "bool": pa.array([True, False, None]),
        "text": pa.array([" red ", "NA", ""]),
        "large": pa.array(["1", "02", "x"], pa.large_string()),
        "view": pa.array(["p", None, "a text that is longer than twelve bytes"], pa.string_view()),
        "dict": pa.array(["a", "b", "a"]).dictionary_encode(),
        "date": pa.array([day, None, day], pa.date32()),
        "date64": pa.array([day, None, day], pa.date64()),
        "stamp": pa.array([noon, None, noon], pa.timestamp("ms")),
        "zoned": pa.array([noon, None, noon], pa.timestamp("us", "Europe/Zurich")),
        "time": pa.array([noon.time(), None, None], pa.time32("s")),
        "decimal": pa.array([Decimal("1.10"), None, Decimal("-0.05")], pa.decimal128(10, 2)),
        "null": pa.nulls(3),
        "list": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32())),
        "fixed": pa.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], pa.list_(pa.int16(), 3)),
    }
)
storable = types.drop_columns(["view"])
pq.write_table(storable, "types.parquet", compression="zstd")
pq.write_table(storable, "types_v2.parquet", compression="gzip", data_page_version="2.0", row_group_size=2)
feather.write_feather(types, "types_lz4.feather", compression="lz4")
with pa.ipc.new_stream("types_zstd.arrows", types.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
    out.write_table(types, max_chunksize=2)

frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "y": ["p", "q", "p", None]})
frame.iloc[[3, 1, 2]].to_parquet("pandas_index.parquet")
pq.write_table(pa.table({"a": [1], "s": [{"b": 1}]}), "struct.parquet")

x = np.arange(6, dtype="<f4").reshape(3, 2)
np.savez("plain.npz", x=x, y=np.array(["a", "b", ""]), flag=np.array([True, False, True]))
np.savez_compressed(
    "split.npz",
    x_train=x.astype("<f2"), y_train=np.array([1, 2, 3], "u1"),
    x_test=x[:2].astype("<f2"), y_test=np.array([1, 2], "u1"),
)
np.save("fortran_big_endian.npy", np.asfortranarray(x.astype(">f8")))
np.save("labels.npy", np.array([3, 1, 2], "<i8"))
