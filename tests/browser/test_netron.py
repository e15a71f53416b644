"""Netron draws the models of the folder, in the dashboard and in a tab of its own, and asks nobody for anything."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
import zstandard
from onnx import TensorProto, helper

from tests.browser import perfetto_ui
from tests.browser.dashboard import dashboard

_MISSING = perfetto_ui.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING is not None, reason=f"browser tests need more: {_MISSING}"),
]
pytest.importorskip("netron", reason="needs the extra dashboard")

FILES = ("l3ir_stripped.onnx.zst", "model.onnx", "pfvm.onnx")


def load(path: Path) -> onnx.ModelProto:
    """A model, packed or not."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 26)
    return onnx.load_from_string(data)


def drawn(frame: Any, at_least: int) -> Counter[str]:
    """The texts of all boxes, once the graph is there."""
    frame.locator("body.default").wait_for()
    frame.locator(f"g.node >> nth={at_least - 1}").wait_for(state="attached")
    assert not frame.locator("#message-button").is_visible()
    picture = frame.locator("#target").inner_html()  # Netron forbids eval, by which most questions are asked
    return Counter(html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", picture))


def operators(model: onnx.ModelProto) -> Counter[str]:
    """How often each operator must be drawn; Netron folds constants into their readers or draws them as such."""
    return Counter(node.op_type for node in model.graph.node if node.op_type != "Constant")


@pytest.mark.parametrize("name", FILES)
def test_every_model_is_drawn(page: Any, url: str, folder: Path, name: str) -> None:
    model = load(folder / name)
    page.goto(f"{url}/nodes?file={name}")
    page.click("a:text-is('open in Netron')")
    assert page.locator("h1").inner_text() == "Netron"
    frame = page.frame_locator("iframe")
    texts = drawn(frame, len(operators(model)))
    for operator, count in operators(model).items():
        assert texts[operator] == count, operator
    for value in (*model.graph.input, *model.graph.output):
        assert texts[value.name] >= 1 or value.name in {entry.name for entry in model.graph.initializer}, value.name
    gemms = [node for node in model.graph.node if node.op_type == "Gemm"]
    shown = before = now = ""
    for at in range(len(gemms)):
        frame.locator("g.node:has(text:text-is('Gemm'))").nth(at).locator("text").first.click(force=True)
        frame.locator("#sidebar-content input").first.wait_for()
        for _ in range(100):  # the text of the node before stays until the sidebar has been filled anew
            now = frame.locator("#sidebar-content").inner_html()
            if now != before:
                break
            page.wait_for_timeout(50)
        shown, before = shown + now, now
        page.keyboard.press("Escape")
        page.wait_for_timeout(500)  # the sidebar slides away, and would take the next click
    assert gemms and all(f'"{node.name}"' in shown or f">{node.output[0]}<" in shown for node in gemms), shown


def test_in_a_tab_of_its_own_years_later(page: Any, url: str, folder: Path) -> None:
    page.clock.set_system_time("2036-02-29T12:00:00")  # Netron wants to be renewed after half a year
    page.goto(f"{url}/netron?file=pfvm.onnx")
    page.goto(url + page.get_attribute("#alone", "href"))
    assert drawn(page, 5)["Gemm"] == operators(load(folder / "pfvm.onnx"))["Gemm"]
    assert page.title() == "pfvm.onnx"


def test_the_policy_holds_if_the_application_tries(browser: Any, url: str) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        sent: list[str] = []
        context.on("requestfinished", lambda request: sent.append(request.url))
        page.goto(f"{url}/netron/app/index.html?url=https://example.org/model.onnx&identifier=model.onnx")
        page.locator("#message-button").wait_for()  # it says that it could not load that
        fetched = "fetch('https://ipinfo.io/json').then(() => 'sent', () => 'refused')"
        answer = context.new_cdp_session(page).send("Runtime.evaluate", {"expression": fetched, "awaitPromise": True})
        assert answer["result"]["value"] == "refused"
        assert [(cookie["name"], cookie["path"]) for cookie in context.cookies()] == [("consent", "/netron/app")]
        assert all(address.startswith(url) for address in sent)
    finally:
        context.close()


def test_a_large_model(page: Any, tmp_path: Path) -> None:
    count = 1500
    kinds = ["Relu" if at % 3 else "Neg" for at in range(count)]
    nodes = [helper.make_node(kind, [f"v{at}"], [f"v{at + 1}"], name=f"n{at}") for at, kind in enumerate(kinds)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("v0", f"v{count}")]
    weights = [helper.make_tensor("w", TensorProto.FLOAT, [4_000_000], bytes(16_000_000), raw=True)]
    model = helper.make_model(helper.make_graph(nodes, "large", ends[:1], ends[1:], weights))
    packed = zstandard.ZstdCompressor().compress(model.SerializeToString())
    (tmp_path / "large.onnx.zst").write_bytes(packed)
    with dashboard(tmp_path) as address:
        page.goto(f"{address}/graph")
        assert page.locator("main svg rect").count() == 150 and "of 1,500" in page.locator("main").inner_text()
        page.goto(f"{address}/nodes?q=n1499")
        assert page.locator("main table tbody tr").count() == 1
        page.goto(f"{address}/netron")
        texts = drawn(page.frame_locator("iframe"), count)
        assert (texts["Relu"], texts["Neg"]) == (1000, 500)
