"""Payloads of `d set` (isa.md 14.3): raw hex digits, or units: l (LW), s (two words), h (four half words)."""

from __future__ import annotations

from isa.errors import AsmError

_PARTS = {"l": 1, "s": 2, "h": 4}
_HEX = frozenset("0123456789abcdefABCDEF")


def parse_payload(text: str, lws: int) -> tuple[int, ...]:
    """Exactly `lws` long words.  Raises AsmError (debug/payload)."""
    if not text:
        raise AsmError("debug/payload", "`d set` has no payload", expected=f"{lws} long words in hex")
    values = _units(text) if text[0] in _PARTS else _raw(text)
    if len(values) != lws:
        raise AsmError("debug/payload", f"the payload has {len(values)} long words", expected=f"{lws}")
    return values


def _raw(text: str) -> tuple[int, ...]:
    bad = next((c for c in text if c not in _HEX), None)
    if bad is not None:
        raise AsmError("debug/payload", f"`{bad}` is no hex digit of a raw payload", expected="16 digits per long word")
    if len(text) % 16:
        raise AsmError(
            "debug/payload", f"a raw payload of {len(text)} digits", expected=f"16 digits per long word, as {text:0>16}"
        )
    return tuple(int(text[i : i + 16], 16) for i in range(0, len(text), 16))


def _units(text: str) -> tuple[int, ...]:
    values: list[int] = []
    start = 0
    while start < len(text):
        letter = text[start]
        end = start + 1
        while end < len(text) and text[end] not in _PARTS:
            end += 1
        fields = text[start + 1 : end].split("_")
        if len(fields) != _PARTS[letter] or not all(f and _HEX.issuperset(f) for f in fields):
            raise AsmError(
                "debug/payload",
                f"`{text[start:end]}` is no payload unit",
                expected="l<hex>, s<hex>_<hex> or h<hex>_<hex>_<hex>_<hex>",
            )
        bits = 64 // len(fields)
        value = 0
        for f in fields:
            value = value << bits | int(f, 16) & ((1 << bits) - 1)  # surplus leading digits are cut
        values.append(value)
        start = end
    return tuple(values)
