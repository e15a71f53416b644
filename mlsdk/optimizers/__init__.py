"""Optimizers that run inside a compiled function: their state exists from the start, so that it can live on the device
(mlsdk.md 8).
"""

from mlsdk.optimizers.adam import MNCoreAdam, MNCoreAdamW
from mlsdk.optimizers.base import MNCoreOptimizer
from mlsdk.optimizers.scheduler import MNCoreLRScheduler
from mlsdk.optimizers.sgd import MNCoreSGD

__all__ = ["MNCoreAdam", "MNCoreAdamW", "MNCoreLRScheduler", "MNCoreOptimizer", "MNCoreSGD"]
