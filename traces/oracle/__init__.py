"""Recorded vectors of the official tools: see README.md."""
