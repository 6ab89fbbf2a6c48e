"""``FlowGMMClassifierModel``: scores DataFrames, streams too, and holds the one model file that every door reads."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from pyspark.ml import Model
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from .. import _native
from . import _columns
from ._scoring import Scoring
from .params import OutputParams, plain_columns

#: The name of the model file within a saved model.
FILE = "model.flowgmm"
_TYPES: dict[str, T.DataType] = {"double": T.DoubleType(), "boolean": T.BooleanType(), "string": T.StringType()}


class FlowGMMClassifierModel(Model, OutputParams, MLReadable["FlowGMMClassifierModel"], MLWritable):
    """A fitted FlowGMM in Spark.

    ``transform`` adds the columns that ``predictionCol``, ``probabilityCol``, ``logPCol`` and ``typicalityCol`` name: the most
    probable class (a double, boolean or string, as the labels were), the vector of p(k | x) in the order of ``classes``, log p(x),
    and the rank of log p(x) among rows like the training rows.
    """

    def __init__(self, content: bytes | None = None, label_type: str = "string") -> None:
        super().__init__()
        self._content = content
        self._label_type = label_type
        self._model: _native.Model | None = None
        #: What each worker of the fit held: rows beyond the driver's sample, and the most bytes of its process. Not saved.
        self.workers: list[dict[str, int]] = []
        self._shared: Any = None

    @property
    def native(self) -> _native.Model:
        """The model of the library."""
        if self._model is None:
            if self._content is None:
                raise ValueError("this model is empty: use FlowGMMClassifier.fit, or load")
            self._model = _native.Model.from_bytes(self._content)
        return self._model

    @property
    def classes(self) -> list[str]:
        """The names of the classes, in the order of probabilities."""
        return self.native.classes()

    @property
    def numClasses(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def decisions(self) -> list[tuple[str, str, str]]:
        """What was decided about the fit: what, choice, why."""
        return self.native.decisions()

    @property
    def history(self) -> list[dict[str, Any]]:
        """The epochs of training."""
        return list(json.loads(self.native.history()))

    def to_bytes(self) -> bytes:
        """The content of the model file."""
        return self.native.to_bytes() if self._content is None else self._content

    def digest(self) -> str:
        """A digest of the model file: equal digests are equal bits."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def save_file(self, path: Any) -> None:
        """Writes the file that the ``flowgmm`` command and ``flowgmm.FlowGMMClassifier.load`` read."""
        self.native.save(os.fspath(path))

    @classmethod
    def load_file(cls, path: Any, label_type: str = "string") -> FlowGMMClassifierModel:
        """The model in a file of the ``flowgmm`` command or of Python, to score DataFrames by; its features are the columns that it
        was fitted to. Predictions are of ``label_type``: "string", "double" or "boolean".
        """
        if label_type not in _TYPES:
            raise ValueError(f"label_type must be one of {', '.join(_TYPES)}, got {label_type!r}")
        native = _native.Model.load(os.fspath(path))
        model = cls(native.to_bytes(), label_type)
        if native.image_shape() is not None:
            raise ValueError("this is a model of images; DataFrames of tables can be scored")
        model._set(featuresCols=native.input_columns())
        return model

    def _transform(self, dataset: DataFrame) -> DataFrame:
        session = dataset.sparkSession
        outputs = plain_columns(self)
        taken = [name for name in outputs.values() if name in dataset.columns]
        if taken:
            raise ValueError(f"Output column {taken[0]} already exists: choose another name, or drop it")
        if not outputs:
            return dataset
        inputs = _columns.features(dataset, self.getFeaturesCols(), self.native.input_columns())
        sent, computed = {}, []
        for i, (name, column) in enumerate(inputs):
            if _columns.as_it_is(dataset, name, self.getFeaturesCols()):
                sent[name] = name
            else:
                sent[f"__flowgmm_{i}"] = name
                computed.append(column.alias(f"__flowgmm_{i}"))
        wide = dataset.select("*", *computed) if computed else dataset
        types = {
            "prediction": _TYPES[self._label_type],
            "probability": VectorUDT(),
            "log_p": T.DoubleType(),
            "typicality": T.DoubleType(),
        }
        schema = T.StructType([*dataset.schema.fields, *(T.StructField(name, types[what]) for what, name in outputs.items())])
        threads = int(session.conf.get("spark.task.cpus", "1") or 1)
        shared = self._broadcast(session)
        scoring = Scoring(shared, self.digest(), sent, dataset.columns, outputs, self._label_type, threads)
        return wide.mapInArrow(scoring.function(), schema)

    def _broadcast(self, session: SparkSession) -> Any:
        """The model's bytes, sent to every executor once; within the function itself where there are no broadcasts."""
        context = getattr(session, "_sc", None)
        if context is None:
            return self.to_bytes()
        if self._shared is None or self._shared[0] is not context:
            self._shared = (context, context.broadcast(self.to_bytes()))
        return self._shared[1]

    def copy(self, extra: Any = None) -> FlowGMMClassifierModel:
        """A copy with other Params; the model file is shared."""
        other: FlowGMMClassifierModel = super().copy(extra)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shared": None, "_content": self.to_bytes(), "_model": None}

    def write(self) -> MLWriter:
        """A writer: ``metadata`` with the Params, and the model file beside it."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader[FlowGMMClassifierModel]:
        """A reader of what ``write`` wrote."""
        return _Reader(cls)


class _Writer(MLWriter):
    def __init__(self, instance: FlowGMMClassifierModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        extra = {"labelType": self.instance._label_type}
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession, extraMetadata=extra)
        java: Any = self.sparkSession._jvm
        file = java.org.apache.hadoop.fs.Path(os.path.join(path, FILE))
        system = file.getFileSystem(self.sparkSession._jsparkSession.sessionState().newHadoopConf())
        stream = system.create(file, False)
        try:
            stream.write(self.instance.to_bytes())
        finally:
            stream.close()


class _Reader(MLReader["FlowGMMClassifierModel"]):
    def __init__(self, cls: type[FlowGMMClassifierModel]) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> FlowGMMClassifierModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        files = self.sparkSession.read.format("binaryFile").load(os.path.join(path, FILE))
        row = files.select("content").first()
        if row is None:
            raise ValueError(f"{path} holds no {FILE}")
        model = self.cls(bytes(row[0]), metadata["labelType"])
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model
