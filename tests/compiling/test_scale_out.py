import json
import subprocess
import sys

import pytest

from examples import scale_out
from tests.compiling.test_scaling import compiled, slice_of
from tests.conftest import ROOT


def test_the_efficiency_is_the_share_of_the_time_in_which_a_chip_computes():
    # On 4 chips at a tenth of the peak 8e12 operations take 0.2 s, and 1e9 bytes summed 0.015 s.
    # 2,048 pairs are four times the 128 of each chip: 0.8 s.
    found = scale_out.row("base", slice_of(4), compiled(8e12, 0, 1e9), utilization=0.1)
    assert found["flops"] == pytest.approx(2e12)
    assert found["computing"] == pytest.approx(0.2)
    assert found["summing"] == pytest.approx(0.015)
    assert found["efficiency"] == pytest.approx(0.2 / 0.215)
    assert found["efficiency_of_constant"] == pytest.approx(0.8 / 0.815)
    # 64 chips compute a sixteenth of that each, 0.05 s; 1e9 bytes take 4 · 63/64 / 200 s.
    found = scale_out.row("base", slice_of(64), compiled(16 * 8e12, 0, 1e9), utilization=0.1)
    assert found["summing"] == pytest.approx(0.0196875)
    assert found["efficiency"] == pytest.approx(0.2 / 0.2196875)
    assert found["efficiency_of_constant"] == pytest.approx(0.05 / 0.0696875)


def test_a_wrong_size_is_one_line():
    command = [sys.executable, "-m", "examples.scale_out", "horse"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("error: a size is one of base, big, got horse")


@pytest.mark.extra("tpu")
def test_a_quick_run_leaves_a_page_a_picture_and_the_figures(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    command = [sys.executable, "-m", "examples.scale_out", "base", "--quick", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    rows = json.loads((tmp_path / "scale-out.json").read_text())
    assert [row["chips"] for row in rows] == [4, 16]
    weights, least = rows[0]["summed"], 4 * 16 * 101 * 2  # at least the gradients of two embeddings
    assert weights == rows[1]["summed"] > least
    assert (tmp_path / "scale-out.png").read_bytes().startswith(b"\x89PNG")
    assert "| base | 4x4 | 16 |" in (tmp_path / "scale-out.md").read_text()
