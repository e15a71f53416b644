"""The environment variables of the compiler (compiler.md 9.3, seed 4.2.3, mlsdk.md 15)."""

from __future__ import annotations

from typing import Any

from compiler.options.kinds import Assignments, Flag, Integer, Kind, Words
from compiler.options.record import OptionRecord

_FLAG = Flag()


def _variable(
    section: int,
    name: str,
    meaning: str,
    kind: Kind = _FLAG,
    default: Any = None,
    *,
    used_in: str | None = None,
    note: str = "",
) -> OptionRecord:
    """A variable documented in section 4.2.3.<section> of the seed; flags are off by default."""
    off = False if kind is _FLAG else default
    return OptionRecord(name, kind, off, meaning, f"seed 4.2.3.{section}", used_in, note)


def _example(
    name: str, meaning: str, kind: Kind = _FLAG, default: Any = None, *, used_in: str | None = None, note: str = ""
) -> OptionRecord:
    """A variable that only the vendor's example programs use."""
    source = "vendor examples (compiler.md 9.3)"
    return OptionRecord(name, kind, False if kind is _FLAG else default, meaning, source, used_in, note)


ENVIRONMENT: tuple[OptionRecord, ...] = (
    _variable(
        1,
        "CODEGEN_FIND_BEST_COMPILE_OPTIONS",
        "Try every emit strategy and keep the best.",
        used_in="compiler/search.py",
        note="all spreads of matrix products, both ways to propagate layouts, all schedulers; annealing on all of them",
    ),
    _variable(
        2,
        "CODEGEN_FIND_BETTER_COMPILE_OPTIONS",
        "Try the reasonable emit strategies and keep the best.",
        used_in="compiler/search.py",
        note="all spreads of matrix products whatever the planner; annealing on the two best",
    ),
    _variable(
        3,
        "CODEGEN_SCHEDULE_PP_BEAM_MAX_TURN",
        "Most turns of the beam search that reorders nodes; -1 = no limit.",
        Integer(-1),
        used_in="compiler/schedulers/annealing/explore.py",
        note="4 where it is not set",
    ),
    _variable(
        4,
        "CODEGEN_SCHEDULE_PP_BEAM_TURN_PRUNE_LIMIT",
        "Most turns of the beam search without an improvement.",
        Integer(0),
        used_in="compiler/schedulers/annealing/explore.py",
        note="2 where it is not set",
    ),
    _variable(
        5,
        "CODEGEN_SCHEDULE_PP_BEAM_WIDTH",
        "Candidates that the beam search keeps.",
        Integer(1),
        used_in="compiler/schedulers/annealing/explore.py",
        note="no beam search where it is not set",
    ),
    _variable(
        6,
        "CODEGEN_USE_MERGE",
        "L1Merge: merge instruction sequences that use different resources.",
        Integer(0),
        1,
        used_in="compiler/emit/link.py",
        note="on unless set to 0, which links layers one after the other",
    ),
    _variable(
        7,
        "CODEGEN_USE_PARALLEL_MERGE",
        "L1Merge in a logarithmic number of parallel rounds.",
        note="packing merges all layers in one pass; there are no rounds to run in parallel",
    ),
    _variable(
        8,
        "CODEGEN_SA_STEPS",
        "Steps of simulated annealing.",
        Integer(0),
        1000000,
        used_in="compiler/schedulers/annealing",
        note="steps of each round",
    ),
    _variable(
        9,
        "CODEGEN_NUM_SA_THREADS",
        "Threads of simulated annealing.",
        Integer(1),
        1,
        used_in="compiler/schedulers/annealing",
        note="rounds run in parallel; the result does not depend on it",
    ),
    _variable(
        10,
        "CODEGEN_N_TRANSPOSE_THREADS",
        "Host threads that transpose data into device layouts.",
        Integer(1),
        8,
        note="host data is laid out by vectorised code in one thread",
    ),
    _variable(
        11,
        "CODEGEN_N_DEV_COPY_STREAMS_THREADS",
        "Parallel streams between host and device.",
        Integer(1),
        8,
        note="the simulated board has one host link, which is used in order",
    ),
    _variable(
        12,
        "CODEGEN_ENABLE_SET_PARTIAL_LOCATION",
        "Allow a mixed choice of local memory and DRAM where inputs of a node disagree.",
        note="every operand has a place of its own already",
    ),
    _variable(
        13,
        "CODEGEN_GEMM_FORCE_CHANNEL_SPLIT",
        "Always split channels in matrix products.",
        used_in="compiler/search.py",
        note="only spreads that split channels over the banks, where the graph has such",
    ),
    _variable(
        14,
        "CODEGEN_OP_DEF",
        "Implementations to use for operators.",
        Assignments(),
        used_in="compiler/plan/implementations.py",
        note="Gemm, MatMul and Conv of float operands: PseudoSingle (default) or Single; others have one each",
    ),
    _variable(
        15,
        "CODEGEN_SKIP_RESOLVE_NEGATIVE_INDICES",
        "Do not handle negative indices.",
        note="negative indices are always handled",
    ),
    _variable(
        16,
        "CODEGEN_TIME_SLICE_SCATTERED_INDEXING_BCAST",
        "Slice scattered indexing that broadcasts.",
        note="the compiler decides about slices from sizes alone",
    ),
    _variable(
        17,
        "CODEGEN_MAX_TIME_SLICE",
        "Most time slices of a value; beyond it compilation stops.",
        Integer(1),
        256,
        used_in="compiler/plan/time_slice.py",
    ),
    _variable(
        18,
        "CODEGEN_IGNORE_LAYOUT_CHECK",
        "Skip the consistency check of layouts; programs may come out wrong.",
        used_in="compiler/build.py",
    ),
    _variable(
        19,
        "CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC",
        "Layout specs that match nothing are no error.",
        used_in="compiler/codegen.py",
    ),
    _variable(
        20,
        "CODEGEN_USE_ADDR_FIRST_Z",
        "Planner lpz prefers addresses over other levels.",
        note="layouts come from wishes of layers, which say what goes to addresses",
    ),
    _variable(
        21,
        "CODEGEN_LAYOUT_PLANNER_Z",
        "Use planner lpz whatever layout_planner says.",
        used_in="compiler/search.py",
    ),
    _variable(
        22,
        "CODEGEN_ALARM",
        "Seconds after which the compile process is stopped; only in the tool run_onnx_mncore.",
        Integer(0),
        used_in="runtime/cli/compile_onnx.py",
        note="in `mncore2 compile`",
    ),
    _variable(
        23,
        "CODEGEN_IGNORE_REUSED_VALUE_LAYOUT",
        "Ignore layout constraints of values used more than once.",
        note="a value used more than once is switched for the later readers",
    ),
    _variable(
        24,
        "CODEGEN_DEFER_SIMPLIFY",
        "Simplifications to do after PFVM.",
        Words(),
        note="all simplifications are done by PFVM",
    ),
    _variable(
        25,
        "CODEGEN_NODE_SIM_ALLOW_UNEXPECTED_FAIL",
        "Go on after unexpected failures of node simulation.",
        used_in="compiler/nodesim",
    ),
    _variable(
        26,
        "CODEGEN_FORCE_ATTENTION_GRAD_AFTER_FORWARD",
        "Schedule gradients of attention after the forward pass.",
        note="attention is opened into products and a softmax; no operator of its own is left to be ordered",
    ),
    _variable(
        27,
        "CODEGEN_AUTO_RECOMPUTE_HACK_FOR_QWEN",
        "Recompute rule for Qwen models.",
        note="there are no rules for single models",
    ),
    _variable(
        28,
        "CODEGEN_STOP_USING_GENERIC_INDEXING_GATHER_INDEX_ADD",
        "Use the other implementation of gather and index-add.",
        note="every operator has one implementation",
    ),
    _variable(
        29,
        "CODEGEN_GEMM_FORCE_WEIGHT_ON_DRAM",
        "Weights of matrix products always stream from DRAM.",
        used_in="compiler/layers/gemm.py",
        note="always on: weights stream from DRAM",
    ),
    _variable(
        30,
        "CODEGEN_LPZ_SKIP_PROPAGATE_TIME",
        "Planner lpz does not propagate time slices.",
        note="slices follow from sizes; a cut always goes on along the graph",
    ),
    _variable(
        31,
        "CODEGEN_OPS_ON_HOST",
        "Operators that run on the host instead of the device.",
        Words(),
        note="all operators run on the chip; a program has no part on the host",
    ),
    _variable(
        32,
        "CODEGEN_CONV_AGGRESSIVE_TIME_SLICING",
        "Reserve halo and weight buffers before slicing a convolution.",
        note="the number of slices follows from what found no room",
    ),
    _variable(
        33,
        "CODEGEN_GN_AGGRESSIVE_TIME_SLICING",
        "Reserve space for the bias before slicing a GroupNorm.",
        note="the number of slices follows from what found no room",
    ),
    _variable(
        34,
        "CODEGEN_SKIP_OPTIMIZER_FUSION",
        "Keep the operators of optimizers unfused.",
        used_in="compiler/pfvm/passes/optimizers.py",
        note="otherwise the operators that update one parameter and its states are one node; the bits are the same",
    ),
    _variable(
        35,
        "CODEGEN_GENERIC_MOVE_CHUNK_SIZE",
        "Long words that a chunked layout switch moves at a time; -1 = not chunked.",
        Integer(-1),
        -1,
        note="layout switches need no buffer that chunks would make smaller",
    ),
    _variable(
        36,
        "MNCORE_USE_EXTERNAL_DATA_FORMAT",
        "Large tensors of ONNX files go to files of their own.",
        used_in="mlsdk/build.py",
    ),
    _variable(
        37,
        "PFVM_DISABLE_CONSTANT_REUSE",
        "Equal constants are not shared.",
        used_in="compiler/pfvm",
    ),
    _example(
        "MNCORE_USE_LEGACY_ONNX_EXPORTER",
        "Export through the old exporter.",
        note="there is one exporter",
    ),
    _example(
        "CODEGEN_LAYOUT_PLANNER_Z_HONOR_LAYOUT_SPEC",
        "Planner lpz obeys the layout specs.",
        used_in="compiler/plan/layouts.py",
        note="always on: all planners obey layout specs",
    ),
    _example(
        "CODEGEN_SPATIAL_SPLIT_THRESHOLD_L2B_L1B",
        "Heights and widths below this are not split among L1Bs and L2Bs.",
        Integer(0),
        note="heights and widths are not split among L1Bs and L2Bs",
    ),
)
