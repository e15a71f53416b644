"""From the builder function of a row kernel to a body that Numba compiles; imported only when something is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import intrinsic

from hw.kernels.fast_ir import I64, Build, Code


def vector_body(build: Build) -> Callable[..., None]:
    """A kernel body that consists of what `build` emits."""

    def typing(context: Any, s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            table = builder.bitcast(args[0], I64.as_pointer())
            build(Code(builder, table, context.codegen().magic_tuple()[2]), args)
            return context.get_dummy_value()

        return types.void(s0, s1, s2, out, flags, mat, par), codegen

    emit: Any = intrinsic(typing)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        emit(s0, s1, s2, out, flags, mat, par)

    return body
