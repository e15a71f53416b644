"""Single layers measured by themselves: values put straight into local memory or DRAM, lines counted."""
