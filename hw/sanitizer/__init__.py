"""Checks on decoded programs: hazard distances between steps and the rules of one line.

`footprint` says what an item touches, `rules` holds the hazard table as data, `hazards` compares pairs and whole
programs, `order` adds the order that values need, `lineset` says which items may share a line.
"""

from hw.sanitizer.footprint import footprint
from hw.sanitizer.hazards import check, required_distance
from hw.sanitizer.lineset import conflicts
from hw.sanitizer.resources import Access, Footprint, Res
from hw.sanitizer.rules import RULES, Rule
from hw.sanitizer.violation import Violation

__all__ = [
    "RULES",
    "Access",
    "Footprint",
    "Res",
    "Rule",
    "Violation",
    "check",
    "conflicts",
    "footprint",
    "required_distance",
]
