"""Tracing sees operators, not the kernels that torch would choose for the host's processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Inside, attention and recurrent layers are recorded as products, softmax and gates.

    Left to itself torch records one fused operator, whose gradient is another that nothing else knows.
    """
    onednn = torch._C._get_mkldnn_enabled()  # the public switch would also warn about precisions of other processors
    torch._C._set_mkldnn_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch._C._set_mkldnn_enabled(onednn)
