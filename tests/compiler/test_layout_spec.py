"""`layout_spec`, `gemm_layout_spec` and the layout planners: read, matched, applied, with unchanged bits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.errors import LayoutSpecError
from compiler.layers.reference import run_reference
from compiler.layout import Layout
from compiler.options import Options
from compiler.plan.layout_spec import LayoutSpecs
from tests.compiler import machine, models

SHAPE = [64, 32]
#: The general layout of SHAPE, and one with the same elements in every PE at other addresses.
GENERAL = "((8_L2B:1, 8_L1B:1, 1:1), (4:1, 2_W:1, 4_PE:1); B@[MAB])"
PERMUTED = "((8_L2B:1, 8_L1B:1, 1:1), (2:1, 2:2, 2_W:1, 4_PE:1); B@[MAB])"
CHAIN = models.build(
    [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
    {"x": ("float", SHAPE)},
    {"y": ("float", SHAPE)},
    {"a": ("float", SHAPE)},
)


def _write(folder: Path, content: Any) -> str:
    path = folder / "spec.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def _entry(trigger: str, layout: str = PERMUTED, **changes: Any) -> dict[str, Any]:
    return {"trigger": trigger, "op_type": "Relu", "shape": SHAPE, "layout": layout, **changes}


def _compile(model: Any = CHAIN, envs: dict[str, Any] | None = None, **options: Any) -> Compiled:
    return compile_model(model, Options.resolve({**options, "envs": envs or {}}, {}))


def _same_bits(compiled: Compiled, feeds: dict[str, Any]) -> None:
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    for name in got:
        stored = name if name in raw else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(got[name], raw[stored])


@pytest.mark.parametrize("trigger", ["SwitchInput", "FixOutput"])
@pytest.mark.parametrize("planner", ["lpz", "bidi", "legacy"])
def test_spec_is_applied_by_every_planner_and_keeps_the_bits(tmp_path: Path, trigger: str, planner: str) -> None:
    path = _write(tmp_path, [_entry(trigger)])
    compiled = _compile(layout_spec=path, layout_planner=planner)
    relus = [node for node in compiled.graph.nodes if node.op_type == "Relu"]
    assert len(relus) == 2
    wanted = Layout.parse(PERMUTED)
    for name in [node.inputs[0] for node in relus] if trigger == "SwitchInput" else ["a", "y"]:
        layout = compiled.graph.values[name].layout
        assert layout is not None and layout.layout.equivalent(wanted)
    _same_bits(compiled, {"x": np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)})
    assert any(trigger in event.reason for event in compiled.history.events)


def test_output_that_the_operator_does_not_give_is_switched_after_it(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = models.build(nodes, {"x": ("float", SHAPE)}, {"y": ("float", SHAPE)})
    entries = [_entry("SwitchInput", GENERAL), _entry("FixOutput", PERMUTED)]
    compiled = _compile(model, layout_spec=_write(tmp_path, entries))
    switch = next(node for node in compiled.graph.nodes if node.op_type == "MNCoreLayoutSwitch")
    assert switch.outputs == ["y"]
    layout = compiled.outputs["y"].layout
    assert layout.layout.equivalent(Layout.parse(PERMUTED))
    assert any(event.value == "y" and "FixOutput" in event.reason for event in compiled.history.events)
    _same_bits(compiled, {"x": np.random.default_rng(2).standard_normal(SHAPE).astype(np.float32)})


def test_unused_spec_is_an_error_unless_allowed(tmp_path: Path) -> None:
    path = _write(tmp_path, [_entry("SwitchInput"), _entry("SwitchInput", op_type="Gather")])
    with pytest.raises(LayoutSpecError, match=r"1 layout spec.*entry 2.*CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC"):
        _compile(layout_spec=path)
    _compile(layout_spec=path, envs={"CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC": 1})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", r"spec.json:1:2: not valid JSON"),
        ({}, "expected a list of objects with trigger"),
        ([3], "entry 1: expected an object"),
        ([{**_entry("SwitchInput"), "layuot": 1}], "entry 1: unknown field 'layuot'.*'layout'"),
        ([{"trigger": "SwitchInput"}], "entry 1: op_type, shape, layout is missing"),
        ([_entry("SwitchInputs")], "trigger must be one of.*'SwitchInput'"),
        ([_entry("SwitchInput", shape=[0])], "shape must be a list of positive"),
        ([_entry("SwitchInput", op_type="")], "op_type must be the name"),
        ([_entry("SwitchInput", layout="((8_L2C:1))")], "entry 1: layout: "),
        ([_entry("SwitchInput", layout="((8_L2B:1), (4:1))")], r"does not fit shape \[64, 32\]"),
        ([_entry("SwitchInput", layout=7)], "layout must be a text"),
    ],
)
def test_bad_files_are_refused_by_entry_and_field(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(LayoutSpecError, match=words):
        LayoutSpecs.load(_write(tmp_path, content), None)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LayoutSpecError, match=r"gemm_layout_spec: .*absent.json cannot be read"):
        _compile(gemm_layout_spec=str(tmp_path / "absent.json"))


def test_the_example_files_of_the_seed_are_read(tmp_path: Path) -> None:
    layout = "((75_Time:4, 8_L2B:1, 16_MAB:1, 4:1, 4:4), (4_Time:1, 24:16, 4_W:1, 4_PE:1); B@[L1B])"
    shape = [151936, 1536]
    entries = [
        {"trigger": "SwitchInput", "op_type": "Gather", "shape": shape, "layout": layout},
        {"trigger": "FixOutput", "op_type": "ChainerIndexAdd", "shape": shape, "layout": layout},
    ]
    specs = LayoutSpecs.load(_write(tmp_path, entries), None)
    assert [entry.layout.num_slices for entry in specs.entries] == [300, 300]
    gemm = {
        "key": "embed_tokens",
        "A": "((), (8:3072, 8_L1B:1, 2_Time:1, 2:1536, 16:1), (96:16, 4_W:1, 4_PE:1))",
        "BT": "((25_Time:1, 3:1536, 8_L2B:1, 16_MAB:1, 4:1, 4:4), (96:16, 4_W:1, 4_PE:1); B@[L1B])",
        "C": "((), (8:96, 8_L1B:1, 2_Time:25, 2:48, 16:1), (25_Time:1, 3:16, 8_L2B:1, 16_MAB:1, 4_W:1, 4_PE:1))",
    }
    assert LayoutSpecs.load(None, _write(tmp_path, [gemm])).gemms[0].key == "embed_tokens"


def test_products_by_key(tmp_path: Path) -> None:
    """The layouts that the listing's own planner gives a product can be prescribed; others are refused by name."""
    model = models.mlp(40, [30], 32, 5)
    plain = _compile(model, layout_planner="legacy")
    values = plain.graph.values
    gemm = next(node for node in plain.graph.nodes if node.op_type == "Gemm")
    taken = [str(values[name].layout.layout) for name in (*gemm.inputs[:2], gemm.outputs[0])]  # type: ignore[union-attr]
    entry = dict(zip(("A", "BT", "C"), taken, strict=True), key=gemm.inputs[1])
    fixed = _compile(model, layout_planner="legacy", gemm_layout_spec=_write(tmp_path, [entry]))
    assert fixed.program.source == plain.program.source
    entry["BT"] = "((2:16, 4_PE:1, 4:4), (2_MAB:1, 4:1, 4_W:1); B@[L1B, L2B])"
    with pytest.raises(LayoutSpecError, match=r"entry 1: BT of Gemm\(.*cannot be"):
        _compile(model, layout_planner="legacy", gemm_layout_spec=_write(tmp_path, [entry]))
    entry["key"] = "nothing"
    with pytest.raises(LayoutSpecError, match="match nothing"):
        _compile(model, layout_planner="legacy", gemm_layout_spec=_write(tmp_path, [entry]))


