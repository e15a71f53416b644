"""Which ONNX operators the chip's code generator takes, and the page that lists them.

`python -m compiler.operators > docs/operators.md` renews the page.
"""

from __future__ import annotations

import textwrap

from compiler.layers.registry import layers
from compiler.plan.opening import OPENINGS


def supported() -> list[str]:
    """Names of all operators with a layer of their own or made of others that have one, sorted."""
    return sorted({name for name in (*layers(), *OPENINGS) if not name.startswith("MNCore")} | {"Constant"})


def page() -> str:
    """docs/operators.md."""
    names = textwrap.fill(", ".join(f"`{name}`" for name in supported()), 120)
    return f"""# Operators on the chip

Compiled for a board, a graph may use the operators below (after PFVM, which folds and rewrites what it can; PyTorch's
own operators are opened into these by its exporter). Everything else is refused by name. On `pfvm:*` devices more
operators run.

{names}

Known limits: shapes are static; random operators have no source on the chip; integers are 32-bit; double precision
leaves out Erf, Gelu, Sin, Cos, Mod and ReduceProd; GatherND and ScatterND are missing (of indices in PyTorch the
exporter makes gathers and scatters along one axis); order, gathers and scatters compare every element with every place,
which suits axes of some hundred elements.

Convolutions and poolings with any number of spatial axes, strides, paddings, dilations and groups work forwards and
backwards (PyTorch's gradients become `ChainerConvGradWeight`, `ChainerMaxPoolGrad` and `ChainerAveragePoolGrad`).
Each L1B has its own images and each of its MABs some of their rows, which must fit with their windows: images of 32 by
32 with 32 channels and windows of 3 by 3 do. A filter that is too large is cut along its outputs.
"""


if __name__ == "__main__":
    print(page(), end="")
