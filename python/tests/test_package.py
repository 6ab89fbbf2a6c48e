"""Types, stubs, documentation and size of the package."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flowgmm
import flowgmm._native as native
import flowgmm.estimator
import flowgmm.model_selection

PACKAGE = Path(flowgmm.__file__).parent


def test_the_package_is_typed(tmp_path):
    assert (PACKAGE / "py.typed").exists()
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "-p", "flowgmm"],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert run.returncode == 0, run.stdout


def test_stubs_match_the_extension(tmp_path):
    pytest.importorskip("mypy")
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "flowgmm._native", "--ignore-disjoint-bases"],
        capture_output=True, text=True, cwd=tmp_path,
    )
    assert run.returncode == 0, run.stdout


def test_examples_in_the_documentation_run():
    for module in (flowgmm, flowgmm.estimator, flowgmm.model_selection):
        assert doctest.testmod(module).failed == 0


def test_every_public_name_is_documented():
    for name in flowgmm.__all__:
        value = getattr(flowgmm, name)
        assert name == "__version__" or (value.__doc__ or "").strip(), name
    for name, method in inspect.getmembers(flowgmm.FlowGMMClassifier, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("flowgmm"):
            assert (method.__doc__ or "").strip(), name


def test_the_extension_is_small():
    [library] = [file for file in PACKAGE.iterdir() if file.name.startswith("_native.") and file.suffix != ".pyi"]
    assert library.stat().st_size < 80e6
    assert native.__version__ == flowgmm.__version__


ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/python.md"])
def test_the_examples_of_a_page_run(page):
    path = ROOT / page
    if not path.exists():
        pytest.skip(f"{page} is not beside the tests")
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
    assert blocks
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), space)
