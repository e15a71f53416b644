"""Debug statements: `d get` and `d set`, with the exact text of the official emulator (isa.md 14).

`parse_debug` reads a statement, `debug_handler` carries statements out against a board while a program runs.
"""

from isa.dump.errors import DumpError
from isa.dump.handler import PdmDump, debug_handler
from isa.dump.statement import Get, Set, parse_debug

__all__ = ["DumpError", "Get", "PdmDump", "Set", "debug_handler", "parse_debug"]
