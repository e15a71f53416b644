"""The web application: one route per page, every answer with a policy that lets nothing out and nothing foreign in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.dashboard import downloads, netron, pages
from runtime.dashboard.folder import CodegenFolder, FileProblem
from runtime.dashboard.render import render

_STATIC = Path(__file__).parent / "static"
_POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'self'"
_LOOPBACK = ["localhost", "127.0.0.1", "[::1]", "::1"]


class _Headers:
    """Headers for every answer that did not set its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("Content-Security-Policy", _POLICY)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Referrer-Policy", "no-referrer")
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)


def make_app(folder: Path, hosts: Sequence[str] = ()) -> Starlette:
    """The application for one codegen_dir.

    hosts: names by which a browser may call it besides the loopback ones; requests under other names are refused, so
    that a page of the web cannot reach it through a name of its own.  `0.0.0.0` and `::` allow every name.
    """
    anywhere = any(host in ("0.0.0.0", "::") for host in hosts)
    allowed = ["*"] if anywhere else [*_LOOPBACK, *hosts]
    app = Starlette(
        routes=[
            *(Route(page.path, page.endpoint) for page in pages.PAGES),
            Route("/plot/{name}", downloads.plot),
            Route("/data/timeline", downloads.timeline),
            Route("/raw/{name:path}", downloads.raw),
            Route("/unpacked/{name:path}", downloads.unpacked),
            Route("/perfetto/{name:path}", downloads.perfetto),
            Route(f"{netron.APP}/{{name:path}}", netron.app),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ],
        middleware=[Middleware(_Headers), Middleware(TrustedHostMiddleware, allowed_hosts=allowed)],
        exception_handlers={FileProblem: _problem, HTTPException: _no_page, Exception: _failure},
    )
    app.state.folder = CodegenFolder(folder)
    return app


def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, FileProblem)
    return render(request, "problem.html", title="Not shown", status=error.status, problem=str(error))


def _failure(request: Request, error: Exception) -> Response:
    """An error of this program: the server writes its traceback to the terminal, the page says what it was."""
    text = f"{request.url.path} failed: {type(error).__name__}: {error}; the terminal shows where"
    answer = render(request, "problem.html", title="Not shown", status=500, problem=text)
    answer.headers["Content-Security-Policy"] = _POLICY  # this answer does not pass _Headers
    return answer


def _no_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = f"there is no page {request.url.path}" if error.status_code == 404 else error.detail
    return render(request, "problem.html", title="Not shown", status=error.status_code, problem=text)
