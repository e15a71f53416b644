"""`mncore2 trace`: the events of a program as a trace file, or on screen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from runtime.cli.arguments import ChipFile, Json, Sets, chip
from runtime.cli.errors import UsageError
from runtime.cli.output import print_json, say, working

_JSON, _PROTOBUF = (".json", ".json.gz"), (".pb", ".pb.gz", ".perfetto-trace")


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("trace")(trace)


def trace(
    source: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A codegen_dir, a model.app or program text.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="trace.json or trace.pb, also with .gz.")] = None,
    sets: Sets = None,
    chip_file: ChipFile = None,
    detail: Annotated[
        bool, typer.Option("--detail", help="One slice per step instead of one per run of equal steps.")
    ] = False,
    view: Annotated[
        bool, typer.Option("--view", help="Show it in the Perfetto UI of the extra `viewer`, offline.")
    ] = False,
    port: Annotated[int, typer.Option("--port", help="Port of --view; 0 takes a free one.")] = 8331,
    json: Json = False,
) -> None:
    """Simulate the time of a program and write its trace (Chrome JSON or Perfetto protobuf)."""
    from hw.model import simulate
    from hw.trace import write_chrome, write_perfetto
    from runtime.studies.programs import load_program

    if out is None and not view:
        raise UsageError("nothing to do: give --out FILE or --view")
    if out is not None and not out.name.endswith((*_JSON, *_PROTOBUF)):
        raise UsageError(f"--out {out}: expected a name that ends in {', '.join((*_JSON, *_PROTOBUF))}")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}")
    spec = chip(sets, chip_file)
    with working("simulating"):
        timing = simulate(load_program(source), spec, detail=detail)
    metadata = {"program": source.name, "program_digest": timing.program_digest, "spec_digest": timing.spec_digest}
    if out is not None:
        write = write_perfetto if out.name.endswith(_PROTOBUF) else write_chrome
        begin = time.perf_counter()
        slices = write(timing.events, out, regions=timing.regions, metadata=metadata)
        seconds = time.perf_counter() - begin
        if json:
            facts = {
                "slices": slices,
                "bytes": out.stat().st_size,
                "vsm_cycles": timing.cycles,
                "write_seconds": seconds,
            }
            print_json({"out": str(out), **facts, **metadata})
        else:
            print(f"{out}: {slices:,} slices, {timing.cycles:,} cycles")
    if view:
        from runtime.cli.viewer import serve_until_interrupted

        serve_until_interrupted(timing, metadata, port, lambda url: say(f"{url} shows the trace; Ctrl-C ends it"))
