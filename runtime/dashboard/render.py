"""Templates to answers.  Everything is escaped, but for the drawn graph, which is escaped where it is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from runtime.cli.output import cell_text
from runtime.dashboard.folder import CodegenFolder

NAVIGATION = {
    "/": "Summary",
    "/layers": "Layers",
    "/stats": "Perf Stats",
    "/timeline": "Timeline",
    "/graph": "Graph",
    "/netron": "Netron",
    "/nodes": "Node",
    "/layout": "Layout explorer",
    "/tools": "HTML tools",
    "/logs": "Logs",
    "/files": "Files",
}

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["cell"] = cell_text


def folder_of(request: Request) -> CodegenFolder:
    """The codegen_dir that this application shows."""
    folder: CodegenFolder = request.app.state.folder
    return folder


def render(request: Request, template: str, *, title: str, status: int = 200, **values: Any) -> HTMLResponse:
    """One page."""
    text = _ENVIRONMENT.get_template(template).render(
        title=title, navigation=NAVIGATION, here=request.url.path, root=str(folder_of(request).root), **values
    )
    # JSON may hold halves of surrogate pairs, which no encoding has
    return HTMLResponse(text.encode("utf-8", "replace"), status)
