"""Runtime room: boards and their locks, transfers into the device layout, program files, execution, data sets.

The rooms below it (compiler, isa, hw) know nothing of it; `mlsdk` is a thin layer on top.
"""
