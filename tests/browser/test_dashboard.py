"""Every page of the dashboard of eval_step and of a train step, clicked through: it says what the files say.

Scripts work under the pages' own policy, and nothing is asked of another server (`watched_page`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest

from runtime.dashboard.render import NAVIGATION
from tests.browser import perfetto_ui

_MISSING = perfetto_ui.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING is not None, reason=f"browser tests need more: {_MISSING}"),
]


def cells(page: Any, selector: str) -> list[list[str]]:
    """The texts of all cells of the rows that `selector` finds."""
    rows: list[list[str]] = page.eval_on_selector_all(
        selector, "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    return rows


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.fixture
def report(folder: Path) -> dict[str, Any]:
    """report.json of the folder."""
    content: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return content


def slowest_of(report: dict[str, Any]) -> dict[str, Any]:
    return max(report["layers"], key=lambda layer: layer["cycles"])  # type: ignore[no-any-return]


def test_all_pages_are_reached_by_clicks(page: Any, url: str, folder: Path) -> None:
    page.goto(url)
    for name in NAVIGATION.values():
        page.click(f"nav a:text-is('{name}')")
        page.wait_for_load_state()  # with the style sheet, which decides the width
        assert page.locator("h1").inner_text() == name
        assert page.locator("nav a[aria-current]").inner_text() == name
        assert page.locator(".path").inner_text() == str(folder)
        assert page.locator("[role=alert]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is wider than the window"


def test_summary(page: Any, url: str, report: dict[str, Any]) -> None:
    page.goto(url)
    tiles = page.locator(".tiles b").all_inner_texts()
    assert tiles[0] == f"{report['vsm_cycles']:,}" and f"{report['flops']:,}" in tiles
    figures = dict(row for row in cells(page, "tbody tr") if len(row) == 2)
    assert figures["cycles of the program"] == tiles[0]
    assert "--float_dtype=mixed" in figures["command"] and figures["core frequency, MHz"] == "750"
    assert (figures["groups"], figures["pe_per_mab"]) == ("4", "4")
    shown = [row for row in cells(page, "tbody tr") if len(row) == 3]
    assert shown == [[phase["name"], phase["status"], str(phase["seconds"])] for phase in report["phases"]]
    spent = page.eval_on_selector_all(".stack span", "parts => parts.map(part => part.title)")
    assert [number(re.findall(r": ([\d,]+) cycles", text)[0]) for text in spent] == [
        cycles for cycles in report["bounds"].values() if cycles
    ]
    slowest = sorted(report["layers"], key=lambda layer: -layer["cycles"])[:10]
    listed = [row for row in cells(page, "tbody tr") if len(row) == 4]
    assert [number(row[1]) for row in listed] == [layer["cycles"] for layer in slowest]
    page.click("table:has(th:text-is('mostly')) a >> nth=0")
    assert page.locator("main section p.code").first.inner_text() == slowest[0]["name"]


def test_layers_sort_and_filter(page: Any, url: str, report: dict[str, Any]) -> None:
    page.goto(f"{url}/layers")
    shown = cells(page, "#layers tbody tr")
    expected = [(layer["name"], layer["cycles"]) for layer in report["layers"]]
    assert [(row[1], number(row[4])) for row in shown] == expected
    page.click("#layers th:text-is('cycles')")
    ordered = cells(page, "#layers tbody tr")
    assert [number(row[4]) for row in ordered] == sorted((layer["cycles"] for layer in report["layers"]), reverse=True)
    assert ordered[0][1] == slowest_of(report)["name"]
    page.click("#layers th:text-is('cycles')")
    assert number(cells(page, "#layers tbody tr")[-1][4]) == slowest_of(report)["cycles"]
    page.click("#layers th:text-is('operator')")
    operators = [row[2] for row in cells(page, "#layers tbody tr")]
    assert operators == sorted(operators, key=str.lower)
    page.fill("input[data-filter]", "gemm")
    filtered = page.locator("#layers tbody tr:visible").all_inner_texts()
    assert len(filtered) == sum("gemm" in json.dumps(row).lower() for row in shown) > 0
    page.click("#layers tbody tr:visible a >> nth=0")
    title = page.locator("h1").inner_text()
    layer = report["layers"][int(title.removeprefix("Layer "))]
    figures = dict(row for row in cells(page, "tbody tr") if len(row) == 2)
    assert figures["cycles"] == f"{layer['cycles']:,}" and figures["name"] == layer["name"]
    for cause, cycles in layer["causes"].items():
        assert [cause, f"{cycles:,}"] in cells(page, "section:has(h2:text-is('causes')) tr")


def test_pictures_are_drawn(page: Any, url: str) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    page.goto(f"{url}/layers")
    pictures = page.locator("figure img")
    assert pictures.count() == 3
    for at in range(3):
        pictures.nth(at).scroll_into_view_if_needed()
        page.wait_for_function("at => document.querySelectorAll('figure img')[at].naturalWidth > 400", arg=at)


def test_statistics(page: Any, url: str, report: dict[str, Any]) -> None:
    page.goto(f"{url}/stats")
    by_operator: dict[str, list[int]] = {}
    for layer in report["layers"]:
        by_operator.setdefault(layer["op_type"], []).append(layer["cycles"])
    everything, *rows = cells(page, "section:first-of-type tbody tr")
    assert everything[:3] == ["ALL", f"{len(report['layers'])}", f"{report['vsm_cycles']:,}"]
    assert everything[3] == "100.0" and number(everything[4]) == report["flops"]
    assert {row[0]: (int(row[1]), number(row[2])) for row in rows} == {
        name: (len(cycles), sum(cycles)) for name, cycles in by_operator.items()
    }
    assert [row[0] for row in cells(page, "tr.all")] == ["ALL"] * 3


@pytest.mark.parametrize("name", ["trace.json", "profile.json"])
def test_timeline_finds_the_slowest_layer(page: Any, url: str, report: dict[str, Any], name: str) -> None:
    page.goto(f"{url}/timeline")
    page.click(f".choose a:text-is('{name}')")
    page.wait_for_selector("canvas[data-ready]")
    colours = """() => { const c = document.getElementById('timeline'), p = c.getContext('2d');
        return new Set(new Uint32Array(p.getImageData(0, 0, c.width, c.height).data.buffer)).size; }"""
    assert page.evaluate(colours) > 10
    slowest = slowest_of(report)
    first = cells(page, "#slowest tbody tr")[0]
    assert first[0] == slowest["name"] and number(first[2]) == slowest["cycles"]
    assert number(first[1]) == slowest["start"]
    assert float(first[3]) == pytest.approx(slowest["cycles"] / report["core_freq"], abs=1e-3)
    before = page.evaluate("() => document.getElementById('timeline').toDataURL()")
    page.click("#slowest tbody tr")
    assert page.evaluate("() => document.getElementById('timeline').toDataURL()") != before
    box = page.locator("#timeline").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    under = page.locator("#under").inner_text()
    assert under.startswith(f"layers: {slowest['name']}, cycle {slowest['start']:,}, {slowest['cycles']:,} cycles")
    page.mouse.wheel(0, 500)
    page.dblclick("#timeline")
    assert page.evaluate("() => document.getElementById('timeline').toDataURL()") == before


def test_the_button_opens_the_trace_in_perfetto(browser: Any, url: str, report: dict[str, Any]) -> None:
    page = browser.new_page()
    sent: list[str] = []
    page.on("requestfinished", lambda request: sent.append(request.url))  # the UI tries others, its policy refuses
    page.goto(f"{url}/timeline?file=trace.json")
    page.goto(url + page.get_attribute("#perfetto", "href"))
    page.wait_for_function("() => self.app?.trace?.engine && !self.app.isLoadingTrace")
    query = """async sql => { const found = await self.app.trace.engine.query(sql);
        const it = found.iter({}); return [Number(it.get('c')), Number(it.get('d'))]; }"""
    layers = "from slice s join thread_track t on s.track_id = t.id join thread using (utid) where thread.name='layers'"
    count, nanoseconds = page.evaluate(query, f"select count(*) as c, sum(s.dur) as d {layers}")
    assert count == len(report["layers"])
    assert nanoseconds == pytest.approx(report["vsm_cycles"] * 1000 / report["core_freq"], abs=len(report["layers"]))
    page.close()
    assert all(address.startswith((url, "data:", "blob:")) for address in sent)


def test_graph_and_node(page: Any, url: str, folder: Path) -> None:
    model = onnx.load(folder / "pfvm.onnx", load_external_data=False)
    page.goto(f"{url}/graph")
    assert page.locator("main svg rect").count() == len(model.graph.node)
    titles = page.eval_on_selector_all("main svg g > title", "all => all.map(title => title.textContent)")
    assert [re.findall(r"\nout: (.*?)[ \n]", f"{text} ")[0].rstrip(",") for text in titles] == [
        node.output[0] for node in model.graph.node
    ]
    page.click("main a:text-is('as a list')")
    assert page.locator("h1").inner_text() == "Node"
    shown = cells(page, "main table tbody tr")
    assert [row[1].split(".")[-1] for row in shown] == [node.op_type for node in model.graph.node]
    assert [row[2] for row in shown] == [node.name for node in model.graph.node]
    page.fill("input[name=q]", "GEMM linear2")
    page.click("button:text-is('search')")
    found = cells(page, "main table tbody tr")
    assert [row[2] for row in found] == [
        node.name
        for node in model.graph.node
        if node.op_type == "Gemm" and any("linear2" in name for name in node.input)
    ]
    assert len(found) == 1
    page.click("main table tbody a")
    assert page.locator("h1").inner_text() == "Graph"
    page.click(".choose a:text-is('l3ir_stripped.onnx.zst')")
    page.wait_for_selector("main svg")
    assert "MNCore" in "".join(page.locator("main svg text").all_text_contents())


def test_logs(page: Any, url: str, folder: Path) -> None:
    page.goto(f"{url}/logs")
    (log,) = (folder / "glog").iterdir()
    for name in ("CLOG.log", "out.txt", f"glog/{log.name}"):
        page.click(f".choose a:text-is('{name}')")
        text = (folder / name).read_text()
        assert page.locator("#text").text_content().strip() == text.strip()
    page.wait_for_load_state()  # the box filters once the script has run
    page.fill("input[data-filter]", "phase")
    lines = page.locator("#text").text_content().splitlines()
    assert lines == [line for line in text.splitlines() if "phase" in line] and lines


def test_html_tools(page: Any, url: str, folder: Path) -> None:
    page.goto(f"{url}/tools")
    for name in ("layout.html", "layout_plan_history.html", "time_slice.html"):
        page.click(f".choose a:text-is('{name}')")
        frame = page.frame_locator("iframe")
        frame.locator("tbody tr").first.wait_for()
        rows = frame.locator("tbody tr:visible").count()
        assert rows == (folder / name).read_text().count("<tr") - frame.locator("thead tr").count()
        frame.locator("input").fill("no such value")
        assert frame.locator("tbody tr:visible").count() == 0
    for name in ("l3ir.txt", "time_slice.txt"):
        page.click(f".choose a:text-is('{name}')")
        assert page.locator("#text").text_content().strip() == (folder / name).read_text().strip()


def test_files_can_be_downloaded(page: Any, url: str, folder: Path) -> None:
    import zstandard

    page.goto(f"{url}/files")
    shown = {row[0]: number(row[1]) for row in cells(page, "tbody tr")}
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert shown == {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
    for path in files:
        answer = page.request.get(f"{url}/raw/{path.relative_to(folder).as_posix()}")
        assert answer.body() == path.read_bytes(), path
    with page.expect_download() as download:
        page.click("a:text-is('unpacked')")
    packed = (folder / "l3ir_stripped.onnx.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().decompress(packed, max_output_size=1 << 26)
    assert download.value.suggested_filename == "l3ir_stripped.onnx"
    assert Path(download.value.path()).read_bytes() == plain
