"""The pages.  Each reads what it needs anew: a compilation may be writing the folder meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from compiler.layout import Place
from runtime.dashboard import netron, summary
from runtime.dashboard.chip import draw_chip, holders
from runtime.dashboard.downloads import load_timeline
from runtime.dashboard.drawing import WINDOW, draw
from runtime.dashboard.folder import MIB, ZST, CodegenFolder, FileProblem
from runtime.dashboard.onnx_files import SUFFIXES, load_onnx
from runtime.dashboard.render import folder_of, render
from runtime.dashboard.values import (
    FIELDS,
    find_element,
    find_place,
    grid,
    level_sizes,
    load_graph,
    numbers,
    value_named,
)
from runtime.figures import available
from runtime.report_plots import PLOTS
from runtime.timeline import LAYERS

_PAGE_ROWS = 500
_LOG_BYTES = MIB
_MOST_VIEW = 4 * MIB
_TOOLS = ("layout.html", "layout_plan_history.html", "time_slice.html", "l3ir.txt", "time_slice.txt")
UNITS = "trace.json"
_TRACES = ("profile.json", UNITS)
_QUICK_TRACE = 24 * MIB
_LOGS = ("CLOG.log", "out.txt")
_SLOWEST, _SLOWEST_OF_SUMMARY = 50, 10

_T = TypeVar("_T")


def _attempt(problems: list[str], make: Callable[[], _T], otherwise: _T) -> _T:
    """What `make` gives; a FileProblem is noted and `otherwise` taken, so that the rest of the page still shows."""
    try:
        return make()
    except FileProblem as error:
        problems.append(str(error))
        return otherwise


def _summary(request: Request) -> Response:
    folder = folder_of(request)
    problems: list[str] = []
    report: dict[str, Any] = _attempt(problems, lambda: summary.report_of(folder), {})
    rows: list[summary.Layer] = _attempt(problems, lambda: summary.layers(folder, report)[0], []) if report else []
    command: list[tuple[str, Any]] = _attempt(problems, lambda: summary.command_line(folder), [])
    return render(
        request,
        "summary.html",
        title="Summary",
        problems=problems,
        command=command,
        figures=summary.figures(report),
        hardware=summary.hardware(report) if report else [],
        phases=summary.phases(report),
        stats=summary.statistics(rows, "op_type", report) if report else [],
        layers=len(rows),
        tiles=summary.tiles(report, rows),
        parts=summary.parts(report),
        slowest=sorted(rows, key=lambda row: -row.cycles)[:_SLOWEST_OF_SUMMARY],
        total=sum(row.cycles for row in rows),
    )


def _layers(request: Request) -> Response:
    folder = folder_of(request)
    report = summary.report_of(folder)
    rows, problem = summary.layers(folder, report)
    problems = [problem] if problem else []
    plots = [name for name in PLOTS if name != "utilisation" or folder.has("trace.json")] if available() else []
    if not plots:
        problems.append("pictures need matplotlib: pip install 'mncore2-sim[plots]'")
    total = sum(row.cycles for row in rows)
    return render(request, "layers.html", title="Layers", problems=problems, rows=rows, total=total, plots=plots)


def _layer(request: Request) -> Response:
    folder = folder_of(request)
    rows, _ = summary.layers(folder, summary.report_of(folder))
    (number,) = numbers(request.path_params, ["number"])
    if number >= len(rows):
        raise FileProblem(f"there is no layer {number}: the report has {len(rows)}, numbered from 0")
    row = rows[number]
    sections = {key: value for key, value in row.data.items() if isinstance(value, dict)}
    single = {key: value for key, value in row.data.items() if key not in sections}
    return render(
        request,
        "layer.html",
        title=f"Layer {number}",
        row=row,
        parts=summary.parts(row.data),
        layers=len(rows),
        sections=sections,
        single=single,
    )


def _stats(request: Request) -> Response:
    folder = folder_of(request)
    report = summary.report_of(folder)
    rows, _ = summary.layers(folder, report)
    groups = {title: summary.statistics(rows, key, report) for key, title in summary.ATTRIBUTES.items()}
    return render(request, "stats.html", title="Perf Stats", groups=groups)


def _timeline(request: Request) -> Response:
    folder = folder_of(request)
    files = [name for name in _TRACES if folder.has(name)]
    files += [name for name in folder.names("trace.json", "trace.json.zst") if name.removesuffix(ZST) not in files]
    if not files:
        raise FileProblem(f"there is no {' or '.join(_TRACES)} yet")
    name = request.query_params.get("file") or _first_trace(folder, files)
    found = load_timeline(folder, name)
    track = found.track(LAYERS) or (found.tracks[0] if found.tracks else None)
    slowest = sorted(track.slices, key=lambda piece: -piece.cycles)[:_SLOWEST] if track else []
    return render(
        request,
        "timeline.html",
        title="Timeline",
        files=files,
        name=name,
        found=found,
        slowest=slowest,
        trace_url=f"{request.base_url}raw/{quote(name)}",
    )


def _first_trace(folder: CodegenFolder, files: list[str]) -> str:
    """The units where that is quick to load, else the layers alone."""
    sizes = {entry.name.removesuffix(ZST): entry.size for entry in folder.entries()}
    return UNITS if UNITS in files and sizes.get(UNITS, 0) <= _QUICK_TRACE else files[0]


def _onnx_files(folder: CodegenFolder, request: Request) -> tuple[list[str], str]:
    """The ONNX files of the folder and the chosen one.  Raises FileProblem when there is none."""
    files = folder.names(*SUFFIXES)
    if not files:
        raise FileProblem("there is no ONNX file yet")
    return files, request.query_params.get("file") or ("pfvm.onnx" if "pfvm.onnx" in files else files[0])


def _nodes(request: Request) -> Response:
    folder = folder_of(request)
    files, name = _onnx_files(folder, request)
    view = load_onnx(folder, name)
    words = request.query_params.get("q", "")
    found = [row for row in view.nodes if row.matches(words)] if words else list(view.nodes)
    (first,) = numbers(request.query_params, ["first"])
    rows = found[first : first + _PAGE_ROWS]
    return render(
        request,
        "nodes.html",
        title="Node",
        files=files,
        name=name,
        view=view,
        words=words,
        rows=rows,
        count=len(found),
        first=first,
        step=_PAGE_ROWS,
    )


def _graph(request: Request) -> Response:
    folder = folder_of(request)
    files, name = _onnx_files(folder, request)
    view = load_onnx(folder, name)
    (first,) = numbers(request.query_params, ["first"])
    picture = Markup(draw(view.nodes[first : first + WINDOW]))  # escaped where it is made
    return render(
        request,
        "graph.html",
        title="Graph",
        files=files,
        name=name,
        view=view,
        first=first,
        step=WINDOW,
        picture=picture,
    )


def _netron(request: Request) -> Response:
    """A file in Netron; what cannot be read is said here, in more words than Netron has for it."""
    folder = folder_of(request)
    files, name = _onnx_files(folder, request)
    problems: list[str] = []
    address = _attempt(problems, lambda: (netron.app_folder(), load_onnx(folder, name), netron.address(name))[-1], "")
    return render(request, "netron.html", title="Netron", files=files, name=name, address=address, problems=problems)


def _layout(request: Request) -> Response:
    folder = folder_of(request)
    query = request.query_params
    files = [name for name in ("l3ir.txt", "time_slice.txt") if folder.has(name)]
    name = query.get("file") or summary.L3IR
    graph = load_graph(folder, name)
    choices = [value for value in graph.values.values() if value.layout is not None]
    shown: dict[str, Any] = {"files": files, "name": name, "choices": choices, "value": None, "problems": []}
    if not query.get("value"):
        return render(request, "layout.html", title="Layout explorer", **shown)
    value = value_named(graph, query["value"])
    problems: list[str] = []
    index = query.get("index", ",".join("0" for _ in value.shape))
    found = _attempt(problems, lambda: find_element(graph, value, _index(index)), None)
    asked = any(field in query for field in FIELDS)
    place = found.spots[0].place if found else Place(*[0] * len(FIELDS))  # until a place is asked for
    place = _attempt(problems, lambda: Place(*numbers(query, FIELDS)), place) if asked else place
    back = _attempt(problems, lambda: find_place(graph, value, place), None)
    held = holders(value)
    shown |= {
        "value": value,
        "sizes": level_sizes(value),
        "problems": problems,
        "fields": FIELDS,
        "index": index,
        "found": found,
        "place": place,
        "back": back,
        "grid": grid(value, place.l2b, place.l1b, place.mab, place.time) if back is not None else [],
        "sought": (",".join(str(at) for at in found.index or ()) or "scalar") if found else "",
        "chip": Markup(draw_chip(held, found.mabs if found else (), place)),  # numbers only
        "held": int(held.sum()),
        "mabs": held.size,
    }
    return render(request, "layout.html", title="Layout explorer", **shown)


def _index(text: str) -> list[int]:
    """The numbers of `3,0,7` or `[3, 0, 7]`.  Raises FileProblem."""
    parts = [part.strip() for part in text.strip().strip("[]()").split(",")]
    parts = [part for part in parts if part]
    return numbers({str(at): part for at, part in enumerate(parts)}, [str(at) for at in range(len(parts))])


def _tools(request: Request) -> Response:
    folder = folder_of(request)
    present = {name: folder.has(name) for name in _TOOLS}
    name = request.query_params.get("file", "")
    problems: list[str] = []
    text = None
    if name and not name.endswith(".html"):
        text = _attempt(problems, lambda: folder.text(name, _MOST_VIEW), None)
    elif name and not folder.has(name):
        problems.append(f"there is no file {name}")
    frame = name if name.endswith(".html") and not problems else ""
    return render(
        request, "tools.html", title="HTML tools", present=present, name=name, text=text, frame=frame, problems=problems
    )


def _logs(request: Request) -> Response:
    folder = folder_of(request)
    files = [name for name in _LOGS if folder.has(name)]
    files += [name for name in folder.names(".log", ".log.zst") if name.removesuffix(ZST) not in _LOGS]
    name = request.query_params.get("file") or (files[0] if files else "")
    problems: list[str] = [] if files else ["there is no log yet"]
    text, cut = _attempt(problems, lambda: _tail(folder, name), ("", False)) if name else ("", False)
    return render(request, "logs.html", title="Logs", files=files, name=name, text=text, cut=cut, problems=problems)


def _tail(folder: CodegenFolder, name: str) -> tuple[str, bool]:
    """The end of a log, and whether something before it is left out."""
    if folder.actual(name).endswith(ZST):
        data = folder.read(name)
        return data[-_LOG_BYTES:].decode("utf-8", "replace"), len(data) > _LOG_BYTES
    stream, status = folder.open(name)
    with stream:
        stream.seek(max(0, status.st_size - _LOG_BYTES))
        return stream.read(_LOG_BYTES).decode("utf-8", "replace"), status.st_size > _LOG_BYTES


def _files(request: Request) -> Response:
    entries = [
        (entry.name, entry.size, time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.changed)))
        for entry in folder_of(request).entries()
    ]
    return render(request, "files.html", title="Files", entries=entries)


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page is and what makes it."""

    path: str
    endpoint: Callable[[Request], Response]


PAGES = (
    Page("/", _summary),
    Page("/layers", _layers),
    Page("/layer/{number}", _layer),
    Page("/stats", _stats),
    Page("/timeline", _timeline),
    Page("/graph", _graph),
    Page("/netron", _netron),
    Page("/nodes", _nodes),
    Page("/layout", _layout),
    Page("/tools", _tools),
    Page("/logs", _logs),
    Page("/files", _files),
)
