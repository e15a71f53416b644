"""Traces for viewers: `write_chrome` (Chrome/Perfetto JSON) and `write_perfetto` (Perfetto protobuf).

`with_regions` adds a layers track to a log, for logs that are appended to others before they are written.
"""

from hw.trace.chrome import write_chrome
from hw.trace.lanes import with_regions
from hw.trace.perfetto import write_perfetto

__all__ = ["with_regions", "write_chrome", "write_perfetto"]
