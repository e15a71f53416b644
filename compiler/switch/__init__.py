"""Moving elements between layouts: what comes from where (`cells`), over which levels it must be exchanged (`feeds`),
and how the PEs address what they need (`selection`).
"""
