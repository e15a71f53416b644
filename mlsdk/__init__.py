"""The PyTorch API of the MN-Core 2 simulator (names and meanings: mlsdk.md).

device = MNDevice("mncore2:auto")
context = Context(device)
step = context.compile(function, sample, storage.path("/tmp/step"))
step({"x": x})["y"].cpu()
"""

from mlsdk import storage
from mlsdk.cache import CacheOptions
from mlsdk.compiled import CompiledFunction
from mlsdk.context import Context
from mlsdk.device import MNDevice
from mlsdk.iospec import IOSpec
from mlsdk.naming import (
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name,
    set_tensor_name_in_module,
)
from mlsdk.optimizers import MNCoreAdam, MNCoreAdamW, MNCoreLRScheduler, MNCoreOptimizer, MNCoreSGD
from mlsdk.proxy import TensorLike, TensorProxy
from mlsdk.pytrees import register_pytree_dataclass, register_pytree_namedtuple
from mlsdk.storage import path
from mlsdk.tracing import trace_event, trace_scope

__all__ = [
    "CacheOptions",
    "CompiledFunction",
    "Context",
    "IOSpec",
    "MNCoreAdam",
    "MNCoreAdamW",
    "MNCoreLRScheduler",
    "MNCoreOptimizer",
    "MNCoreSGD",
    "MNDevice",
    "TensorLike",
    "TensorProxy",
    "get_tensor_name",
    "path",
    "register_pytree_dataclass",
    "register_pytree_namedtuple",
    "set_buffer_name_in_optimizer",
    "set_tensor_name",
    "set_tensor_name_in_module",
    "storage",
    "trace_event",
    "trace_scope",
]
