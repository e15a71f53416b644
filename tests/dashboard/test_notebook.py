"""What notebooks show of layouts, programs, reports and compiled functions: well formed, escaped, complete."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from compiler.layout import Layout, PadLayout
from compiler.report.notebook import Report
from hw.program import SHOWN_LINES
from isa import assemble


def texts(html: str) -> list[str]:
    """All texts of well-formed HTML."""
    return [text for text in ElementTree.fromstring(f"<div>{html}</div>").itertext() if text.strip()]


def test_layouts() -> None:
    layout = Layout.parse("((8_L2B:1, 2:1), (4_PE:1); B@[W,MAB,4_L1B:2])")
    shown = texts(layout._repr_html_())
    assert shown[0] == str(layout)
    assert {"L2B", "Addr", "PE", "MAB (copies)", "L1B (copies)"} <= set(shown)
    pad = PadLayout((13, 3), layout)
    shown = texts(pad._repr_html_())
    assert "(13, 3)" in shown and "(16, 4)" in shown


def test_programs_are_cut_and_escaped() -> None:
    program = assemble("nop # <script>\n" * (SHOWN_LINES + 5), name="<b>")
    html = program._repr_html_()
    assert "<script>" not in html and "<b>" not in html
    shown = texts(html)
    assert f"{SHOWN_LINES + 5}" in shown and "... 5 more lines" in shown[-1]
    assert texts(assemble("nop")._repr_html_())


def test_reports(compiled: Path) -> None:
    data = json.loads((compiled / "report.json").read_text())
    report = Report(data)
    assert report == data and json.loads(json.dumps(report)) == data
    shown = texts(report._repr_html_())
    assert f"{data['vsm_cycles']:,}" in shown
    slowest = max(data["layers"], key=lambda layer: layer["cycles"])["name"]
    assert next(text for text in shown if "->" in text) == slowest
    assert texts(Report()._repr_html_())


def test_compiled_functions(tmp_path: Path) -> None:
    import torch

    from mlsdk import Context, MNDevice, storage

    context, path = Context(MNDevice("emu2")), storage.path(str(tmp_path))
    sample = {"x": torch.zeros(5, 3)}
    function = context.compile(lambda given: {"y": torch.relu(given["x"])}, sample, path, training=False)
    shown = texts(function._repr_html_())
    assert {"input", "output", "x", "y", "(5, 3)"} <= set(shown)
    assert f"{function.report['vsm_cycles']:,}" in shown
