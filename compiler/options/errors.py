"""The error of compile options: names the option or file, what was expected, and the nearest spelling."""

from __future__ import annotations


class OptionError(ValueError):
    """A compile option, environment variable or option file is wrong.  `option` is the name or path in question."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option
