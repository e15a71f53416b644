"""Layout planner: wishes travel from the last node to the first, then layouts are settled from the first to the last.

Where a value has another layout than a layer needs, a MNCoreLayoutSwitch goes in; where its padding must hold something
it does not, a MNCoreRefillPadding.  Parameters and inputs take the layout their first reader asks for; a parameter
whose other readers need another one, or other padding, gets a second image in DRAM (`MNGraph.images`).  Planning in
both directions (`bidi`) does this twice: the second time, values for which nobody had a wish are wished for in the
layout that their readers settled on the first time, so that wishes also travel from one operand to another.  Layout
specs of the user and forms that inputs and outputs must have (`plan.ends`) come before any wish.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.graph import MNGraph, MNNode, MNValue, PadType
from compiler.layers.base import DIRTY, PadNeed
from compiler.layers.layouts import default_layout
from compiler.layers.registry import layer_of
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.deal import deal_rows, dealable, undeal_rows
from compiler.layout.l2b import L2bUse, banks_gathered, can_gather, gather_banks, l2b_use, spread_banks
from compiler.layout.time import addressed
from compiler.plan.ends import Ends
from compiler.plan.fetching import fetch_early
from compiler.plan.history import LayoutHistory
from compiler.plan.layout_spec import LayoutSpecs
from compiler.plan.row_spread import Spreading, spread_rows
from compiler.plan.tables import add_tables
from compiler.plan.wishes import Wishes, plan_wishes
from compiler.switch.chains import chain
from compiler.switch.routes import SELECT, cheapest

ROWS_SPREAD = "a sixteenth of the rows in each MAB"


@dataclass
class _Planning:
    """What every step of one planning shares.

    spreading: operands whose layouts the spreading of rows fixed.  settled: the layout in which the first reader took a
    value.  moved: values by name and layout that were switched for the spreading of rows.
    """

    wishes: Wishes
    specs: LayoutSpecs
    history: LayoutHistory
    ends: Ends
    spreading: Spreading = field(default_factory=Spreading)
    settled: Wishes = field(default_factory=dict)
    moved: dict[tuple[str, PadLayout], str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Download:
    """A download that changes how the L2Bs hold a value: its node, the layout in DRAM and that in local memory."""

    kind: str
    stored: Layout
    layout: Layout
    reason: str


def plan_layouts(
    graph: MNGraph,
    *,
    both_directions: bool = False,
    specs: LayoutSpecs | None = None,
    history: LayoutHistory | None = None,
    ends: Ends | None = None,
) -> MNGraph:
    """A new graph in which every value has a layout and every layer gets what it needs.

    specs: layouts that the user fixed.  history: is told how every layout came about.  ends: forms of results.
    """
    specs, history, ends = specs or LayoutSpecs(), history or LayoutHistory(), ends or Ends()
    wishes = plan_wishes(graph)
    if both_directions:
        first = _Planning(wishes, specs, LayoutHistory(), ends)
        _planned(graph, first)
        wishes = {**first.settled, **wishes}
    planned = _planned(graph, _Planning(wishes, specs, history, ends))
    spreading = spread_rows(graph, planned, specs)
    if spreading.operands:
        history.events.clear()
        planned = _planned(graph, _Planning({**wishes, **spreading.wishes}, specs, history, ends, spreading))
    return fetch_early(planned)


def _planned(graph: MNGraph, planning: _Planning) -> MNGraph:
    planned = graph.copy()
    nodes, planned.nodes = planned.nodes, []
    for node in nodes:
        if node.op_type == "Constant":
            planned.nodes.append(node)
        else:
            _settle(planned, node, planning)
    for name in (*planned.inputs, *planned.params):
        value = planned.values[name]
        if value.layout is None:
            value.layout = default_layout(value)
            planning.history.tell(name, value.layout, "nothing reads it: the general layout")
        _pad_with_zero(value)
    return planned


def _pad_with_zero(value: MNValue) -> None:
    """The host fills the padding of floating-point tensors that it sends with zero."""
    if value.pad_type is None and value.layout is not None and value.layout.is_padded and value.dtype.is_float:
        value.pad_type = PadType.ZERO


def _settle(graph: MNGraph, node: MNNode, planning: _Planning) -> None:
    layer, wishes, tell = layer_of(node), planning.wishes, planning.history.tell
    free = {*graph.inputs, *graph.params}
    known: list[PadLayout | None] = []
    for position, name in enumerate(list(node.inputs)):
        value = graph.values[name] if name else None
        fixed = None if value is None else planning.specs.input_layout(node, value.shape)
        of_rows = fixed is None and (node.outputs[0], position) in planning.spreading.operands
        if of_rows:
            fixed = planning.spreading.operands[node.outputs[0], position]
        pinned = (fixed is not None or not layer.lays_out_free_inputs) and position not in layer.streamed
        if value is not None and value.layout is None and name in free and pinned:
            wish = fixed.layout if fixed is not None else wishes.get(name)
            value.layout = PadLayout(value.shape, wish) if wish is not None else default_layout(value)
            tell(name, value.layout, _why_free(fixed is not None, wish is not None), node)
            _pad_with_zero(value)
            how = None if wish is None or name in graph.params else _special_download(wish)
            if how is not None:
                value.layout = PadLayout(value.shape, how.stored)
                node.inputs[position] = _downloaded(graph, value, how)
                value = graph.values[node.inputs[position]]
                tell(value.name, value.layout, how.reason, node)
        if fixed is not None and value is not None:
            streamed = position in layer.streamed
            moved = planning.moved if of_rows else {}
            key = (value.name, fixed)
            moved[key] = moved.get(key) or with_layout(graph, value.name, fixed, streamed=streamed)
            node.inputs[position] = moved[key]
            value = graph.values[node.inputs[position]]
            tell(value.name, fixed, ROWS_SPREAD if of_rows else "layout_spec: SwitchInput", node)
        if value is not None and position not in layer.streamed and _is_sliced(value):
            value = _all_slices(graph, value)
            node.inputs[position] = value.name
        known.append(value.layout if value is not None and value.loc is None else None)
    other = layer.instead(node, graph, known)
    if other is not None:
        node, layer, known = other, layer_of(other), known[: len(other.inputs)]
    results = list(node.outputs)
    fixed_outputs = [
        planning.ends.layout(name) or planning.specs.output_layout(node, graph, k) for k, name in enumerate(results)
    ]
    asked = [
        wishes.get(name) if fixed is None else fixed.layout
        for name, fixed in zip(node.outputs, fixed_outputs, strict=True)
    ]
    assignment = layer.assign(node, graph, known, asked)
    planning.specs.check_product(node, graph, assignment.inputs)
    for position, (name, needed) in enumerate(zip(list(node.inputs), assignment.inputs, strict=True)):
        if needed is not None:
            planning.settled.setdefault(name, needed.layout)
            before = graph.values[name].layout
            node.inputs[position] = with_layout(graph, name, needed, streamed=position in layer.streamed)
            if before is None or node.inputs[position] != name:
                reason = "what the operator reads" if before is None else f"switched from {before.layout}"
                tell(node.inputs[position], needed, reason, node)
    for position, need in layer.padding(node, graph).items():
        if node.inputs[position]:
            streamed = position in layer.streamed
            node.inputs[position] = _with_padding(graph, node.inputs[position], need, streamed=streamed)
    graph.nodes.append(node)
    for name, layout, wish, fixed in zip(node.outputs, assignment.outputs, asked, fixed_outputs, strict=True):
        value = graph.values[name]
        value.layout = layout
        met = wish is not None and layout.layout.equivalent(wish)
        reason = "as its readers wish" if fixed is None else _why_fixed(planning, name)
        tell(name, layout, reason if met else "what the operator gives", node)
        if layout.is_padded:
            value.pad_type = PadType(layer.result_padding(node, graph))
    add_tables(graph, node)
    for position, wanted in enumerate(fixed_outputs):
        if wanted is not None and not assignment.outputs[position].equivalent(wanted):
            _fix_output(graph, node, position, wanted)
            tell(results[position], wanted, _why_fixed(planning, results[position]), node)
    for name in results:
        kind = planning.ends.padding(name, graph)
        if kind is not None:
            _fix_padding(graph, name, kind)


def _why_free(fixed: bool, wished: bool) -> str:
    if fixed:
        return "layout_spec: SwitchInput"
    return "as its first reader wishes" if wished else "nobody has a wish: the general layout"


def _why_fixed(planning: _Planning, name: str) -> str:
    return "layout_spec: FixOutput" if planning.ends.layout(name) is None else "io_spec_constraints"


def _fix_output(graph: MNGraph, node: MNNode, position: int, wanted: PadLayout) -> None:
    """Switch an output to a layout under its own name; the node makes it under another."""
    name = node.outputs[position]
    value = graph.values[name]
    assert value.layout is not None
    made = _derived(graph, value, "Unswitched", value.layout)
    made.pad_type = value.pad_type
    node.outputs[position] = made.name
    value.layout = wanted
    value.pad_type = PadType(DIRTY) if wanted.is_padded else None
    switch = MNNode("MNCoreLayoutSwitch", name, [made.name], [name])
    add_tables(graph, switch)
    graph.nodes.append(switch)


def _fix_padding(graph: MNGraph, name: str, kind: PadType) -> None:
    """Fill the padding of an output under its own name; a value in time slices keeps what it has."""
    value = graph.values[name]
    layout = value.layout
    assert layout is not None
    if not layout.is_padded or value.pad_type is kind or layout.num_slices > 1:
        return
    maker = next(node for node in reversed(graph.nodes) if name in node.outputs)
    made = _derived(graph, value, "Unfilled", layout)
    made.pad_type, value.pad_type = value.pad_type, kind
    maker.outputs[maker.outputs.index(name)] = made.name
    axes = [axis for axis, extent in enumerate(layout.shape) if extent != layout.padded_shape[axis]]
    graph.nodes.append(MNNode("MNCoreRefillPadding", name, [made.name], [name], {"kind": str(kind), "axes": axes}))


def with_layout(graph: MNGraph, name: str, needed: PadLayout, *, streamed: bool) -> str:
    """The name of a value that is `name` in layout `needed`, switching when it lies differently."""
    value = graph.values[name]
    if value.layout is None:
        value.layout = _stored(graph, value, needed)
        _pad_with_zero(value)
    if value.layout.equivalent(needed):
        return name
    if name in graph.params and (streamed or cheapest(value.layout, needed, value.dtype) == SELECT):
        return _image(graph, name, needed, value.pad_type)
    if needed.num_slices > 1:
        return _sliced_anew(graph, value, needed)
    how = _download_for(value.layout.layout, needed.layout)
    if how is not None and name in graph.inputs and not streamed:
        return with_layout(graph, _downloaded(graph, value, how), needed, streamed=False)
    source, dtype = value.layout, value.dtype
    for layout in (*chain(source, needed, dtype), needed):
        switched = _derived(graph, value, "LayoutSwitch", layout)
        switched.pad_type = PadType(DIRTY) if layout.is_padded else None
        node = MNNode("MNCoreLayoutSwitch", switched.name, [name], [switched.name])
        add_tables(graph, node)
        graph.nodes.append(node)
        name = switched.name
    return name


def _stored(graph: MNGraph, value: MNValue, needed: PadLayout) -> PadLayout:
    """The layout in which an input or parameter without one is stored: that of its first reader.

    An input vector that would be copied over the words of a long word (labels that meet a row reduction) is stored
    without these copies: spreading them inside the PE costs less than to transfer them.
    """
    if value.name in graph.inputs and len(value.shape) == 1 and needed.is_broadcast(Level.W):
        dense = default_layout(value)
        if not dense.is_broadcast(Level.W):
            return dense
    return needed


def _is_sliced(value: MNValue) -> bool:
    return value.layout is not None and value.layout.num_slices > 1


def _all_slices(graph: MNGraph, value: MNValue) -> MNValue:
    """A sliced value as a whole in local memory, for a layer that is not cut."""
    assert value.layout is not None
    whole = _derived(graph, value, "SlicedDownload", addressed(value.layout))
    whole.pad_type = value.pad_type
    graph.nodes.append(MNNode("MNCoreSlicedDownload", whole.name, [value.name], [whole.name]))
    return whole


def _sliced_anew(graph: MNGraph, value: MNValue, needed: PadLayout) -> str:
    """The name of a value in DRAM that is `value` with other slices; it passes through local memory whole."""
    held = _all_slices(graph, value) if _is_sliced(value) else value
    name = with_layout(graph, held.name, addressed(needed), streamed=False)
    stored = _derived(graph, value, "SlicedUpload", needed)
    stored.pad_type = graph.values[name].pad_type
    graph.nodes.append(MNNode("MNCoreSlicedUpload", stored.name, [name], [stored.name]))
    return stored.name


def _special_download(layout: Layout) -> _Download | None:
    """The download that leaves a value in `layout`, or nearly so, from the form in which all L2Bs hold different parts.
    """
    if banks_gathered(layout):
        stored = spread_banks(layout)
        reason = "both banks of a group get it when it is downloaded"
        return _Download("BankDownload", stored, gather_banks(stored), reason)
    undealt = undeal_rows(layout)
    if undealt is not None and dealable(undealt):
        return _Download("DealtDownload", undealt, layout, "dealt to the banks when it is downloaded")
    return None


def _download_for(stored: Layout, needed: Layout) -> _Download | None:
    """The download that brings a value from `stored`, split over all L2Bs, to those L2Bs that `needed` has it in."""
    use = l2b_use(needed)
    if l2b_use(stored) is not L2bUse.SPLIT:
        return None
    if use is L2bUse.GROUPS and can_gather(stored):
        return _Download("BankDownload", stored, gather_banks(stored), "")
    if use is L2bUse.BANKS and dealable(stored):
        return _Download("DealtDownload", stored, deal_rows(stored), "")
    return None


def _downloaded(graph: MNGraph, value: MNValue, how: _Download) -> str:
    """The name of an input as a download leaves it."""
    made = _derived(graph, value, how.kind, PadLayout(value.shape, how.layout))
    made.pad_type = value.pad_type
    graph.nodes.append(MNNode(f"MNCore{how.kind}", made.name, [value.name], [made.name]))
    return made.name


def _with_padding(graph: MNGraph, name: str, need: PadNeed, *, streamed: bool) -> str:
    """The name of a value that is `name` with the padding a layer needs."""
    value = graph.values[name]
    layout = value.layout
    assert layout is not None
    padded = [axis for axis in need.axes if layout.shape[axis] != layout.padded_shape[axis]]
    if not padded or value.pad_type == need.kind:
        return name
    if value.pad_type is None and name in (*graph.inputs, *graph.params):
        value.pad_type = PadType(need.kind)
        return name
    if streamed and name in graph.params:
        return _image(graph, name, layout, PadType(need.kind))
    filled = _derived(graph, value, "RefillPadding", layout)
    filled.pad_type = PadType(need.kind)
    graph.nodes.append(
        MNNode("MNCoreRefillPadding", filled.name, [name], [filled.name], {"kind": need.kind, "axes": padded})
    )
    return filled.name


def _image(graph: MNGraph, name: str, layout: PadLayout, pad_type: PadType | None) -> str:
    """The parameter that is the image of parameter `name` in a layout, with some padding; made on first request."""
    root = graph.images.get(name, name)
    pad_type = pad_type if layout.is_padded else None
    for known in (root, *(image for image, of in graph.images.items() if of == root)):
        value = graph.values[known]
        if value.layout is not None and value.layout.equivalent(layout) and value.pad_type == pad_type:
            return known
    image = _derived(graph, graph.values[root], "Image", layout)
    image.pad_type, image.constant = pad_type, graph.values[root].constant
    _pad_with_zero(image)
    graph.params.append(image.name)
    graph.images[image.name] = root
    return image.name


def _derived(graph: MNGraph, value: MNValue, step: str, layout: PadLayout) -> MNValue:
    name = graph.fresh_name(value.name, step)
    return graph.add_value(MNValue(name, value.onnx_dtype, value.shape, value.dtype, layout, value.gene))
