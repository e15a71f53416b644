"""What goes wrong with a study; every message names the file, the key and what was expected."""

from __future__ import annotations

from runtime.errors import MLSDKError


class StudyError(MLSDKError):
    """A study cannot be carried out."""


class StudyFileError(StudyError):
    """The description of a study is wrong: an unknown key, a value of another type, a program that is not there."""


class ProgramFileError(StudyError):
    """A path that leads to no program."""


class ClusterError(StudyError):
    """A Dask scheduler cannot be reached, or Dask is not installed."""


class PlotError(StudyError):
    """Plots were asked for and matplotlib is not installed."""
