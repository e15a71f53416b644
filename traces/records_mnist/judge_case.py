"""A problem's random case as a test-case file (isa.md 16.2), for `isa.commands.judge` and for the contest's tools."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from isa.commands.judge import MARKER
from traces.records_mnist.layout import to_long_words
from traces.records_mnist.problem import Array, Problem, Tensor
from traces.records_mnist.problems import PROBLEMS

_LETTERS = "bmp"  # of L1B, MAB, PE


def _place(at: tuple[int, ...], tensor: Tensor, *, all_l2bs: bool) -> str:
    """Level letters of an image index; levels that hold copies are left out."""
    text = f"n{at[0] // 2}c{at[0] % 2}" if all_l2bs else ""
    for letter, level, index in zip(_LETTERS, ("L1B", "MAB", "PE"), at[1:], strict=True):
        text += f"{letter}{index}" if tensor.grid.split(level) else ""
    return text


def _input(tensor: Tensor, values: Array) -> Iterator[str]:
    image: NDArray[np.uint64] = to_long_words(tensor.grid.place(tensor.words(values)))
    if tensor.memory == "d":
        for group in tensor.groups:
            row = image[2 * group if len(image) > 1 else 0, 0, 0, 0]
            for i, lw in enumerate(row):
                yield f"r {group} {tensor.address + i:09x} 001 {int(lw):016x}"
        return
    if tensor.grid.split("L1B") and not tensor.grid.split("L2B"):
        # the official tools take an L1B index only together with group and L2B
        image = np.broadcast_to(image, (8, *image.shape[1:]))
    for at in np.ndindex(image.shape[:-1]):
        row = image[at]
        place = _place(at, tensor, all_l2bs=len(image) > 1)
        payload = "".join(f"{int(lw):016x}" for lw in row)
        yield f"d set $l{tensor.memory}{2 * tensor.address}{place} {len(row)} {payload}"


def _output(tensor: Tensor, expected: Array, atol: float) -> Iterator[str]:
    """One line per long word, the first of several copies."""
    grid = tensor.grid
    elements: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {}
    coordinates = [grid.coordinates[level] for level in ("L2B", "L1B", "MAB", "PE", "ADDR", "W")]
    for element in np.ndindex(tensor.shape):
        *place_of, word = (int(c[element]) for c in coordinates)
        elements.setdefault(tuple(place_of), []).append((word, element))
    suffix = f" atol={atol:g}" if atol else ""
    for at, found in elements.items():
        found.sort()
        values = [float(expected[e]) if tensor.dtype == "Float" else int(expected[e]) for _, e in found]
        indices = ",".join("[" + ",".join(map(str, e)) + "]" for _, e in found)
        comment = f"# expect={values} / {tensor.dtype} @{indices}{suffix}"
        if tensor.memory == "d":
            for group in tensor.groups if not grid.split("L2B") else (at[0] // 2,):
                yield f"d getd $d{tensor.address + at[4]}n{group} 1 {comment}"
        else:
            q, b, m, p = at[:4]
            place = f"n{q // 2}c{q % 2}b{b}m{m}p{p}"
            yield f"d getd $l{tensor.memory}{2 * (tensor.address + at[4])}{place} 1 {comment}"


def _header(kind: str, tensor: Tensor) -> str:
    return f"# ======= {kind}: {tensor.layout}@{tensor.memory}{tensor.address} / {tensor.dtype} ======="


def judge_case(problem: Problem, seed: int) -> str:
    """The text of one test case, the same for the same seed."""
    inputs = problem.make(np.random.default_rng(seed))
    lines: list[str] = []
    for n, (tensor, values) in enumerate(zip(problem.inputs, inputs, strict=True)):
        lines += [_header(f"In({n})", tensor), *_input(tensor, values)]
    lines += [MARKER, _header("Out(0)", problem.output)]
    lines += _output(problem.output, problem.expect(*inputs), problem.atol)
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Print a test case: `PROBLEM [SEED]`."""
    parser = argparse.ArgumentParser(prog="judge_case", description=main.__doc__)
    parser.add_argument("problem", choices=sorted(PROBLEMS))
    parser.add_argument("seed", nargs="?", type=int, default=1)
    options = parser.parse_args(argv)
    print(judge_case(PROBLEMS[options.problem], options.seed), end="")


if __name__ == "__main__":
    main()
