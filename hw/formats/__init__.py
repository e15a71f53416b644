"""Number formats of MN-Core 2: descriptors, the slow exact reference on Python integers, and NumPy conversions."""
