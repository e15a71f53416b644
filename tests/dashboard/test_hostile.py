"""Folders that are damaged, half written, huge or malicious, and requests that reach for more than the folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import helper

from runtime.dashboard import pages
from runtime.dashboard.folder import MOST_TEXT, CodegenFolder, FileProblem

Clients = Callable[[Path], Any]
PAGES = tuple(page.path.replace("{number}", "0") for page in pages.PAGES)
EVIL = """<script>alert('1')</script>"><img src=x onerror=alert(2)>"""


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_folder_says_what_is_missing(tmp_path: Path, client_of: Clients, path: str) -> None:
    answer = client_of(tmp_path).get(path)
    assert answer.status_code in (200, 404)
    assert "there is no" in answer.text or "not there" in answer.text or path in ("/files",)


@pytest.mark.parametrize("content", [b"", b'{"layers": [', b"[1]", b'{"layers": [7]}', b"\xff\xfe\x00", b"[" * 100_000])
def test_broken_files_are_said(tmp_path: Path, client_of: Clients, content: bytes) -> None:
    for name in ("report.json", "profile.json", "trace.json", "option.json", "l3ir.txt", "pfvm.onnx", "CLOG.log"):
        (tmp_path / name).write_bytes(content)
    client = client_of(tmp_path)
    for path in PAGES:
        answer = client.get(path)
        assert answer.status_code in (200, 422), path
        assert 'role="alert"' in answer.text or path in ("/tools", "/logs", "/files"), path


def test_a_report_with_other_types_than_expected(changeable: Path, client_of: Clients) -> None:
    report = json.loads((changeable / "report.json").read_text())
    strange: list[Any] = [None, "x", [1], {"a": "b"}, {"a": None}, -1, 1e300, True]
    keys = [key for key in report if key != "layers"]
    for at, value in enumerate(strange):
        layers = [dict(layer) for layer in report["layers"]]
        for number, layer in enumerate(layers):
            for place, key in enumerate(layer):
                if (place + number + at) % 3 == 0:
                    layer[key] = value
        changed = {key: value if (place + at) % 2 else report[key] for place, key in enumerate(keys)}
        (changeable / "report.json").write_text(json.dumps({**changed, "layers": layers}))
        client = client_of(changeable)
        for path in ("/", "/layers", "/layer/0", "/layer/1", "/stats", "/plot/roofline.svg", "/plot/layers.svg"):
            assert client.get(path).status_code in (200, 422), (value, path)


