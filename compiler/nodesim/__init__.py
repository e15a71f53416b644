"""Node simulation: what each node of a planned graph costs, measured by really compiling it (seed 4.2.2.5)."""

from compiler.nodesim.costs import NodeCosts
from compiler.nodesim.simulate import SimulationSettings, simulate_nodes
from compiler.nodesim.store import ResultStore

__all__ = ["NodeCosts", "ResultStore", "SimulationSettings", "simulate_nodes"]
