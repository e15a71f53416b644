"""Answers that are no pages: files as they are, pictures, the data of the timeline, and the Perfetto UI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse

from runtime.cli.errors import CommandError
from runtime.cli.viewer import POLICY, ui_folder
from runtime.dashboard.folder import MIB, ZST, CodegenFolder, FileProblem, static_file
from runtime.dashboard.render import folder_of
from runtime.dashboard.summary import report_of
from runtime.report_plots import PLOTS, ReportPlotError, plot_bytes
from runtime.timeline import Timeline, TimelineError, read_timeline

MOST_TRACE = 256 * MIB
MOST_UNPACKED = 2048 * MIB  # the limit of ONNX files, the largest that are packed
_TEXT = (".txt", ".log", ".vsm", ".csv", ".md", ".toml")
_PICTURES = {"svg": "image/svg+xml", "png": "image/png"}
_KINDS = {".html": "text/html; charset=utf-8", ".json": "application/json"} | {
    f".{suffix}": kind for suffix, kind in _PICTURES.items()
}
# Pages of the folder may run their own scripts, but know nothing of this server and reach nobody.
_SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
_ACTIVE = (".html", ".svg")


def raw(request: Request) -> Response:
    """A file as it is, in blocks, whatever its size; `x.json` is `x.json.zst` unpacked where only that is there."""
    folder, name = folder_of(request), request.path_params["name"]
    if folder.actual(name) != name:
        return _whole(name, folder.read(name, MOST_UNPACKED))
    stream, status = folder.open(name)
    kind, headers = _kind_of(name)
    headers["Content-Length"] = str(status.st_size)
    return StreamingResponse(_blocks(stream, status.st_size), media_type=kind, headers=headers)


def unpacked(request: Request) -> Response:
    """A file that ends in .zst without its packing, any other as it is.  Raises FileProblem."""
    name = request.path_params["name"]
    if not name.endswith(ZST):
        return raw(request)
    return _whole(name.removesuffix(ZST), folder_of(request).read(name, MOST_UNPACKED))


def _whole(name: str, data: bytes) -> Response:
    kind, headers = _kind_of(name)
    return Response(data, media_type=kind, headers=headers)


def _kind_of(name: str) -> tuple[str, dict[str, str]]:
    """The media type by the name, and the policy of files that a browser runs."""
    suffix = Path(name).suffix
    kind = _KINDS.get(suffix, "text/plain; charset=utf-8" if suffix in _TEXT else "application/octet-stream")
    return kind, {"Content-Security-Policy": _SANDBOX} if suffix in _ACTIVE else {}


def _blocks(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """`size` bytes; a file that shrank meanwhile ends early and the browser says so."""
    with stream:
        while size > 0 and (block := stream.read(min(MIB, size))):
            size -= len(block)
            yield block


def plot(request: Request) -> Response:
    """`/plot/<kind>.svg` or `.png`.  Raises FileProblem when it cannot be drawn."""
    kind, _, suffix = request.path_params["name"].rpartition(".")
    if kind not in PLOTS or suffix not in _PICTURES:
        name = request.path_params["name"]
        raise FileProblem(f"there is no picture {name}; there are {', '.join(PLOTS)} as .svg, .png")
    folder = folder_of(request)
    try:
        trace = load_timeline(folder, "trace.json") if kind == "utilisation" else None
        return Response(plot_bytes(kind, report_of(folder), trace, suffix), media_type=_PICTURES[suffix])
    except ReportPlotError as error:
        raise FileProblem(str(error), 422) from error


def load_timeline(folder: CodegenFolder, name: str) -> Timeline:
    """A trace, kept until it changes.  Raises FileProblem."""

    def read(file: str) -> Timeline:
        try:
            return read_timeline(folder.read(file, MOST_TRACE))
        except TimelineError as error:
            text = f"{file}: {error}; while a compilation is writing it, load this page again"
            raise FileProblem(text, 422) from error

    return folder.parsed(name, read, "timeline")


def timeline(request: Request) -> Response:
    """Tracks as arrays: `names`, and per track `[name, [start, cycles, number of its name, ...]]`."""
    found = load_timeline(folder_of(request), request.query_params.get("file", "profile.json"))
    numbers: dict[str, int] = {}
    tracks = []
    for track in found.tracks:
        flat: list[int] = []
        for piece in track.slices:
            flat += (piece.start, piece.cycles, numbers.setdefault(piece.name, len(numbers)))
        tracks.append([track.name.encode("utf-8", "replace").decode(), flat])
    names = [name.encode("utf-8", "replace").decode() for name in numbers]  # see render.render
    return JSONResponse({"cycles": found.cycles, "clock": found.clock_mhz, "names": names, "tracks": tracks})


def perfetto(request: Request) -> Response:
    """Files of the Perfetto UI, under the policy that its own server gives it."""
    try:
        base = ui_folder()
    except CommandError as error:
        raise FileProblem(str(error)) from error
    path = static_file(base, request.path_params["name"] or "index.html")
    if path is None:
        raise FileProblem(f"the Perfetto UI has no file {request.path_params['name']}")
    return FileResponse(path, headers={"Content-Security-Policy": POLICY})
