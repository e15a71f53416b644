"""The scheduler `auto_recompute_sa`: simulated annealing over order, residence, recomputation and memories."""

from compiler.schedulers.annealing.rounds import AnnealSettings, anneal
from compiler.schedulers.annealing.state import State

__all__ = ["AnnealSettings", "State", "anneal"]