def test_both_directions_carry_a_wish_from_one_operand_through_a_layer_to_the_other() -> None:
    """Equal compares an argmax with |t|: only planning in both directions tells Abs what the argmax looks like."""
    nodes = [
        helper.make_node("ArgMax", ["x"], ["a"], axis=1, keepdims=0),
        helper.make_node("Abs", ["t"], ["u"]),
        helper.make_node("Equal", ["a", "u"], ["y"]),
    ]
    inner = {"a": ("int", [125]), "u": ("int", [125])}
    model = models.build(nodes, {"x": ("float", [125, 40]), "t": ("int", [125])}, {"y": ("bool", [125])}, inner)
    switched = {}
    for planner in ("legacy", "bidi"):
        compiled = _compile(model, layout_planner=planner)
        switch = next(node for node in compiled.graph.nodes if node.op_type == "MNCoreLayoutSwitch")
        switched[planner] = switch.inputs[0].split("_")[0]
        rng = np.random.default_rng(3)
        _same_bits(compiled, {"x": rng.random((125, 40), dtype=np.float32), "t": rng.integers(-40, 40, 125)})
    assert switched == {"legacy": "u", "bidi": "t"}


def test_lpz_is_the_best_of_what_it_compares() -> None:
    model = models.mlp(125, [40], 32, 5)
    cycles = {planner: _compile(model, layout_planner=planner).timing.cycles for planner in ("lpz", "bidi", "legacy")}
    assert cycles["lpz"] <= min(cycles.values())
    forced = _compile(model, layout_planner="legacy", envs={"CODEGEN_LAYOUT_PLANNER_Z": 1})
    assert forced.timing.cycles == cycles["lpz"]


def test_history_tells_why() -> None:
    compiled = _compile(models.mlp(40, [30], 32, 5), layout_planner="legacy")
    reasons = {event.value: event.reason for event in compiled.history.events}
    assert reasons["x"] == "as its first reader wishes"
    assert reasons["attr_0"] == "what the operator reads"
    assert set(reasons) >= {"addmm", "relu", "addmm_1", "argmax", "eq", "correct"}