def test_a_folder_that_is_being_written(changeable: Path, client_of: Clients) -> None:
    whole = (changeable / "report.json").read_bytes()
    (changeable / "report.json").write_bytes(whole[: len(whole) // 2])
    client = client_of(changeable)
    assert "no complete JSON" in client.get("/layers").text
    assert "while a compilation is writing it" in client.get("/").text
    (changeable / "report.json").write_bytes(whole)
    assert client.get("/layers").status_code == 200
    packed = (changeable / "l3ir_stripped.onnx.zst").read_bytes()
    (changeable / "l3ir_stripped.onnx.zst").write_bytes(packed[:100])
    answer = client.get("/nodes?file=l3ir_stripped.onnx.zst")
    assert answer.status_code == 422 and "no complete" in answer.text
    (changeable / "l3ir_stripped.onnx.zst").write_bytes(packed)
    assert client.get("/nodes?file=l3ir_stripped.onnx.zst").status_code == 200


def test_a_folder_that_vanishes(changeable: Path, client_of: Clients) -> None:
    client = client_of(changeable)
    changeable.rename(changeable.with_name("elsewhere"))
    answer = client.get("/layers")
    assert answer.status_code == 404 and "is gone" in answer.text
    assert client.get("/files").status_code == 200


OUTSIDE = (
    "../secret.txt",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "glog/../../secret.txt",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "link.txt",
    "linked/secret.txt",
    ".hidden",
    "a%00b",
    "pipe",
    "glog",
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_but_plain_files_of_the_folder(tmp_path: Path, client_of: Clients, name: str) -> None:
    folder = tmp_path / "folder"
    (folder / "glog").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (folder / ".hidden").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    client = client_of(folder)
    for path in (f"/raw/{name}", f"/tools?file={name}", f"/logs?file={name}", f"/timeline?file={name}"):
        answer = client.get(path)
        assert "secret\n" not in answer.text and "root:" not in answer.text and answer.text != "secret"
        if path.startswith("/raw"):
            assert answer.status_code in (400, 403, 404)
    assert client.get("/files").text.count("/raw/") == 0


def test_a_link_inside_the_folder_is_fine(tmp_path: Path, client_of: Clients) -> None:
    (tmp_path / "real.txt").write_text("here")
    (tmp_path / "link.txt").symlink_to("real.txt")
    assert client_of(tmp_path).get("/raw/link.txt").text == "here"


def test_everything_is_escaped(changeable: Path, client_of: Clients) -> None:
    node = helper.make_node("Relu", [EVIL], [f"{EVIL}y"], name=EVIL, comment=EVIL)
    info = [helper.make_tensor_value_info(name, 1, [1]) for name in (EVIL, f"{EVIL}y")]
    onnx.save(helper.make_model(helper.make_graph([node], "g", info[:1], info[1:])), changeable / "evil.onnx")
    text = (changeable / "report.json").read_text()
    name = EVIL.replace('"', '\\"')
    (changeable / "report.json").write_text(text.replace('"op_type": "', f'"op_type": "{name}'))
    (changeable / "CLOG.log").write_text(EVIL)
    (changeable / f"{EVIL.replace('/', '')}.log").write_text(EVIL)
    trace = {"traceEvents": [{"ph": "X", "ts": 0, "dur": 1, "name": EVIL}]}
    (changeable / "trace.json").write_text(json.dumps(trace))
    client = client_of(changeable)
    files = ("/nodes?file=evil.onnx", "/graph?file=evil.onnx", "/logs?file=CLOG.log")
    for path in (*PAGES, *files, f"/nodes?q={EVIL}", f"/layout?value={EVIL}", f"/{EVIL}"):
        page = client.get(path).text
        assert "<script>alert" not in page and "<img" not in page.replace('<img src="/plot/', ""), path
        assert "&lt;script&gt;" in page or path in ("/layout", "/tools", "/graph", "/netron", "/nodes"), path


def test_huge_files(tmp_path: Path, client_of: Clients) -> None:
    with (tmp_path / "report.json").open("wb") as sparse:
        sparse.truncate(MOST_TEXT + 1)
    with (tmp_path / "big.log").open("wb") as sparse:
        sparse.truncate(3 * 2**30)
        sparse.seek(3 * 2**30)
        sparse.write(b"the end\n")
    client = client_of(tmp_path)
    answer = client.get("/layers")
    assert answer.status_code == 413 and "download it instead" in answer.text
    page = client.get("/logs?file=big.log").text
    assert "the end" in page and len(page) < 2**22


def test_a_packed_bomb_is_refused(tmp_path: Path) -> None:
    import zstandard

    (tmp_path / "bomb.onnx.zst").write_bytes(zstandard.ZstdCompressor().compress(bytes(MOST_TEXT + 2**20)))
    with pytest.raises(FileProblem, match="unpacked") as caught:
        CodegenFolder(tmp_path).read("bomb.onnx.zst")
    assert caught.value.status == 413


def test_other_names_of_this_server_are_refused(compiled: Path, client_of: Clients) -> None:
    client = client_of(compiled)
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/", headers={"host": "127.0.0.1:8327"}).status_code == 200
    assert client.post("/").status_code == 405


@pytest.mark.parametrize("query", ["first=-1", "first=x", "first=999999999999999", "file=model.app", "file=no.onnx"])
def test_wrong_queries(compiled: Path, client_of: Clients, query: str) -> None:
    answer = client_of(compiled).get(f"/nodes?{query}")
    assert answer.status_code in (400, 404, 422) and 'role="alert"' in answer.text


def test_the_command_serves_on_loopback_until_it_is_stopped(compiled: Path) -> None:
    command = [sys.executable, "-m", "runtime.dashboard", "serve", str(compiled), "--port", "0"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[0]
            assert url.startswith("http://127.0.0.1:")
            with opener.open(url, timeout=20) as answer:
                assert b"Codegen Dashboard" in answer.read()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from runtime.dashboard.command import main

    assert main(["serve", str(tmp_path / "no")]) == 2
    assert main(["serve", __file__]) == 2
    assert main(["serve", str(tmp_path), "--port", "70000"]) == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 1
    said = capsys.readouterr().err
    assert "there is no folder" in said and "is no folder" in said and "expected 0 to 65535" in said
    assert "cannot listen on 127.0.0.1" in said
    for arguments in ([], ["sreve", "."], ["serve"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
