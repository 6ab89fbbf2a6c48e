"""The recipes for other engines in the documentation run as they are written."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "scaling-out.md"


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="there is no package pyarrow")
@pytest.mark.parametrize(("heading", "package", "written"), [("Ray Data", "ray", "scored-by-ray"), ("Dask", "dask", "scored-by-dask")])
def test_a_recipe_scores_what_the_library_scores(
    heading: str, package: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not PAGE.exists():
        pytest.skip("docs/scaling-out.md is not beside the tests")
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the recipe for {heading} is not tested: there is no package {package}")
    import pandas

    from flowgmm import FlowGMMClassifier

    recipe = re.search(rf"### {heading}\n+```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert recipe is not None
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, 200)
    rows = pandas.DataFrame(generator.normal(3.0 * truth[:, None], 1.0, (200, 3)), columns=["a", "b", "c"])
    y = np.where(np.arange(200) < 20, truth, -1)
    model = FlowGMMClassifier(preset="paper", steps=20, depth=2, hidden=[8], verbose=0).fit(rows, y)
    monkeypatch.chdir(tmp_path)
    model.save("model.flowgmm")
    Path("rows").mkdir()
    for part in range(2):
        rows.assign(id=np.arange(200))[part::2].to_parquet(f"rows/part-{part}.parquet", index=False)
    code: Any = compile(recipe.group(1), "scaling-out.md", "exec")
    exec(code, {"__name__": "recipe"})
    scored = pandas.read_parquet(written).sort_values("id")
    assert np.array_equal(scored["prediction"], model.predict(rows))
    assert np.array_equal(scored["log_p"], model.score_samples(rows))
