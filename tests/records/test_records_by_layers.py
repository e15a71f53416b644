"""Problems done by the layers: right results are a condition of every count; none may grow beyond par unnoticed."""

from __future__ import annotations

import json

import pytest

from compiler.records.document import page
from compiler.records.problems import PROBLEMS
from compiler.records.runner import measure
from runtime.cli import main

BY_NAME = {problem.name: problem for problem in PROBLEMS}

#: problem: most lines, where the problem is stated completely (par) or its layers do no worse (our count).
BOUNDS = {
    "mat_sub": 4,
    "sub_rowvec": 80,
    "div_row": 160,
    "relu_grad": 9,
    "onehot": 135,
    "exp": 65,
    "exp_lowprec": 45,
    "onehot_mini": 19,
    "sum_row": 160,
    "sum_row_mini": 10,
    "sum_col": 13,
    "dram_dl_256": 11,
    "dram_dl_256_16p": 41,
    "dram_dl_1024_16": 10,
    "dram_ul_16": 7,
    "dram_ul_256": 29,
    "dram_ul_256_16": 7,
    "matmul_trb_mab_lm_4_8_16": 12,
    "matmul_trb_mab_lm_32_8_16": 96,
    "matmul_notr_mab_lm_4_16_16": 48,
    "matmul_tra_mab_lm_16_32_8": 96,
    "matmul_notr_pkg_lm_256_16_16": 28,
    "matmul_trb_pkg_lm_256_16_16": 16,
}


@pytest.mark.parametrize("name", BOUNDS)
def test_layers_are_at_par(name: str) -> None:
    found = measure(BY_NAME[name])
    assert not found.refused
    assert found.pe_lines + found.mv_lines <= BOUNDS[name], found.layers


def test_lines_are_those_of_the_layers() -> None:
    found = measure(BY_NAME["relu"])
    assert found.layers == [("Relu", 2)] and found.mv_lines == 0


def test_other_order_in_dram_is_refused() -> None:
    found = measure(BY_NAME["dram_dl_16_16"])
    assert "another order" in found.refused and not found.layers
    assert "| dram_dl_16_16 | refused |" in page([], [found])


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "--only", "relu", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["layers"] == [{"layer": "Relu", "pe_lines": 2}] and row["pe_lines"] == 2
    assert main(["records", "--only", "sum_ro"]) == 2
    assert "did you mean 'sum_row'?" in capsys.readouterr().err
