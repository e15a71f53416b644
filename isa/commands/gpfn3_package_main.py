"""`gpfn3_package_main [options]`: run a stream on the simulated board and print its dumps (isa.md 15.3).

Dump lines go to standard error or to the file of `-d`; standard output stays empty.  A program that cannot go on ends
with status 134 and a message that names the stream line.  A wait that can never end stops the rest silently, as on
the official emulator.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

from hw.engine import execute
from hw.engine.errors import EngineError
from hw.state.board import Board
from hw.state.memory_file import MemoryFileError, load_memory, save_memory
from isa.commands.common import ABORTED, OK, USAGE_ERROR, Parser, output, read_text
from isa.commands.stream import StreamError, load_stream, stream_handler
from isa.dump import DumpError, PdmDump, debug_handler
from isa.errors import IsaError

_OFFCHIP = ("unique", "zero", "uninitialized")
_UNSUPPORTED = {
    "c": "the configuration format is not public",
    "x": "its log holds the official emulator's own times and instruction words",
}


def _parser() -> Parser:
    parser = Parser(prog="gpfn3_package_main", description="Run an assembled stream.", allow_abbrev=False)
    parser.add_argument("-i", metavar="FILE", help="stream; standard input without it")
    parser.add_argument("-d", metavar="FILE", help="write dump lines there instead of standard error")
    parser.add_argument("-o", metavar="FILE", help="output of host DMA commands; none are supported, so empty")
    parser.add_argument("-c", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("-x", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--offchip-memory-init", default="unique", metavar="(unique|zero|uninitialized)")
    parser.add_argument("--dirty", action="store_true", help="fill the on-chip memories with junk first")
    parser.add_argument("--sanitize", action="store_true", help="warn of uninitialised reads, races and the like")
    parser.add_argument(
        "--real-pdm", action="store_true", help="`d get $p..` shows the PDM (the official tool shows DRAM)"
    )
    parser.add_argument("--load-memory-file", metavar="FILE", help="start with the DRAM, PDM and L2BM of a file")
    parser.add_argument("--save-memory-file", metavar="FILE", help="write DRAM, PDM and L2BM there at the end")
    parser.add_argument("--split-dma-output", action="store_true", help="with -o: FILE.0, FILE.1 and FILE.pio")
    parser.add_argument("--use-mmap", action="store_true", help="implies --offchip-memory-init uninitialized")
    parser.add_argument("--ignore-expect", action="store_true", help=argparse.SUPPRESS)
    return parser


def _report(error: Exception, file: str | None, lines: list[str]) -> None:
    number = getattr(error, "line", 0)
    message = error.message if isinstance(error, (DumpError, StreamError)) else str(error)
    print(f"[runtime error] : {message}\n", file=sys.stderr)
    print(f"file    : {file or '<standard input>'}\nline no : {number}", file=sys.stderr)
    if 0 < number <= len(lines):
        print(f"line    : {lines[number - 1]}", file=sys.stderr)


def _print_findings(lines: list[str]) -> None:
    """Run the stream once more in lock-step and print what the sanitizers find as warnings."""
    from hw.sanitizer.runtime import sanitize
    from isa.commands.stream import stream_areas

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handler = stream_handler(debug_handler([], pdm=PdmDump.REAL))
        findings = sanitize(load_stream(lines), mode="warn", on_debug=handler, debug_reader=stream_areas)
    for finding in findings:
        print(f"warning: {finding.message}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status (0, 1 for a bad command line or file, 134 for a stopped program)."""
    options = _parser().parse_args(argv)
    for name, why in _UNSUPPORTED.items():
        if getattr(options, name) is not None:
            print(f"-{name}: not supported by this emulator, {why}", file=sys.stderr)
            return USAGE_ERROR
    if options.sanitize and options.load_memory_file:
        print("--sanitize: cannot be combined with --load-memory-file", file=sys.stderr)
        return USAGE_ERROR
    if options.offchip_memory_init not in _OFFCHIP:
        print(f"Invalid offchip-memory-init: {options.offchip_memory_init}", file=sys.stderr)
        return USAGE_ERROR
    try:
        lines = read_text(options.i).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        print(f"can't open input file : {options.i} ({error})", file=sys.stderr)
        return USAGE_ERROR
    if options.use_mmap:
        print("Warning: --use-mmap implies --offchip-memory-init uninitialized", file=sys.stderr)
    offchip = "uninitialized" if options.use_mmap or options.load_memory_file else options.offchip_memory_init
    board = Board(offchip=offchip)
    if options.dirty:
        board.dirty()
    if options.load_memory_file:
        try:
            load_memory(board, options.load_memory_file)
        except (OSError, MemoryFileError) as error:
            print(f"file io error on loading memory: {error}", file=sys.stderr)
            return ABORTED
    failure: Exception | None = None
    pdm = PdmDump.REAL if options.real_pdm else PdmDump.OFFICIAL
    with output(options.d, sys.stderr) as stream:
        try:
            execute(load_stream(lines), board, on_debug=stream_handler(debug_handler(stream, pdm=pdm)), strict=False)
        except (IsaError, EngineError) as error:
            failure = error  # what was dumped until here stays
    if options.sanitize:
        _print_findings(lines)
    if failure is not None:
        _report(failure, options.i, lines)
        return ABORTED
    try:
        _write_files(board, options)
    except OSError as error:
        print(f"file io error on saving: {error}", file=sys.stderr)
        return ABORTED
    return OK


def _write_files(board: Board, options: argparse.Namespace) -> None:
    """What is left behind when a program has ended well.  Raises OSError."""
    if options.o is not None:
        for suffix in (".0", ".1", ".pio") if options.split_dma_output else ("",):
            with output(options.o + suffix, sys.stdout):
                pass  # no host DMA command, no output
    if options.save_memory_file:
        save_memory(board, options.save_memory_file)


if __name__ == "__main__":
    raise SystemExit(main())
