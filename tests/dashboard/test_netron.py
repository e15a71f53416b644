"""Netron from its wheel: which files are served, what is changed in its page, and models as it gets them."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import zstandard

from runtime.dashboard import netron

pytest.importorskip("netron", reason="needs the extra dashboard")

Clients = Callable[[Path], Any]


def test_each_model_has_a_page_that_opens_it(compiled: Path, client_of: Clients) -> None:
    client = client_of(compiled)
    names = [path.name for path in compiled.iterdir() if path.name.endswith((".onnx", ".onnx.zst"))]
    assert len(names) == 3
    for name in names:
        for page in ("/graph", "/nodes"):
            assert f'href="/netron?file={name}"' in client.get(f"{page}?file={name}").text
        (source,) = re.findall(r'<iframe src="([^"]*)"', client.get(f"/netron?file={name}").text)
        parts = urlsplit(html.unescape(source))
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        assert parts.path == "/netron/app/index.html" and query["identifier"] == name.removesuffix(".zst")
        data = (compiled / name).read_bytes()
        if name.endswith(".zst"):
            data = zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 24)
        assert client.get(query["url"]).content == data


@pytest.mark.parametrize("name", ["a b.onnx", "a#1?.onnx", "sub/a&b.onnx", "é.onnx"])
def test_models_with_any_name_are_found(changeable: Path, client_of: Clients, name: str) -> None:
    (changeable / name).parent.mkdir(exist_ok=True)
    data = (changeable / "pfvm.onnx").read_bytes()
    (changeable / name).write_bytes(data)
    client = client_of(changeable)
    links = re.findall(r'<a href="(/netron\?file=[^"]*)"', client.get("/netron").text)
    opened = [client.get(html.unescape(link)).text for link in links]
    sources = [re.findall(r'<iframe src="([^"]*)"', page)[0] for page in opened]
    urls = [parse_qs(urlsplit(html.unescape(source)).query)["url"][0] for source in sources]
    assert len(urls) == 4 and len(set(urls)) == 4
    assert sum(client.get(url).content == data for url in urls) == 2


def test_the_application_is_local_and_silent(compiled: Path, client_of: Clients) -> None:
    client = client_of(compiled)
    page = client.get("/netron/app/index.html")
    assert page.text == client.get("/netron/app/").text
    assert re.findall(r'<meta name="version" content="([^"]*)">', page.text) == ["0.0.0"]
    assert 'name="date"' not in page.text and "<title>Netron</title>" in page.text
    assert page.headers["set-cookie"].startswith("consent=local; Path=/netron/app;")
    for name in ("index.html", "view.js", "grapher.css", "onnx-metadata.json"):
        answer = client.get(f"/netron/app/{name}")
        assert answer.status_code == 200, name
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "http" not in policy
    loaded = re.findall(r'<(?:link|script|img)[^>]*(?:src|href)="([^"]*)"', page.text)
    assert loaded and not [url for url in loaded if "//" in url]


@pytest.mark.parametrize(
    "name", ["server.py", "%2e%2e/numpy/version.py", "%2e%2e/%2e%2e/a.js", "%2fetc%2fpasswd", "a%00b", "no.js"]
)
def test_nothing_but_the_application_is_served(compiled: Path, client_of: Clients, name: str) -> None:
    answer = client_of(compiled).get(f"/netron/app/{name}")
    assert answer.status_code == 404 and 'role="alert"' in answer.text


def test_models_come_from_the_folder_only(changeable: Path, client_of: Clients) -> None:
    (changeable.parent / "secret.onnx").write_text("secret")
    (changeable / "link.onnx.zst").symlink_to(changeable.parent / "secret.onnx")
    packed = (changeable / "l3ir_stripped.onnx.zst").read_bytes()
    (changeable / "cut.onnx.zst").write_bytes(packed[:-9])
    client = client_of(changeable)
    for name in ("%2e%2e/secret.onnx", "link.onnx.zst", "%2e%2e%2fsecret.onnx.zst", "no.onnx"):
        assert client.get(f"/unpacked/{name}").status_code in (400, 403, 404), name
    answer = client.get("/netron?file=cut.onnx.zst")
    assert "no complete zstd file" in answer.text and "<iframe" not in answer.text
    assert client.get("/unpacked/cut.onnx.zst").status_code == 422


def test_without_netron_the_page_says_how_to_get_it(
    compiled: Path, client_of: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(netron, "find_spec", lambda name: None)
    answer = client_of(compiled).get("/netron")
    assert answer.status_code == 200 and "<iframe" not in answer.text
    assert "pip install &#39;mncore2-sim[dashboard]&#39;" in answer.text
    assert 'href="/graph?file=pfvm.onnx"' in answer.text


def test_another_version_is_refused_as_it_might_talk(
    compiled: Path, client_of: Clients, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text('<meta name="version" content="10.0.0-beta">')
    monkeypatch.setattr(netron, "app_folder", lambda: tmp_path)
    answer = client_of(compiled).get("/netron/app/index.html")
    assert answer.status_code == 501 and "unknown here" in answer.text
