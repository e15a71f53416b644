"""Lowering: a parsed item becomes the machine's item, one file per unit."""
