"""`dump_gpfnapp`: prints what a model.app holds, after checking it (compiler.md 10)."""

from __future__ import annotations

import bisect
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.app import App
from runtime.cli.arguments import Json
from runtime.cli.errors import UsageError, existing, exit_code_of, message_of
from runtime.cli.output import print_json, print_table, say
from runtime.relocate import scratch_extents, together, touched_extents
from runtime.specs import Spec, spec_to_json

APP = "model.app"
_GROUPS = ("inputs", "outputs", "params")
_COLUMNS = ("name", "shape", "onnx_dtype", "dtype", "layout", "addr")

_app = typer.Typer(name="dump_gpfnapp", add_completion=False, pretty_exceptions_enable=False)


@_app.command()
def dump(
    file: Annotated[Path, typer.Argument(metavar="MODEL.app|FOLDER", help="A program file, or the folder it is in.")],
    code: Annotated[bool, typer.Option("--code", help="Print the program text instead.")] = False,
    json: Json = False,
) -> None:
    """Print a compiled program: its tensors with layouts and addresses, its relocations, its figures, its code.

    A truncated or altered file is refused.
    """
    path = existing(file, "program file")
    app = App.load(path / APP if path.is_dir() else path)
    if code:
        if app.kind != "vsm":
            raise UsageError(f"{path} holds an ONNX model for pfvm devices, not code for the chip")
        print(app.code.decode(), end="")
        return
    content = _content(app)
    if json:
        print_json(content)
        return
    print(f"kind {app.kind}, {len(app.code):,} bytes of code")
    for name, figure in content["report"].items():
        print(f"{name} {figure}")
    for group in _GROUPS:
        rows = [tuple(item.get(column) for column in _COLUMNS) for item in content[group]]
        if rows:
            print_table(group, _COLUMNS, rows)
    if content["updates"]:
        print_table("updates", ("parameter", "output that replaces it"), content["updates"].items())
    if app.kind == "vsm":
        print_table("relocations", ("tensor", "addr", "end", "transfers"), map(_cells, content["relocations"]))
        print_table("scratch in DRAM", ("addr", "end"), [(s["addr"], s["end"]) for s in content["scratch"]])
        print_table("instructions", ("kind", "lines"), content["instructions"].items())


def _cells(item: Mapping[str, Any]) -> tuple[Any, ...]:
    return item["tensor"], item["addr"], item["end"], item["transfers"]


def _content(app: App) -> dict[str, Any]:
    figures = ("vsm_cycles", "core_freq", "flops", "scheduler", "float_dtype")
    content: dict[str, Any] = {
        "kind": app.kind,
        "code_bytes": len(app.code),
        "report": {name: app.report[name] for name in figures if name in app.report},
        **{group: [spec_to_json(spec) for spec in getattr(app, group).values()] for group in _GROUPS},
        "registered": sorted(app.registered),
        "updates": dict(app.updates),
        "ignored_inputs": sorted(app.ignored_inputs),
    }
    return {**content, **_of_code(app)} if app.kind == "vsm" else content


def _of_code(app: App) -> dict[str, Any]:
    """What the code says: transfers by tensor whose data they move, scratch, and lines by kind.

    A joint transfer counts for each of the tensors that lie behind each other.
    """
    from compiler.iospec import IOSpec
    from compiler.layout.image import DramImage
    from runtime.dram import Extent

    specs: Sequence[Spec] = [spec for group in _GROUPS for spec in getattr(app, group).values()]
    slots: dict[Extent, str] = {}
    images: dict[Extent, str] = {}
    for spec in specs:
        assert isinstance(spec, IOSpec)
        image = DramImage(spec.layout, spec.dtype)
        slots[Extent(spec.addr, image.slot_lws)] = spec.name
        images[Extent(spec.addr, image.lws_per_group)] = spec.name
    held = together(app.program, [slot for slot, name in slots.items() if name in app.params])
    others = [slot for slot in slots if not any(run.start <= slot.start < run.end for run in held)]
    ordered = sorted(images)
    counts: Counter[str] = Counter()
    for touched in touched_extents(app.program):
        first = bisect.bisect_right(ordered, touched.start, key=lambda image: image.end)
        behind = bisect.bisect_left(ordered, touched.end, key=lambda image: image.start)
        counts.update(images[image] for image in ordered[first:behind])
    return {
        "relocations": [
            {"tensor": name, "addr": slot.start, "end": slot.end, "transfers": counts[name]}
            for slot, name in sorted(slots.items())
        ],
        "scratch": [{"addr": e.start, "end": e.end} for e in scratch_extents(app.program, [*held, *others])],
        "instructions": dict(Counter(type(line).__name__ for line in app.program.lines)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code (0 done, 1 not a sound program file, 2 wrong command line)."""
    try:
        _app(None if arguments is None else list(arguments), prog_name="dump_gpfnapp", standalone_mode=False)
    except typer.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is not None:
            say(f"error: {usage()}")
            return 2
        code = exit_code_of(error)
        if code is None:
            raise
        say(f"error: {message_of(error)}")
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
