"""What comparisons say of mappers, recomputed with scipy from their trials.csv."""

from __future__ import annotations

import csv
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="scipy is not installed")

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location(
    "recompute_statistics", ROOT / "bench" / "recompute_statistics.py"
)
assert _spec is not None and _spec.loader is not None
statistics = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(statistics)


def test_the_published_comparison() -> None:
    folder = ROOT / "docs" / "comparison"
    field = statistics.Field(folder / "trials.csv")
    assert len(field.mappers) > 20
    assert statistics.against_page(field, folder / "report.html") == []


def test_a_new_comparison_and_one_that_was_changed(tmp_path: Path) -> None:
    instances = "".join(
        f"- {{name: i{k}, arch: simple, workload: matmuls, "
        f"define: {{N_EINSUMS: 2, M: {m}, KN: 4}}}}\n"
        for k, m in enumerate((4, 8, 12, 16, 24, 32, 48))
    )
    (tmp_path / "instances.yaml").write_text(instances)
    out = tmp_path / "out"
    command = [os.environ["TESSERA_PROGRAM"], "compare", "--instances"]
    command += [str(tmp_path / "instances.yaml"), "--mapper", "random,annealing,loma", "--seeds"]
    command += ["3", "--max-evals", "60", "--jobs", "2", "-q", "-o", str(out)]
    assert subprocess.run(command, capture_output=True).returncode in (0, 4)
    field = statistics.Field(out / "trials.csv")
    assert statistics.against_json(field, out / "result.json") == []
    # A search that found nothing: its mapper is last then, which the files do not say.
    changed = tmp_path / "changed"
    shutil.copytree(out, changed)
    with open(out / "trials.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    lost = next(row for row in rows if row["mapper"] == "random" and row["value"])
    lost["value"] = lost["ratio"] = ""
    with open(changed / "trials.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    wrong = statistics.against_json(statistics.Field(changed / "trials.csv"), changed / "result.json")
    assert any(line.startswith("ratio of random") for line in wrong), wrong


def test_exact_p_with_ties_is_that_of_scipy_by_permutation() -> None:
    from scipy import stats

    differences = [1.0, -1.0, 2.0, 2.0, 3.0, -0.5, 0.5, 4.0]
    p, effect = statistics.signed_ranks(differences)
    exact = stats.wilcoxon(differences, method=stats.PermutationMethod(n_resamples=10**6))
    assert p == pytest.approx(exact.pvalue)
    assert effect > 0
