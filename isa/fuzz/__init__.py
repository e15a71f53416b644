"""Random programs over all instruction records, and their comparison with another pair of tools."""

from isa.fuzz.compare import Difference, compare, shrink
from isa.fuzz.generate import FuzzProgram, random_program
from isa.fuzz.lines import distinct_lines
from isa.fuzz.tools import OfficialTools, OwnTools, Tools, ToolsMissing

__all__ = [
    "Difference",
    "FuzzProgram",
    "OfficialTools",
    "OwnTools",
    "Tools",
    "ToolsMissing",
    "compare",
    "distinct_lines",
    "random_program",
    "shrink",
]
