"""Block-float conversions (isa.md 11.6, numerics.md 5): `BFN[(prec, length, extended)]`.

Keys: ("d" | "f" | "g", 0, False); ("h", 6..9, False) for bfn and ("h", 6..9, True) for bfe.  A block spans the four
PEs of a MAB in one cycle; f has two blocks (first and second words), h one per long word; LW1 of d, f, g is 0.
"""

from __future__ import annotations

from typing import Any

from hw.formats import blockfloat, words
from hw.formats.descriptor import BLOCKS
from hw.kernels.abi import LANES, TILE, Kernel, Kind
from hw.kernels.bits import U0, U1, U, out_of_line, stack_words
from hw.kernels.reference import NO_FLAGS, Lanes, Matrix, Reference, Result

_LONGEST = U(63)


def _block_function(prec: str, length: int, extended: bool) -> Any:
    """Function (s0, out, base, down, count): one block per MAB, `count` elements per PE from bit `down` upwards.

    ORs the converted elements into out[base .. base + 63].
    """
    fmt = BLOCKS[prec].element
    significant = length if prec == "h" else BLOCKS[prec].field_bits
    unread = U(fmt.mantissa_bits - significant)
    margin = unread if prec == "h" else U0
    saturated = U((1 << significant) - 1)
    m_bits, m_mask, hidden = U(fmt.mantissa_bits), U((1 << fmt.mantissa_bits) - 1), U(1 << fmt.mantissa_bits)
    all_ones, sign_shift, bits = U(fmt.all_ones), U(fmt.bits - 1), fmt.bits
    low, element_mask = (U(5) if prec == "g" else U0), U((1 << fmt.bits) - 1)
    flag_distance = U(6) + margin

    def element(x: Any, largest: Any, shared: Any) -> Any:
        e = x >> m_bits & all_ones
        significand = x & m_mask | hidden
        distance = shared - e
        shift = distance + U1 + low
        flagged = False
        if extended:
            full = (x & m_mask) >> unread == saturated
            flagged = (distance >= flag_distance) & ~((distance == flag_distance) & full)
            shift = distance - U(5) if flagged else shift
        shift = min(shift, _LONGEST)
        q = (significand + (U1 << (shift - U1)) - U1 + (significand >> shift & U1)) >> shift << low
        q = U0 if e == U0 else q
        exponent = shared
        if extended:
            exponent = U0 if flagged | (q == U0) else shared
        normal = exponent << m_bits | q
        normal = all_ones << m_bits if shared >= all_ones else normal
        return (U0 if largest == U0 else normal) | x >> sign_shift << sign_shift

    @out_of_line
    def block(s0: Any, out: Any, base: Any, down: Any, count: Any) -> None:
        largest, bump = stack_words(64), stack_words(64)
        for i in range(64):
            largest[i] = U0
            bump[i] = U0
        for k in range(count):
            for i in range(64):
                largest[i] = max(largest[i], s0[base + i] >> U(down + k * bits) >> m_bits & all_ones)
        for m in range(16):
            most = max(max(largest[m], largest[16 + m]), max(largest[32 + m], largest[48 + m]))
            largest[m] = largest[16 + m] = largest[32 + m] = largest[48 + m] = most
        for k in range(count):
            for i in range(64):
                x = s0[base + i] >> U(down + k * bits)
                full = (x & m_mask) >> unread == saturated
                bump[i] |= U1 if full & (x >> m_bits & all_ones == largest[i]) else U0
        for m in range(16):
            any_full = bump[m] | bump[16 + m] | bump[32 + m] | bump[48 + m]
            bump[m] = bump[16 + m] = bump[32 + m] = bump[48 + m] = any_full
        for k in range(count):
            for i in range(64):
                x = s0[base + i] >> U(down + k * bits) & element_mask
                out[base + i] |= element(x, largest[i], largest[i] + margin + bump[i]) << U(down + k * bits)

    return block


def _body(prec: str, length: int, extended: bool) -> Any:
    block = _block_function(prec, length, extended)
    bits = BLOCKS[prec].element.bits
    block_words = TILE if prec == "h" else LANES
    parts, elements = (2, 1) if prec == "f" else (1, 64 // bits)

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for i in range(TILE):
            out[i] = U0
        for base in range(0, block_words, 64):
            for part in range(parts):
                block(s0, out, base, part * bits, elements)

    return body


def _reference(prec: str, length: int, extended: bool) -> Reference:
    fmt = BLOCKS[prec].element

    def convert(lws: list[int]) -> list[int]:
        """The four PEs' long words, blocks converted."""
        elements = [words.split(long_word, fmt.bits) for long_word in lws]
        per_pe = len(elements[0])
        if prec == "f":
            blocks = [[pe[part] for pe in elements] for part in range(per_pe)]
            done = [blockfloat.convert(block, prec, length) for block in blocks]
            return [words.join([block[p] for block in done], fmt.bits) for p in range(4)]
        flat = blockfloat.convert([e for pe in elements for e in pe], prec, length, extended=extended)
        return [words.join(flat[p * per_pe : (p + 1) * per_pe], fmt.bits) for p in range(4)]

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        first = convert([pair[0] for pair in x])
        second = convert([pair[1] for pair in x]) if prec == "h" else [0] * 4
        return list(zip(first, second, strict=True)), list(NO_FLAGS)

    return reference


def _kernel(prec: str, length: int, extended: bool) -> Kernel:
    name = f"alu.{prec}{'bfe' if extended else 'bfn'}{length or ''}"
    return Kernel(name, Kind.LANES, _body(prec, length, extended), _reference(prec, length, extended))


BFN: dict[tuple[str, int, bool], Kernel] = {
    **{(prec, 0, False): _kernel(prec, 0, False) for prec in ("d", "f", "g")},
    **{
        ("h", length, extended): _kernel("h", length, extended) for length in (6, 7, 8, 9) for extended in (False, True)
    },
}
