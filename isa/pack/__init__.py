"""List scheduler: straight-line code in, VLIW lines out (`pack`), and back to text (`vsm_text`).

`nodes` groups the input into units that move as a whole, `graph` finds what must come before what, `schedule` fills
lines greedily by critical path, `emit` writes the result as program lines.
"""

from isa.pack.emit import vsm_text
from isa.pack.errors import PackError
from isa.pack.packer import pack, pack_traced

__all__ = ["PackError", "pack", "pack_traced", "vsm_text"]
