"""Examples in the form of the vendor's tutorial, on real handwritten digits."""
