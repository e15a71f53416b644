"""The Codegen Dashboard: a codegen_dir in the browser, offline and on loopback (compiler.md 11, seed 4.4)."""
