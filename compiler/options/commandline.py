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
        "Device type of float32 tensors; mixed = half around matrix products, else float. Only mixed and half so far.",
        "seed 4.2.2.2; default chosen",
        used_in="compiler/plan/dtypes.py",
    ),
    OptionRecord(
        "layout_planner",
        Choice(("lpz", "bidi", "legacy")),
        "lpz",
        "Planner of layouts: lpz compares ways to spread matrix products by cycles, bidi and legacy do not.",
        "seed 4.2.2.3",
        used_in="compiler/plan/strategy.py",
    ),
    OptionRecord(
        "scheduler",
        Choice(("always_from_dram", "reuse_consecutive", "spill_opt", "auto_recompute_sa")),
        "reuse_consecutive",
        "Residence of values in local memory; later ones are better. auto_recompute_sa (O1 to O4): refused so far.",
        "seed 4.2.2.4",
        used_in="compiler/schedulers",
    ),
    OptionRecord(
        "simulation_mode",
        Choice(("auto", "default", "fast", "best", "full", "fake")),
        "auto",
        "How many implementations of each node are measured; auto follows the scheduler.",
        "seed 4.2.2.5; default chosen",
    ),
    OptionRecord(
        "sram_budget",
        Real(0.0, 1.0),
        1.0,
        "Share of local memory that the scheduler may use.",
        "seed 4.2.2.6",
        used_in="compiler/plan/addresses.py",
    ),
    OptionRecord(
        "sa_expected_run_iters",
        Integer(0),
        0,
        "Rounds of the annealing loop; 0 = until the result is good enough.",
        "seed 4.2.2.7",
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
    ),
    OptionRecord(
        "gemm_layout_spec",
        FilePath(),
        None,
        "JSON file that fixes the layouts A, BT and C of matrix products.",
        "seed 4.2.2.10",
    ),
    OptionRecord(
        "num_threads",
        Integer(-1),
        -1,
        "Threads of the compiler; -1 = choose.",
        "compiler.md 9.2; default chosen",
    ),
    OptionRecord(
        "backprop",
        Boolean(),
        False,
        "Legacy exporter only: the compiler adds backward and update to a function that returns a loss.",
        "mlsdk.md 14.2",
    ),
)
