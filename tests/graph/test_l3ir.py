"""l3ir.txt: the public listing is read and written back byte for byte, and mistakes are named with their line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.graph import (
    L3irError,
    Location,
    LocKind,
    MNGraph,
    MNNode,
    MNType,
    MNValue,
    OnnxType,
    PadType,
    parse_l3ir,
    to_l3ir,
)
from compiler.layout import PadLayout

LISTING = (Path(__file__).parent / "data" / "eval_step.l3ir.txt").read_text(encoding="utf-8")


def test_the_listing_is_written_back_byte_for_byte() -> None:
    graph = parse_l3ir(LISTING)
    assert to_l3ir(graph) == LISTING
    graph.verify()


def test_what_the_listing_says() -> None:
    graph = parse_l3ir(LISTING)
    assert [node.op_type for node in graph.nodes] == [
        "Constant",
        "MNCoreDownload",
        "MNCoreLayoutSwitch",
        "MNCoreUpload",
        "MNCoreDownload",
        "Reshape",
        "Gemm",
    ]
    gemm = graph.nodes[-1]
    assert gemm.inputs == ["view_fx2onnx", "attr_0", "attr_1"] and list(gemm.attrs) == ["transB"]
    assert graph.inputs == ["t", "x", "attr_0", "attr_1"] and graph.params == []
    assert graph.outputs == ["t_LayoutSwitch_0_Upload_0", "addmm_fx2onnx"]
    view = graph.values["view_fx2onnx"]
    assert (view.onnx_dtype, view.dtype, view.shape) == (OnnxType.FLOAT32, MNType.HALF, (125, 1024))
    assert (view.gene, view.pad_type, view.num_lw) == (("N", "C"), PadType.ZERO, 8)
    assert (view.loc, view.loc_kind, view.addr, view.parent) == (Location.LM0, LocKind.LM, 0, "x_Download_0")
    assert str(view.layout) == "(125,1024)/((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4:2, 4_W:1, 4_PE:1))"
    # Values that only transfers name have no loc_kind in the text; it follows from the location.
    assert graph.values["t"].loc_kind is LocKind.DRAM
    constant = graph.values["val_1_fx2onnx"]
    assert (constant.loc, constant.addr, constant.gene) == (Location.IMM, None, ("",))


def test_unplanned_fields_are_left_out() -> None:
    graph = MNGraph(
        [MNNode("Clip", "clip", ["x", "", "most"], ["y"], {"alpha": 2, "beta": 3})],
        {
            "x": MNValue("x", OnnxType.FLOAT32, (4, 3), MNType.FLOAT, gene=("N", "")),
            "most": MNValue("most", OnnxType.FLOAT32, (), MNType.FLOAT, loc=Location.IMM),
            "y": MNValue("y", OnnxType.FLOAT32, (4, 3), MNType.FLOAT, loc_kind=LocKind.LM),
        },
        ["x", "most"],
        ["y"],
    )
    text = to_l3ir(graph)
    assert text == (
        "Clip(x, , most, alpha, beta) -> (y)\n"
        "   in(0):x onnx_type=Tensor(dtype=FLOAT32 shape=4,3) layout_kind=MNCore dtype=Float gene=[N,])\n"
        "   in(2):most onnx_type=Tensor(dtype=FLOAT32 shape=) layout_kind=MNCore dtype=Float gene=[]"
        " loc_kind=IMM loc=IMM)\n"
        "  out(0):y onnx_type=Tensor(dtype=FLOAT32 shape=4,3) layout_kind=MNCore dtype=Float gene=[,] loc_kind=LM)\n"
    )
    read = parse_l3ir(text)
    assert to_l3ir(read) == text
    assert read.nodes[0].inputs == ["x", "", "most"] and list(read.nodes[0].attrs) == ["alpha", "beta"]
    assert read.values["most"].shape == () and read.values["most"].gene == ()


def test_scalar_layout_round_trip() -> None:
    layout = PadLayout.parse("()/(; B@[PE,W,MAB,L1B,L2B])")
    value = MNValue("correct", OnnxType.INT64, (), MNType.INT, layout, loc=Location.LM1, addr=8)
    text = to_l3ir(MNGraph([MNNode("Sum", "s", [], ["correct"])], {"correct": value}, [], ["correct"]))
    assert "num_lw=2 padded_shape= layout=PadLayout{()/(; B@[PE,W,MAB,L1B,L2B])} layout_kind" in text
    assert to_l3ir(parse_l3ir(text)) == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dtype=Half gene=[N,C]", "dtype=Hlaf gene=[N,C]", r"line 18: unknown MNType 'Hlaf'.*did you mean 'Half'\?"),
        ("dtype=INT64 shape=2", "dtype=INT46 shape=2", r"line 2: unknown OnnxType 'INT46'.*did you mean 'INT64'\?"),
        ("loc=LM1", "loc=LM2", r"line 23: unknown Location 'LM2', expected one of DRAM, LM0, LM1, IMM"),
        ("pad_type=Dirty loc_kind=LM loc=LM0", "pad_type=Drity loc_kind=LM loc=LM0", "did you mean 'Dirty'"),
        ("num_lw=1024", "num_lw=1000", "line 21: attr_0: num_lw=1000, but the layout gives 1024"),
        ("shape=256) num_lw=2 padded_shape=256", "shape=256) num_lw=2 padded_shape=128", "the layout gives 256"),
        ("shape=256) num_lw", "shape=255) num_lw", r"attr_1: layout is for shape \(256,\), the value has \(255,\)"),
        ("layout_kind=MNCore dtype=Float", "layout_kind=Host dtype=Float", "layout_kind=Host is not known"),
        ("(16_MAB:1, 4_W:1, 4_PE:1))}", "(16_MBA:1, 4_W:1, 4_PE:1))}", "line 23: .*did you mean 'MAB'"),
        ("in(2):attr_1", "in(2):attr_2", r"in\(2\) is attr_2, but the header lists view_fx2onnx, attr_0, attr_1"),
        ("loc_kind=DRAM loc=DRAM addr=9216", "loc_kind=LM loc=DRAM addr=9216", "loc_kind LM does not fit loc DRAM"),
        ("   in(0):t_Download_1 onnx_type=Tensor(dtype=INT64", "   in(0):t_Download_1 onnx_type=Tensor(dtype=INT32",
         "line 7: t_Download_1 has onnx_dtype=INT32, but an earlier line says INT64"),
        ("Gemm(view_fx2onnx,", "Gemm view_fx2onnx,", r"line 19: expected 'Op\(inputs, attributes\)"),
        (" onnx_type=Tensor(dtype=FLOAT32 shape=256) ", " ", "line 22: expected 'NAME onnx_type="),
    ],
)  # fmt: skip
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    assert old in LISTING
    with pytest.raises(L3irError, match=message):
        parse_l3ir(LISTING.replace(old, new, 1))


def test_missing_lines() -> None:
    lines = LISTING.splitlines()
    with pytest.raises(L3irError, match=r"line 22: Gemm: the line of out\(0\), addmm_fx2onnx, is missing"):
        parse_l3ir("\n".join([*lines[:22], ""]))
    with pytest.raises(L3irError, match=r"Gemm: the line of in\(1\), attr_0, is missing"):
        parse_l3ir("\n".join(lines[:20] + lines[21:]))
    with pytest.raises(L3irError, match="line 1: a value line before the first node"):
        parse_l3ir("\n".join(lines[1:]))


def test_names_that_could_not_be_read_back() -> None:
    value = MNValue("a b", OnnxType.FLOAT32, (1,), MNType.FLOAT, constant=np.zeros(1))
    with pytest.raises(L3irError, match=r"value name 'a b' cannot stand in l3ir\.txt"):
        to_l3ir(MNGraph([MNNode("Neg", "n", [], ["a b"])], {"a b": value}))
