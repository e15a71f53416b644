"""What the sanitizers need to know of base address and mask registers, looked up once until a line may change it."""

from __future__ import annotations

from hashlib import blake2b

from hw.lockstep.operands import BASE
from hw.lockstep.stores import array_of
from hw.program import Dest, MaskRef, Mem, Source, Step
from hw.sanitizer.runtime.operands import dests_of
from hw.state.board import Board

Mask = tuple[bytes, bool]


class Registers:
    """Facts about a board.  Who lets a line run tells with `changed_by` or `forget`."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._bases: dict[Mem, bool] = {}
        self._masks: dict[int, bytes] = {}

    def fixed(self, place: Source | Dest) -> bool:
        """Are the addresses of an LM or GRF operand those of the program, the same in all PEs?"""
        if place.via_t or place.j is not None:
            return False
        base = BASE.get(place.mem)
        if base is None:
            return True
        moved = self._bases.get(place.mem)
        if moved is None:
            moved = self._bases[place.mem] = bool(array_of(self._board, base).any())
        return not moved

    def mask(self, mask: MaskRef | None) -> Mask | None:
        """Stands for the content of a mask entry in all PEs, and how it spreads."""
        if mask is None:
            return None
        digest = self._masks.get(mask.entry)
        if digest is None:
            content = self._board.masks[:, mask.entry].tobytes()
            digest = self._masks[mask.entry] = blake2b(content, digest_size=16).digest()
        return digest, mask.words

    def changed_by(self, step: Step) -> None:
        """`step` is about to run; it is not asked about registers any more."""
        for item in step.items:
            for dest in dests_of(item):
                if dest.mem is Mem.OMR:
                    self._masks.pop(dest.addr[0], None)
                elif dest.mem is Mem.BAR0 or dest.mem is Mem.BAR1:
                    self._bases.clear()

    def forget(self) -> None:
        """Anything may have changed."""
        self._bases.clear()
        self._masks.clear()
