"""Say when data goes to the device: proxies of inputs and of registered tensors, filled by `load_from` (seed 4.5).

python -m mlsdk.examples.explicit_data_transfer --device mncore2:auto
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import torch

from mlsdk import Context, MNDevice, set_tensor_name, storage
from mlsdk.examples.cli import options_of, parser, run


def main(args: argparse.Namespace) -> list[torch.Tensor]:
    """Send batch n+1 between the call on batch n and reading its result; returns the results."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    offset = torch.zeros(16)
    set_tensor_name(offset, "offset")
    context.register_buffer(offset)

    def shift(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"y": inp["x"] + offset}

    batches = [torch.full((8, 16), float(number)) for number in range(3)]
    compiled = context.compile(shift, {"x": batches[0]}, storage.path(args.outdir) / "shift", options=options_of(args))
    context.get_registered_value_proxy(offset).load_from(torch.full((16,), 0.5), clone=False)

    inputs = compiled.allocate_input_proxy()
    inputs["x"].load_from(batches[0])
    results = []
    for following in [*batches[1:], None]:
        y = compiled(inputs)["y"]
        if following is not None:
            inputs["x"].load_from(following)  # under way while the host waits for y
        results.append(y.cpu())
    print("first elements:", [result[0, 0].item() for result in results])
    return results


if __name__ == "__main__":
    run(main, parser(__doc__, "explicit_data_transfer").parse_args())
