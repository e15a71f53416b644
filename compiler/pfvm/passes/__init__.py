"""The rewriting passes of PFVM; each is a function `ir.Model -> number of changes` that edits the model in place."""
