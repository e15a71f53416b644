"""Folders that are damaged, half written, huge or malicious, and requests that reach for more than the folder."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
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
    strange: list[Any] = [None, "x", [1], {}, {"a": "b"}, {"a": None}, [None], -1, 1e300, True, "\ud800"]
    strange += [float("nan"), float("inf"), {"a": float("nan")}]
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
        drawn = ("/plot/roofline.svg", "/plot/layers.svg") if at % 4 == 0 else ()  # drawing takes its time
        for path in ("/", "/layers", "/layer/0", "/layer/1", "/stats", *drawn):
            assert client.get(path).status_code in (200, 422), (value, path)


STRANGE_EVENTS: tuple[dict[str, Any], ...] = (
    {"pid": [1], "tid": {"a": 1}, "ts": 0, "dur": 1, "name": "\ud800"},
    {"ts": 1e400, "dur": 1},
    {"ts": float("nan"), "dur": 1},
    {"ts": 0, "dur": None},
    {"args": {"cycle": -5, "cycles": 10**30}, "name": None},
    {"args": [], "ts": 0, "dur": 1},
)


@pytest.mark.parametrize("event", STRANGE_EVENTS, ids=str)
def test_a_trace_with_other_types_than_expected(tmp_path: Path, client_of: Clients, event: dict[str, Any]) -> None:
    names = [{"ph": "M", "name": name, "pid": [1], "args": value} for name in ("thread_name", "x") for value in (7, {})]
    text = json.dumps({"traceEvents": [*names, {"ph": "X", **event}], "otherData": {"clock_mhz": float("inf")}})
    (tmp_path / "trace.json").write_text(text)
    for path in ("/timeline", "/data/timeline?file=trace.json", "/plot/utilisation.svg"):
        assert client_of(tmp_path).get(path).status_code in (200, 404, 422), path


def test_a_model_with_damaged_names(changeable: Path, client_of: Clients) -> None:
    data = (changeable / "pfvm.onnx").read_bytes()
    (changeable / "pfvm.onnx").write_bytes(data.replace(b"addmm", b"ad\xff\xfem"))
    client = client_of(changeable)
    for path in ("/nodes", "/graph", "/netron", "/nodes?q=gemm"):
        assert client.get(path).status_code in (200, 422), path


def test_names_that_an_address_cannot_hold(tmp_path: Path, client_of: Clients) -> None:
    for name in (b"\xff.onnx", b"new\nline.log", b"\x1b[31m.log", b"a&b=c?d#e.log", b"%2e%2e.log"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"hello")
    client = client_of(tmp_path)
    for path in PAGES:
        assert client.get(path).status_code in (200, 404), path
    (link,) = (href for href in re.findall(r'href="(/logs[^"]*)"', client.get("/logs").text) if "a%26b" in href)
    assert "hello" in client.get(html.unescape(link)).text


@pytest.mark.parametrize("base", ["/raw", "/unpacked", "/netron/app", "/perfetto", "/static", "/plot", "/layer"])
@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 2000, "b" * 300 + ".js", "x%00.js", "%ff", "%2e%2e/%2e%2e/a", "٣"])
def test_names_that_no_file_has(tmp_path: Path, client_of: Clients, base: str, name: str) -> None:
    assert client_of(tmp_path).get(f"{base}/{name}").status_code in (400, 404, 422)


def test_a_failure_of_a_page_is_said_and_the_others_go_on(
    compiled: Path, client_of: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    monkeypatch.setattr(pages.summary, "tiles", lambda *_: 1 // 0)
    client = TestClient(client_of(compiled).app, base_url="http://localhost", raise_server_exceptions=False)
    answer = client.get("/")
    assert answer.status_code == 500 and "ZeroDivisionError" in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert client.get("/layers").status_code == 200


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
    for path in PAGES:
        assert client.get(path).status_code in (200, 404), path
    changeable.with_name("elsewhere").rename(changeable)
    assert client.get("/layers").status_code == 200


def test_a_file_that_changes_between_a_look_and_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("0123456789")
    folder = CodegenFolder(tmp_path)
    opened = CodegenFolder.open

    def growing(self: CodegenFolder, name: str) -> Any:
        stream, status = opened(self, name)
        (tmp_path / "a.txt").write_text("x" * 100)
        return stream, status

    monkeypatch.setattr(CodegenFolder, "open", growing)
    assert folder.read("a.txt", 100) == b"x" * 100
    (tmp_path / "a.txt").write_text("0123456789")
    with pytest.raises(FileProblem, match="more than"):
        folder.read("a.txt", 50)


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


def test_a_packed_file_that_is_cut_is_said_even_if_it_does_not_tell_its_size(tmp_path: Path) -> None:
    import zstandard

    data = os.urandom(5000) * 100
    packer = zstandard.ZstdCompressor().compressobj()  # writes no size
    packed = packer.compress(data) + packer.flush()
    two = packed + zstandard.ZstdCompressor().compress(b"more")
    folder = CodegenFolder(tmp_path)
    for content in (packed, two):
        (tmp_path / "a.zst").write_bytes(content)
        assert folder.read("a.zst") == data + (b"more" if content is two else b"")
        for length in (len(packed) - 1, len(packed) // 2, 5, len(content) - 2):
            (tmp_path / "a.zst").write_bytes(content[:length])
            with pytest.raises(FileProblem, match="no complete zstd file"):
                folder.read("a.zst")


def test_other_names_of_this_server_are_refused(compiled: Path, client_of: Clients) -> None:
    client = client_of(compiled)
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/", headers={"host": "127.0.0.1:8327"}).status_code == 200
    assert client.post("/").status_code == 405


@pytest.mark.parametrize("query", ["first=-1", "first=x", "first=999999999999999", "file=model.app", "file=no.onnx"])
def test_wrong_queries(compiled: Path, client_of: Clients, query: str) -> None:
    answer = client_of(compiled).get(f"/nodes?{query}")
    assert answer.status_code in (400, 404, 422) and 'role="alert"' in answer.text


class Served:
    """The command in a process of its own."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        command = [sys.executable, "-m", "runtime.dashboard", "serve", str(folder), "--port", str(port)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[0]
        self.address = ("127.0.0.1", int(self.url.rstrip("/").rsplit(":", 1)[-1]))

    def text(self, path: str) -> str:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url.rstrip("/") + path, timeout=20) as answer:
            return str(answer.read(), "utf-8")

    def said(self, request: str) -> bytes:
        """The answer to a request that no client would normalise."""
        with socket.create_connection(self.address, timeout=20) as link:
            link.sendall(f"GET {request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: link.recv(65536), b""))

    def interrupted(self) -> tuple[int, str]:
        """Exit code and standard error after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20), self.process.stderr.read() if self.process.stderr else ""


@pytest.fixture
def serve() -> Iterator[Callable[[Path], Served]]:
    """Starts dashboards and ends them with the test."""
    started: list[Served] = []

    def make(folder: Path) -> Served:
        started.append(Served(folder))
        return started[-1]

    yield make
    for served in started:
        served.process.kill()
        served.process.communicate()


def test_the_command_serves_on_loopback_until_it_is_stopped(
    compiled: Path, tmp_path: Path, serve: Callable[[Path], Served]
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    with (tmp_path / "folder" / "big.bin").open("wb") as sparse:
        sparse.truncate(2**30)
    first, second = serve(compiled), serve(tmp_path / "folder")  # two at once do not know each other
    assert first.url.startswith("http://127.0.0.1:") and first.url != second.url
    assert str(compiled) in first.text("/") and str(tmp_path / "folder") in second.text("/files")
    for request in ("/raw/../secret.txt", "/raw//etc/passwd", "/raw/..%2fsecret.txt", "/static/../app.py", "/../x"):
        answer = second.said(request)
        assert answer.split()[1] in (b"400", b"404") and b"\r\nsecret" not in answer, request
    with socket.create_connection(first.address, timeout=20) as link:
        assert b"Codegen Dashboard" in first.said("/layers")  # while this one says nothing
        link.sendall(b"\x16\x03\x01 no HTTP\r\n\r\n")
        assert b"400" in link.recv(4096)
    with (tmp_path / "folder" / "shrinks.bin").open("wb") as sparse:
        sparse.truncate(2**28)
    with socket.create_connection(second.address, timeout=20) as link:
        link.sendall(b"GET /raw/shrinks.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        length = len(link.recv(4096))
        os.truncate(tmp_path / "folder" / "shrinks.bin", 1000)
        assert length + sum(map(len, iter(lambda: link.recv(2**20), b""))) < 2**28
    assert "shrinks.bin" in second.text("/files")
    with socket.create_connection(second.address, timeout=20) as stalled:  # a download that nobody reads on
        stalled.sendall(b"GET /raw/big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"content-length: 1073741824" in stalled.recv(4096)
        code, errors = second.interrupted()
    assert code == 0 and errors.count("Traceback") == 1 and "Content-Length" in errors  # of shrinks.bin
    code, errors = first.interrupted()
    assert code == 0 and "Traceback" not in errors


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from runtime.dashboard.command import main

    assert main(["serve", str(tmp_path / "no")]) == 2
    assert main(["serve", __file__]) == 2
    assert main(["serve", str(tmp_path), "--port", "70000"]) == 2
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["serve", str(tmp_path), "--port", str(taken.getsockname()[1])]) == 1
    assert main(["serve", str(tmp_path), "--host", "192.0.2.1"]) == 1
    said = capsys.readouterr().err
    assert "there is no folder" in said and "is no folder" in said and "expected 0 to 65535" in said
    assert "cannot listen on 127.0.0.1" in said and "--port 0 takes a free one" in said
    assert "cannot listen on 192.0.2.1:8327: Cannot assign" in said
    for arguments in ([], ["sreve", "."], ["serve"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
