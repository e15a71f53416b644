"""Own programs for the MNIST set of the MN-Core Challenge, their test cases and their line counts.

`problems` states every problem (layouts, reference, tolerance, par), `programs_*` write the solutions, `build` packs
them into the committed `<problem>.vsm` files and `records.json`, `run` judges a solution on a board, `judge_case`
writes the judge's file format.  See README.md.
"""
