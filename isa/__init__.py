"""The assembly language (VSM): parser, assembler, static checks, packer, dumps, and the instruction records."""

from isa.assemble import assemble, parse_item, parse_mv
from isa.errors import AsmError, AsmWarning, IsaError

__all__ = ["AsmError", "AsmWarning", "IsaError", "assemble", "parse_item", "parse_mv"]
