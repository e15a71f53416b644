"""Netron from its wheel: the web application is served here, and nothing of it talks to anybody else.

Three things of the application are made for the web and would keep the graph from appearing on a machine without
one; all are settled before its page is sent, in the page's own terms:

* it asks an outside server for the user's country and then shows a consent dialog, unless a cookie `consent` says
  that this was done: the answer sets one;
* it reports to an analytics server, unless its version is 0.0.0, a build of a developer;
* it refuses to work half a year after its `date`: without one it takes the present day.

The policy (`POLICY`) forbids outside requests on top of that, whatever a later version tries.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from runtime.dashboard.folder import ZST, FileProblem, static_file

APP, MODEL = "/netron/app", "/unpacked"
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "style-src 'self' 'unsafe-inline'; font-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
_CONSENT = f"consent=local; Path={APP}; SameSite=Strict"
_PAGE = "index.html"
_VERSION = re.compile(r'<meta name="version" content="[\d.]+">')
_DATE = re.compile(r'<meta name="date" content="[^"]*">\s*')
_PUBLIC = (".html", ".js", ".json", ".css", ".png", ".ico", ".svg")


def app_folder() -> Path:
    """Where the wheel put the application.  Raises FileProblem when it is not installed."""
    found = find_spec("netron")  # found, not imported: only its files are wanted
    folder = Path(found.origin).parent if found is not None and found.origin else None
    if folder is None or not (folder / _PAGE).is_file():
        raise FileProblem("Netron is not installed: pip install 'mncore2-sim[dashboard]'; the page Graph does without")
    return folder.resolve()


def address(name: str) -> str:
    """The page of the application with a model of the folder opened; `name` may end in .zst."""
    query = {"url": f"{MODEL}/{quote(name)}", "identifier": name.rsplit("/", 1)[-1].removesuffix(ZST)}
    return f"{APP}/{_PAGE}?{urlencode(query)}"


def app(request: Request) -> Response:
    """`/netron/app/<file>`: the files of the application.  Raises FileProblem for anything else."""
    base = app_folder()
    name = request.path_params["name"] or _PAGE
    path = static_file(base, name)
    if path is None or path.suffix not in _PUBLIC:
        raise FileProblem(f"Netron has no file {name}")
    headers = {"Content-Security-Policy": POLICY}
    if path == base / _PAGE:
        page = _without_the_web(path.read_text(encoding="utf-8"))
        return HTMLResponse(page, headers={**headers, "Set-Cookie": _CONSENT})
    return FileResponse(path, headers=headers)


def _without_the_web(page: str) -> str:
    """The application's page as one of a developer's build without a date.  Raises FileProblem for an unknown page."""
    page, versions = _VERSION.subn('<meta name="version" content="0.0.0">', page)
    page, dates = _DATE.subn("", page)
    if (versions, dates) != (1, 1):
        text = "this version of Netron is unknown here; pip install 'mncore2-sim[dashboard]' brings the right one"
        raise FileProblem(text, 501)
    return page
