"""`CacheOptions`: where results of earlier compilations are kept (mlsdk.md 9)."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class CacheOptions:
    """Where results of earlier compilations are kept and which kinds of them may be used.

    `enable_app_cache` keeps finished programs, `enable_codegen_cache` results of node simulation.  The other two name
    finer-grained caches of the vendor's compiler (graphs, assembled objects); here a program is kept whole, so they
    have nothing to add.
    """

    directory: str | os.PathLike[str]
    enable_app_cache: bool = True
    enable_onnx_cache: bool = True
    enable_codegen_cache: bool = True
    enable_gpfn2obj_cache: bool = True
