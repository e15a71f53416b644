"""The domain of the operators that ONNX does not have, in models and in graphs."""

DOMAIN, VERSION = "mncore", 1
