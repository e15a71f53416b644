"""The command-line options of the compiler (compiler.md 9.2, seed 4.2.2); all of them are also keys of `options`."""

from __future__ import annotations

from compiler.options.kinds import Boolean, Choice, FilePath, Integer, Real
from compiler.options.record import OptionRecord

OPTION_JSON = "option_json"
ENVS = "envs"

COMMAND_LINE: tuple[OptionRecord, ...] = (
    OptionRecord(
        OPTION_JSON,
        FilePath(),
        None,
        "A JSON file with options and environment variables, or the name of a preset (O0 to O4, debug).",
        "seed 4.2.2.1",
        used_in="compiler/options",
    ),
    OptionRecord(
        "float_dtype",
        Choice(("mixed", "half", "float", "double")),
        "mixed",
        "Device type of float32 tensors; mixed = half around matrix products, else float.",
        "seed 4.2.2.2; default chosen",
        used_in="compiler/plan/dtypes.py",
    ),
    OptionRecord(
        "layout_planner",
        Choice(("lpz", "bidi", "legacy")),
        "lpz",
        "Planner of layouts: legacy lets wishes travel from readers to makers, bidi both ways, lpz compares by cycles.",
        "seed 4.2.2.3",
        used_in="compiler/search.py",
    ),
    OptionRecord(
        "scheduler",
        Choice(("always_from_dram", "reuse_consecutive", "spill_opt", "auto_recompute_sa")),
        "reuse_consecutive",
        "Residence of values in local memory; later ones are better and take longer to compile.",
        "seed 4.2.2.4",
        used_in="compiler/schedulers",
    ),
    OptionRecord(
        "simulation_mode",
        Choice(("auto", "default", "fast", "best", "full", "fake")),
        "auto",
        "How many implementations of each node are measured; auto follows the scheduler.",
        "seed 4.2.2.5; default chosen",
        used_in="compiler/nodesim",
    ),
    OptionRecord(
        "sram_budget",
        Real(0.0, 1.0),
        1.0,
        "Share of local memory that the scheduler may use.",
        "seed 4.2.2.6",
        used_in="compiler/plan",
    ),
    OptionRecord(
        "sa_expected_run_iters",
        Integer(0),
        0,
        "Rounds of the annealing loop; 0 = until the result is good enough.",
        "seed 4.2.2.7",
        used_in="compiler/schedulers/annealing",
    ),
    OptionRecord(
        "out_onnx",
        FilePath(),
        None,
        "Write the optimised (Compiled) ONNX to this path.",
        "seed 4.2.2.8",
        used_in="mlsdk/compilation.py",
    ),
    OptionRecord(
        "layout_spec",
        FilePath(),
        None,
        "JSON file that fixes layouts of inputs or outputs by operator and shape.",
        "seed 4.2.2.9",
        used_in="compiler/plan/layout_spec.py",
    ),
    OptionRecord(
        "gemm_layout_spec",
        FilePath(),
        None,
        "JSON file that fixes the layouts A, BT and C of matrix products.",
        "seed 4.2.2.10",
        used_in="compiler/plan/layout_spec.py",
    ),
    OptionRecord(
        "num_threads",
        Integer(-1),
        -1,
        "Worker processes of node simulation at most; -1 = one per processor.",
        "compiler.md 9.2; default chosen",
        used_in="compiler/nodesim",
    ),
    OptionRecord(
        "backprop",
        Boolean(),
        False,
        "Legacy exporter only: the compiler adds backward and update to a function that returns a loss.",
        "mlsdk.md 14.2",
        note="there is one exporter; write backward and update into the function",
    ),
)
