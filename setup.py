"""Package list: the five rooms under their own names, and `fx2onnx`, which lives in compiler/fx2onnx."""

from setuptools import find_packages, setup

ROOMS = ["hw*", "isa*", "compiler*", "runtime*", "mlsdk*"]

setup(
    packages=[*find_packages(include=ROOMS), "fx2onnx"],
    package_dir={"fx2onnx": "compiler/fx2onnx"},
    package_data={"": ["*.toml", "*.json", "*.html", "*.md", "templates/*.html", "static/*", "py.typed"]},
)
