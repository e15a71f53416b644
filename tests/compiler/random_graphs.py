"""Random ONNX graphs of the operators the compiler has layers for, drawn by hypothesis.

`graphs()` draws a `Drawn`: a model of 3 to 12 operators with values of odd shapes, and feeds that keep it in range.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from tests.compiler.models import TYPES
from tests.compiler.random_model import EXTENTS, Draw, Drawn, Maker
from tests.compiler.random_networks import NETWORKS
from tests.compiler.random_operators import COMMON

#: Kind of operator -> what adds a few nodes of it.
OPERATORS = {**COMMON, **NETWORKS}


@st.composite
def graphs(
    draw: Draw,
    limit: int = 4096,
    kinds: tuple[str, ...] = tuple(OPERATORS),
    extents: tuple[int, ...] = EXTENTS,
    most: int = 12,
) -> Drawn:
    """A graph of 3 to `most` operators named by `kinds`, whose values have about `limit` elements at most and inputs
    with axes of `extents`.
    """
    maker = Maker(draw, limit, extents)
    maker.input("float", maker.shape(1))
    if draw(st.booleans()):
        maker.input("int", maker.shape(1))
    count = draw(st.integers(3, most))
    while len(maker.nodes) < count:
        OPERATORS[draw(st.sampled_from(kinds))](maker)
    used = {name for node in maker.nodes for name in node.input}
    made = {name for node in maker.nodes for name in node.output}
    results = [v for v in maker.values if v.name in made and v.name not in used]
    graph = helper.make_graph(
        maker.nodes,
        "random",
        [helper.make_tensor_value_info(v.name, TYPES[v.kind], v.shape) for v in maker.inputs.values()],
        [helper.make_tensor_value_info(v.name, TYPES[v.kind], v.shape) for v in results],
        [numpy_helper.from_array(np.asarray(data), name) for name, data in maker.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    return Drawn(model, maker.feeds)
