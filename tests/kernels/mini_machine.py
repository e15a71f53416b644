"""One L1B that runs single-item programs straight on the kernels, to judge goldens without assembler and engine.

Understands `d set`-like inputs, ALU, MAU, mwrite, mread and l1bmr lines with plain, strided and forwarding operands.
Anything else raises `Unsupported`; masks, flat lists, `j`, base registers and several items in a line are judged
elsewhere.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from hw.kernels.abi import Kernel
from hw.kernels.alu_float import ALU_FLOAT
from hw.kernels.alu_int import ALU_INT
from hw.kernels.alu_misc import MSL, MSR, ZERO
from hw.kernels.bfn import BFN
from hw.kernels.matrix_move import MREAD, MWRITE
from hw.kernels.mau_matrix import MAU_MATRIX
from hw.kernels.mau_vector import MAU_VECTOR
from hw.kernels.modifiers import NARROW_RAW, NEG, WIDEN
from hw.kernels.rrn import RRN, RRN_NARROW
from tests.kernels.kernel_harness import Tile, run

Words = NDArray[np.uint64]
_SIZES = {"m": 4096, "n": 4096, "r": 512, "s": 512}
_OPERAND = re.compile(r"(-?)\$(l{0,2})([mnrs])(\d+)(v(\d*))?([er]?)$")
_FORWARD = re.compile(r"(-?)\$(mauf|aluf|mreadf|t|lt|llt)([er]?)$")
_MAU = re.compile(r"([dfgh])(mfma|mmul|vfma|vmul|vadd|vpassa)([ud]?)(r?)$")
_MOVE = re.compile(r"([dfgh])m(write|read)$")
_REDUCTION = re.compile(r"l1bmr([dfhlis])(fadd|max|min|iadd|band|bor|and|or)(r?)$")
_MATRIX = re.compile(r"\$(l{1,2})([xy])(\d*)$")
_L1BM = re.compile(r"\$(l{1,2})b(\d+)$")
_OMR = re.compile(r"\$omr(\d+)$")
_PLACES = (_OPERAND, _FORWARD, _MATRIX, _L1BM, _OMR, re.compile(r"\$nowrite$"))


class Unsupported(Exception):
    """The line needs more than this helper knows."""


def alu_kernel(mnemonic: str) -> Kernel:
    """Kernel of an ALU mnemonic without decoration, for example `ulmin`, `hbfn/9`."""
    untyped = {"zero": ZERO, "msl": MSL, "msr": MSR}
    if mnemonic in untyped:
        return untyped[mnemonic]
    found = re.match(r"(u?)([disfhlg])([a-z]+\d?)(?:/(\d))?$", mnemonic)
    if not found:
        raise Unsupported(mnemonic)
    unsigned, prec, op, length = found[1] == "u", found[2], found[3], int(found[4] or 0)
    if op in ("bfn", "bfe"):
        return BFN[prec, length, op == "bfe"]
    op = {"relu0": "relu"}.get(op, op)
    if (op, prec, unsigned) in ALU_INT:
        return ALU_INT[op, prec, unsigned]
    if op == "ftoi" and unsigned:
        op = "uftoi"
    if (op, prec) in ALU_FLOAT:
        return ALU_FLOAT[op, prec]
    raise Unsupported(mnemonic)


class MiniMachine:
    """State of one L1B: word-addressed memories, T, flags, latches, planes, L1BM."""

    def __init__(self) -> None:
        self.memory = {name: np.zeros((size, 4, 16), np.uint64) for name, size in _SIZES.items()}
        self.t = np.zeros(512, np.uint64)
        self.omr = np.zeros((32, 4, 4, 16), np.uint8)
        self.latch = {name: np.zeros(512, np.uint64) for name in ("mauf", "aluf", "mreadf")}
        self.plane = {"x": np.zeros(1024, np.uint64), "y": np.zeros(1024, np.uint64)}
        self.l1bm = np.zeros(8192, np.uint64)

    def set_lw(self, memory: str, address: int, p: int, m: int, long_word: int) -> None:
        """Store one long word at a word address of a PE memory."""
        self.memory[memory][address, p, m] = long_word >> 32
        self.memory[memory][address + 1, p, m] = long_word & 0xFFFFFFFF

    def get_lw(self, memory: str, address: int, p: int, m: int) -> int:
        """Read one long word of a PE memory."""
        return int(self.memory[memory][address, p, m]) << 32 | int(self.memory[memory][address + 1, p, m])

    def _addresses(self, found: re.Match[str]) -> tuple[int, list[int]]:
        width = {0: 1, 1: 2, 2: 4}[len(found[2])]
        step = 0 if found[5] is None else int(found[6] or width)
        return width, [int(found[4]) + c * step for c in range(4)]

    def read(self, operand: str, prec: str, *, rule: str = "value") -> Words:
        """2LW tile of a source; `prec` is that of its elements after modifiers."""
        found = _OPERAND.match(operand)
        if found:
            width, addresses = self._addresses(found)
            tile = np.zeros((2, 4, 4, 16), np.uint64)
            for c, address in enumerate(addresses):
                parts = [self.memory[found[3]][(address + k) % _SIZES[found[3]]] if k < width else 0 for k in range(4)]
                tile[0, c] = parts[0] << np.uint64(32) | parts[1]
                if width == 4:
                    tile[1, c] = parts[2] << np.uint64(32) | parts[3]
            value, suffix, sign = tile.reshape(512), found[7], found[1]
        else:
            forward = _FORWARD.match(operand)
            assert forward, operand
            value = self.t if forward[2].endswith("t") else self.latch[forward[2]]
            suffix, sign = forward[3], forward[1]
        if suffix == "e":
            value = run(WIDEN[{"d": "f", "f": "h2", "h4": "h4"}[prec], rule], Tile(value)).out
        elif suffix == "r":
            value = run(NARROW_RAW, Tile(value)).out
        return run(NEG["f" if prec == "h4" else prec], Tile(value)).out if sign else value

    def write(self, operand: str, value: Words, flags: NDArray[np.uint8]) -> None:
        """Store a result tile or its flags."""
        if operand == "$nowrite":
            return
        if operand in ("$t", "$lt", "$llt"):
            self.t = value.copy()
            return
        omr = _OMR.match(operand)
        if omr:
            self.omr[int(omr[1])] = flags.reshape(4, 4, 16)
            return
        found = _OPERAND.match(operand)
        assert found, operand
        width, addresses = self._addresses(found)
        tile = value.reshape(2, 4, 4, 16)
        for c, address in enumerate(addresses):
            for k in range(width):
                word = tile[k // 2, c] >> np.uint64(32 - 32 * (k % 2)) & np.uint64(0xFFFFFFFF)
                self.memory[found[3]][(address + k) % _SIZES[found[3]]] = word

    @staticmethod
    def supports(line: str) -> bool:
        """Whether `step` can execute the line."""
        mnemonic, *operands = line.split()
        if mnemonic.startswith("nop") and not operands:
            return True
        if not all(any(place.match(operand) for place in _PLACES) for operand in operands):
            return False
        if any(pattern.match(mnemonic) for pattern in (_MAU, _MOVE, _REDUCTION)):
            return True
        try:
            alu_kernel(mnemonic)
        except (Unsupported, KeyError):
            return False
        return True

    def step(self, line: str) -> None:
        """Execute one line of one item."""
        if not self.supports(line):
            raise Unsupported(line)
        mnemonic, *operands = line.split()
        if mnemonic.startswith("nop"):
            return
        mau = _MAU.match(mnemonic)
        move = _MOVE.match(mnemonic)
        reduction = _REDUCTION.match(mnemonic)
        if mau:
            self._mau(mau, operands)
        elif move:
            self._move(move[1], move[2], operands)
        elif reduction:
            self._reduce(reduction, operands)
        else:
            self._alu(mnemonic, operands)

    def _finish(self, kernel: Kernel, tile: Tile, destinations: list[str], latch: str) -> None:
        outcome = run(kernel, tile)
        if outcome.par[7]:
            raise AssertionError(f"{kernel.name} reports a mixed block: {outcome.par[7]:x}")
        flags = outcome.flags if kernel.has_flags else np.zeros(256, np.uint8)
        for destination in destinations:
            self.write(destination, outcome.out, flags)
        self.latch[latch] = outcome.out

    def _alu(self, mnemonic: str, operands: list[str]) -> None:
        kernel = alu_kernel(mnemonic)
        prec = re.sub(r"^alu\.", "", kernel.name)
        two = not re.search(r"passa|inc|dec|not|rsqrt|floor|ftoi|bf[ne]|zero|ms[lr]", prec)
        count = 0 if kernel is ZERO else 1 + two
        sources = [self.read(operand, "h") for operand in operands[:count]]
        tiles = sources + [np.zeros(512, np.uint64)] * (2 - count)
        self._finish(kernel, Tile(tiles[0], tiles[1]), operands[count:], "aluf")

    def _mau(self, found: re.Match[str], operands: list[str]) -> None:
        prec, op, half, narrow = found[1], found[2], found[3], found[4] == "r"
        wide = "f" if prec == "g" else prec
        addend = "h4" if prec == "h" else wide
        if op[0] == "m":
            plane = self.plane[operands[0][2]]
            x = self.read(operands[1], wide, rule="raw")
            count = 3 if op == "mfma" else 2
            y = self.read(operands[2], addend) if op == "mfma" else np.zeros(512, np.uint64)
            tile = Tile(x, y, mat=plane)
            self._finish(MAU_MATRIX[op, prec, narrow, half], tile, operands[count:], "mauf")
            return
        roles = {"vfma": (wide, wide, addend), "vmul": (wide, wide), "vadd": (wide, addend), "vpassa": (wide,)}[op]
        sources = [self.read(o, role) for o, role in zip(operands, roles, strict=False)]
        sources += [np.zeros(512, np.uint64)] * (3 - len(sources))
        self._finish(
            MAU_VECTOR[op, prec, narrow, half], Tile(sources[0], sources[1], sources[2]), operands[len(roles) :], "mauf"
        )

    def _move(self, prec: str, direction: str, operands: list[str]) -> None:
        register = operands[1] if direction == "write" else operands[0]
        found = _MATRIX.match(register)
        assert found, register
        key, start = (prec, len(found[1])), (int(found[3]),)
        if direction == "read":
            self._finish(
                MREAD[key], Tile(np.zeros(512, np.uint64), mat=self.plane[found[2]], par=start), operands[1:], "mreadf"
            )
            return
        value = self.read(operands[0], "f" if prec == "g" else prec, rule="keep_zero_sign")
        self.plane[found[2]] = run(MWRITE[key], Tile(value, mat=self.plane[found[2]], par=start)).mat

    def _reduce(self, found: re.Match[str], operands: list[str]) -> None:
        """16 MABs in two stages of four; offset 4c + p, or 8c + 4w + p in the 2-LW form (isa.md 8.2, 8.5)."""
        prec, op, narrow = found[1], found[2], found[3] == "r"
        target = _L1BM.match(operands[1])
        assert target, operands[1]
        value = self.read(operands[0], "h4", rule="raw")
        if prec == "h":
            value, prec, narrow = run(WIDEN["h4", "raw"], Tile(value)).out, "f", True
        inputs = value.reshape(2, 4, 4, 4, 4).transpose(3, 4, 1, 0, 2).reshape(4, 4, 4, 8)  # [h][n][c][w, p]
        kernel = RRN[prec, op]
        first = [run(kernel, Tile(np.ascontiguousarray(inputs[h]).reshape(-1), par=(4, 32)), 32).out for h in range(4)]
        if narrow:
            by_w = np.stack(first).reshape(4, 4, 2, 4).transpose(0, 2, 1, 3)
            out = run(RRN_NARROW[op], Tile(np.ascontiguousarray(by_w).reshape(-1), par=(4, 16)), 16).out.reshape(4, 4)
        else:
            out = run(kernel, Tile(np.concatenate(first), par=(4, 32)), 32).out.reshape(4, 8)
            out = out if target[1] == "ll" else out[:, :4]
        self.l1bm[int(target[2]) : int(target[2]) + out.size] = out.reshape(-1)
