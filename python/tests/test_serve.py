"""The server by a client that nobody here wrote: the Open Inference Protocol as Triton's HTTP client speaks it."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

triton = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")
from tritonclient.utils import InferenceServerException  # noqa: E402

BINARY = os.environ.get("FLOWGMM_BINARY")
pytestmark = pytest.mark.skipif(not BINARY, reason="FLOWGMM_BINARY names no program")

TABLE = "\n".join(
    ["width,height,colour,kind"]
    + [
        f"{2 + 3 * (i % 2) + 0.01 * (i * 37 % 100):.2f},{1 - i % 2 + 0.01 * (i * 53 % 100):.2f},"
        f"{'red' if i % 3 else 'blue'},{('wide' if i % 2 else 'narrow') if i % 5 == 0 else ''}"
        for i in range(120)
    ]
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "kinds.csv").write_text(TABLE + "\n")
    assert BINARY
    fit = [BINARY, "fit", "kinds.csv", "--label", "kind", "--steps", "60", "--model", "kinds.flow", "--quiet"]
    subprocess.run(fit, cwd=folder, check=True, capture_output=True)
    serve = [BINARY, "serve", "kinds.flow", "--port", "0", "--no-open", "--json"]
    with subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            port = json.loads(process.stdout.readline())["port"]
            yield folder, f"127.0.0.1:{port}"
        finally:
            process.terminate()
            assert process.wait(20) == 0


def inputs(rows: list[dict[str, str]], binary: bool) -> list[Any]:
    """A tensor of shape [n, 1] for each number, and of shape [n] for the text."""
    tensors = []
    for name in ("width", "height"):
        values = np.array([[float(row[name])] for row in rows])
        tensors.append(triton.InferInput(name, list(values.shape), "FP64"))
        tensors[-1].set_data_from_numpy(values, binary_data=binary)
    texts = np.array([row["colour"] for row in rows], dtype=object)
    tensors.append(triton.InferInput("colour", list(texts.shape), "BYTES"))
    tensors[-1].set_data_from_numpy(texts, binary_data=binary)
    return tensors


def test_health_and_metadata(served: tuple[Path, str]) -> None:
    client = triton.InferenceServerClient(served[1])
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("kinds")
    assert client.is_model_ready("kinds", "1") and not client.is_model_ready("kinds", "2")
    assert client.get_server_metadata()["name"] == "flowgmm"
    model = client.get_model_metadata("kinds")
    assert [tensor["name"] for tensor in model["inputs"]] == ["width", "height", "colour"]
    assert [tensor["datatype"] for tensor in model["inputs"]] == ["FP64", "FP64", "BYTES"]
    assert {tensor["name"] for tensor in model["outputs"]} == {
        "class", "probabilities", "log_p", "typicality", "boundary", "z"
    }


@pytest.mark.parametrize("binary", [False, True])
def test_answers_are_those_of_predict(served: tuple[Path, str], binary: bool) -> None:
    folder, address = served
    assert BINARY
    predict = [BINARY, "predict", "kinds.flow", "kinds.csv", "--digits", "17", "--quiet"]
    text = subprocess.run(predict, cwd=folder, check=True, capture_output=True, text=True).stdout
    expected = list(csv.DictReader(text.splitlines()))
    rows = list(csv.DictReader(TABLE.splitlines()))
    client = triton.InferenceServerClient(address)
    for some in (slice(0, 1), slice(17, 20), slice(0, 120)):
        names = ("class", "probabilities", "log_p", "boundary", "typicality", "z")
        outputs = [triton.InferRequestedOutput(name, binary_data=binary) for name in names]
        found = client.infer("kinds", inputs(rows[some], binary), outputs=outputs, request_id="7")
        classes = [c.decode() if isinstance(c, bytes) else c for c in found.as_numpy("class")]
        assert classes == [row["class"] for row in expected[some]]
        for name in ("log_p", "boundary", "typicality"):
            assert found.as_numpy(name).tolist() == [float(row[name]) for row in expected[some]], name
        p = [[float(row["p_narrow"]), float(row["p_wide"])] for row in expected[some]]
        assert found.as_numpy("probabilities").tolist() == p
        assert found.as_numpy("z").shape[0] == len(p)
        assert found.get_response()["id"] == "7"


def test_errors_are_told_to_the_client(served: tuple[Path, str]) -> None:
    client = triton.InferenceServerClient(served[1])
    rows = list(csv.DictReader(TABLE.splitlines()))[:2]
    with pytest.raises(InferenceServerException, match="no model"):
        client.infer("nobody", inputs(rows, False))
    with pytest.raises(InferenceServerException, match="colour"):
        client.infer("kinds", inputs(rows, False)[:2])
    unknown = [triton.InferRequestedOutput("everything", binary_data=False)]
    with pytest.raises(InferenceServerException, match="no output"):
        client.infer("kinds", inputs(rows, False), outputs=unknown)
