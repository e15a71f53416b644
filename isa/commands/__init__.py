"""Command line tools: `assemble3`, `gpfn3_package_main` (drop-in for the official tools' interface) and `judge`."""
