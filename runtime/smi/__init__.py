"""`gpfn3-smi`: list, reset and clear the boards of this machine (compiler.md 12, seed 4.1)."""

from runtime.smi.command import main

__all__ = ["main"]
