"""`codegen-dashboard-external serve <codegen_dir> --port 8327`.

Exit codes: 0 stopped by the user; 1 the port cannot be used or the extra is not installed; 2 wrong command line.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

PORT, HOST = 8327, "127.0.0.1"
OK, FAILED, USAGE = 0, 1, 2
_PATIENCE = 2  # seconds that answers under way have after Ctrl-C
_NEEDED = ("starlette", "uvicorn", "jinja2")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="codegen-dashboard-external", description="Shows a codegen_dir in the browser.", allow_abbrev=False
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="serve")
    serve = verbs.add_parser("serve", help="serve the pages until Ctrl-C", allow_abbrev=False)
    serve.add_argument("codegen_dir", type=Path, help="folder that a compilation wrote, or is writing")
    serve.add_argument("--port", type=int, default=PORT, help=f"port, 0 for a free one (default {PORT})")
    serve.add_argument("--host", default=HOST, help=f"address to listen on (default {HOST}: this machine only)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code.  A wrong command line ends the process with 2."""
    options = _parser().parse_args(argv)
    folder: Path = options.codegen_dir
    if not folder.is_dir():
        return _say(f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}", USAGE)
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        return _say(f"{', '.join(missing)} not installed: pip install 'mncore2-sim[dashboard]'", FAILED)
    if not 0 <= options.port < 65536:
        return _say(f"--port {options.port}: expected 0 to 65535", USAGE)
    import uvicorn

    from runtime.dashboard.app import make_app

    with socket.socket(socket.AF_INET6 if ":" in options.host else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((options.host, options.port))
            listener.listen()
        except OSError as error:
            text = f"cannot listen on {options.host}:{options.port}: {error.strerror}"
            if error.errno == errno.EADDRINUSE:
                text += "; another dashboard or program has this port: --port 0 takes a free one"
            return _say(text, FAILED)
        port = listener.getsockname()[1]
        shown = f"[{options.host}]" if ":" in options.host else options.host
        print(f"http://{shown}:{port}/ shows {folder}; Ctrl-C ends it", flush=True)
        config = uvicorn.Config(
            make_app(folder, [options.host]),
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_PATIENCE,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)  # after uvicorn has set its loggers up
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            return OK
    return OK


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Answers that Ctrl-C cuts short need no traceback."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not issubclass(kind, asyncio.CancelledError)


def _say(text: str, code: int) -> int:
    print(f"codegen-dashboard: {text}", file=sys.stderr)
    return code
