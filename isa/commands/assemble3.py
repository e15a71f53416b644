"""`assemble3 [options] [FILE]`: VSM text to a stream of `j`/`i`, `m` and `d` lines (isa.md 15.2).

Errors go to standard error as message, line, text and marker, and end with status 134; lines before the bad one have
been written by then, except for hazards, which are checked on the whole program first.  The payloads are our own
(`isa.encoding`).  Options that print the bits of the official instruction words (`--loader`, `--q-instruction`,
`--binary`, `--print-csv`) are refused: these words are not public, and a packet of ours has no fixed size.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence

from hw.program import Program
from hw.sanitizer import hazards
from hw.sanitizer.completion import unfinished
from isa.assemble import Mode, assemble
from isa.commands.common import ABORTED, OK, USAGE_ERROR, Parser, marked, output, read_text
from isa.commands.packets import packed
from isa.encoding import AUTO_STRIDE, FLAT, encode_line
from isa.errors import AsmError, IsaError

VERSION = "mncore2-sim 0.1.0"
_WITHOUT_EFFECT = (
    "--enable-hazard-checker",
    "--enable-deadlock-checker",
    "--disable-deadlock-checker",
    "--deadlock-check-warning",
    "--enable-tag-checker",
    "--disable-tag-checker",
    "--enable-mv-checker",
    "--disable-mv-checker",
    "--mv-check-warning",
    "--ignore-contextual-error",
    "--disable-packer",
    "--no-packer",
)
_NOT_PUBLIC = ("--loader", "--q-instruction", "--binary", "--print-csv")


def _parser() -> Parser:
    parser = Parser(prog="assemble3", description="Assemble MN-Core 2 assembly (VSM).", allow_abbrev=False)
    parser.add_argument("file", nargs="?", metavar="SOURCE_FILE", help="VSM source; standard input without it")
    parser.add_argument(
        "--instruction-mode", default="auto_stride", metavar="MODE", help="flat / auto_stride (default)"
    )
    parser.add_argument("--output-file", metavar="PATH", help="write the stream there instead of standard output")
    parser.add_argument("--disable-hazard-checker", action="store_true", help="accept hazards silently")
    parser.add_argument("--hazard-check-warning", action="store_true", help="print hazards as warnings")
    parser.add_argument("--enable-mv-completion-checker", action="store_true", help="refuse MVs nobody waits for")
    parser.add_argument("--print-asm", action="store_true", help="append the source text to every line")
    parser.add_argument("--print-comment", action="store_true", help="keep lines that are comments")
    parser.add_argument("--print-asm-version", action="store_true", help="print the version as a comment")
    parser.add_argument("--packer", action="store_true", help="fill up to packets of two PE steps and one MV")
    parser.add_argument("--insert-nop", action="store_true", help="put a nop before every source line")
    for option in _WITHOUT_EFFECT:
        parser.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    for option in _NOT_PUBLIC:
        parser.add_argument(option, action="store_true", help=argparse.SUPPRESS)
    return parser


def _stream(program: Program, source: list[str], options: argparse.Namespace) -> Iterator[str]:
    letter = FLAT if options.instruction_mode == "flat" else AUTO_STRIDE
    comments = [i for i, text in enumerate(source, 1) if text.lstrip().startswith("#")] if options.print_comment else []
    if options.print_asm_version:
        yield f"# ! assembler version : {VERSION}"
    for line in packed(program.lines) if options.packer else program.lines:
        while comments and comments[0] < line.line:
            yield source[comments.pop(0) - 1].strip()
        text = encode_line(line, letter)
        if options.print_asm and line.line and not text.startswith("d "):
            text += f" # {source[line.line - 1].partition('#')[0].strip()}"
        yield text
    for number in comments:
        yield source[number - 1].strip()


def _write(text: str, mode: Mode, options: argparse.Namespace, target: str | None) -> None:
    """Assemble and write; a syntax error is raised after the lines before it are written."""
    check = not (options.disable_hazard_checker or options.hazard_check_warning)
    failure: AsmError | None = None
    try:
        program = assemble(text, mode=mode, check_hazards=check, insert_nops=options.insert_nop)
    except AsmError as error:
        if error.rule.startswith("hazard") or target is not None:
            raise
        failure = error
        before = "".join(text.splitlines(True)[: error.line - 1])
        program = assemble(before, mode=mode, check_hazards=False, insert_nops=options.insert_nop)
    if options.hazard_check_warning:
        for violation in hazards.check(program):
            print(f"warning : {violation.message}", file=sys.stderr)
    if options.enable_mv_completion_checker and failure is None and (left := unfinished(program)):
        numbers = ", ".join(str(mv.line) for mv in left)
        raise AsmError(
            "mv/completion",
            f"unfinished MV instructions remaining. lineno: {numbers}",
            expected="a tag on the last MV of each source and a `wait` for it",
            line=left[0].line,
            source=left[0].text,
        )
    with output(target, sys.stdout) as stream:
        for row in _stream(program, f"{text}\n".splitlines(), options):
            print(row, file=stream)
    if failure is not None:
        raise failure


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status (0, 1 for a bad command line or file, 134 for a refused program)."""
    options = _parser().parse_args(argv)
    for option in _NOT_PUBLIC:
        if getattr(options, option[2:].replace("-", "_")):
            print(f"{option} needs the official instruction words, which are not public", file=sys.stderr)
            return USAGE_ERROR
    if options.instruction_mode not in ("flat", "auto_stride"):
        print(f"{options.instruction_mode} is not valid as an argument of --instruction-mode", file=sys.stderr)
        return USAGE_ERROR
    try:
        text = read_text(options.file)
    except (OSError, UnicodeDecodeError) as error:
        print(f"Input stream cannot be open: {error}", file=sys.stderr)
        return USAGE_ERROR
    warnings.simplefilter("ignore")
    try:
        _write(text, options.instruction_mode, options, options.output_file)
    except AsmError as error:
        print(marked(error), file=sys.stderr)
        return ABORTED
    except (IsaError, OSError) as error:
        print(error, file=sys.stderr)
        return ABORTED
    return OK


if __name__ == "__main__":
    raise SystemExit(main())
