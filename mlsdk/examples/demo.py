"""The demo: train on real digits with PyTorch, compile the evaluation step, run all of it on the simulated chip.

    python -m mlsdk.examples.demo --outdir out/demo

Leaves `<outdir>/summary.json`, the checkpoint and the compiler's artifacts in `<outdir>/eval_step`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from mlsdk import CompiledFunction, Context, MNDevice, set_tensor_name_in_module, storage
from mlsdk.errors import MLSDKError
from mlsdk.examples.mnist_common import DigitLoader, MNCoreClassifier, make_eval_step, mnist_loaders
from runtime.data import load_digits
from runtime.files import write_atomically

EVAL_BATCH = 125


class Demo:
    """Runs the phases one after the other and collects what the summary says."""

    def __init__(self, outdir: Path, device: str, epochs: int, console: Console) -> None:
        self.outdir = outdir
        self.device = device
        self.epochs = epochs
        self.console = console
        self.seconds: dict[str, float] = {}

    def run(self) -> dict[str, Any]:
        """All phases; returns the summary, which is also in summary.json."""
        torch.manual_seed(0)
        with self._phase("data"):
            digits = load_digits()
            train_loader, eval_loader = mnist_loaders(64, EVAL_BATCH, digits)
        for note in digits.notes:
            self.console.print(f"[yellow]note:[/] {note}")
        self.console.print(f"data: {digits.source}")
        model = MNCoreClassifier()
        with self._phase("train"), _one_thread():
            self._train(model, train_loader)
        checkpoint = self._save(model)
        model.eval()
        step = make_eval_step(model)
        with self._phase("evaluate_torch"), _one_thread(), torch.no_grad():
            right_torch = sum(int(step(sample)["correct"]) for sample in eval_loader)
        with self._phase("compile"):
            compiled = self._compile(model, step, next(iter(eval_loader)))
        with self._phase("evaluate_chip"):
            right_chip = self._evaluate(compiled, eval_loader)
        summary = self._summary(eval_loader, right_torch, right_chip, compiled, checkpoint)
        write_atomically(self.outdir / "summary.json", json.dumps(summary, indent=2) + "\n")
        self._print(summary)
        return summary

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - begin, 3)

    def _train(self, model: MNCoreClassifier, loader: DigitLoader) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        model.train()
        with self._progress() as progress:
            task = progress.add_task("training in PyTorch", total=self.epochs * len(loader))
            for _ in range(self.epochs):
                for sample in loader:
                    optimizer.zero_grad()
                    model(sample["x"], sample["t"])["loss"].backward()
                    optimizer.step()
                    progress.advance(task)
                for group in optimizer.param_groups:
                    group["lr"] *= 0.3

    def _save(self, model: MNCoreClassifier) -> Path:
        path = storage.path(self.outdir) / "checkpoint.pt"
        part = path.with_suffix(".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"model_state_dict": model.state_dict()}, part)
        part.replace(path)
        return path

    def _compile(self, model: MNCoreClassifier, step: Any, sample: dict[str, torch.Tensor]) -> CompiledFunction:
        context = Context(MNDevice(self.device))
        set_tensor_name_in_module(model, "model")
        for parameter in model.parameters():
            context.register_param(parameter)
        with self.console.status("compiling eval_step"):
            return context.compile(step, sample, storage.path(self.outdir) / "eval_step", training=False)

    def _evaluate(self, compiled: CompiledFunction, loader: DigitLoader) -> int:
        right = 0
        with self._progress() as progress:
            task = progress.add_task(f"evaluating on {self.device}", total=len(loader))
            for sample in loader:
                right += int(compiled(sample)["correct"].item())
                progress.advance(task)
        return right

    def _progress(self) -> Progress:
        columns = (
            TextColumn("{task.description:<26}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("batches"),
            TimeElapsedColumn(),
        )
        return Progress(*columns, console=self.console)

    def _summary(
        self, loader: DigitLoader, right_torch: int, right_chip: int, compiled: CompiledFunction, checkpoint: Path
    ) -> dict[str, Any]:
        samples = len(loader.dataset)
        report = compiled.report
        artifacts = sorted(str(path) for path in (self.outdir / "eval_step").iterdir())
        return {
            "accuracy_chip": right_chip / samples,
            "accuracy_torch": right_torch / samples,
            "samples": samples,
            "batch": EVAL_BATCH,
            "vsm_cycles": report["vsm_cycles"],
            "core_freq": report["core_freq"],
            "msec_per_batch": report["vsm_cycles"] / report["core_freq"] / 1e3,
            "flops": report["flops"],
            "tflops": report["tflops"],
            "percent_of_peak": report["percent_of_peak"],
            "host_ops": len(report["host_ops"]),
            "seconds": self.seconds | {"total": round(sum(self.seconds.values()), 3)},
            "data": loader.source,
            "device": self.device,
            "paths": [str(self.outdir / "summary.json"), str(checkpoint), *artifacts],
        }

    def _print(self, summary: dict[str, Any]) -> None:
        table = Table(title="MNCoreClassifier, evaluation step", show_header=False)
        rows = {
            "accuracy on the chip": f"{summary['accuracy_chip']:.2%} of {summary['samples']} samples",
            "accuracy in PyTorch": f"{summary['accuracy_torch']:.2%}",
            "cycles per batch": f"{summary['vsm_cycles']} at {summary['core_freq']} MHz",
            "time per batch": f"{summary['msec_per_batch']:.3f} msec",
            "throughput": f"{summary['tflops']:.2f} TFLOPS = {summary['percent_of_peak']:.2f}% of peak",
            "data": summary["data"],
            "seconds": ", ".join(f"{name} {value:.1f}" for name, value in summary["seconds"].items()),
        }
        for name, value in rows.items():
            table.add_row(name, value)
        self.console.print(table)
        self.console.print("files written:")
        for path in summary["paths"]:
            self.console.print(f"  {path}", highlight=False)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One torch thread: batches of this model are too little work to share, waiting threads only cost."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description="Train on real digits, compile, and evaluate on the simulated chip.")
    parser.add_argument("--outdir", type=Path, default=Path("out/demo"))
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index> or emu2")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args(arguments)
    if options.device.startswith("pfvm"):
        parser.error("the demo needs the chip; mlsdk.examples.mnist_infer runs on pfvm devices too")
    return Demo(options.outdir, options.device, options.epochs, Console()).run()


if __name__ == "__main__":
    try:
        main()
    except (MLSDKError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
