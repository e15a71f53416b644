"""`model.app`: a compiled program in one file, everything that `Context.load_codegen_dir` needs.

A zip archive without compression of: manifest.json (format version, kind, SHA-256 of every other member), the
program (`model.vsm` for boards, `pfvm.onnx` for pfvm devices), specs.json (inputs, outputs, parameters), values.npz
(parameter values as plain arrays, never pickled objects) and report.json.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.errors import AppFileError
from runtime.files import write_atomically
from runtime.specs import Spec, spec_from_json, spec_to_json

if TYPE_CHECKING:
    from hw.program import Program

FORMAT_VERSION = 1
VSM = "model.vsm"
ONNX = "pfvm.onnx"
_PROGRAM_MEMBER = {"vsm": VSM, "onnx": ONNX}
_OTHER_MEMBERS = ("specs.json", "values.npz", "report.json")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed member times: equal programs make equal files


@dataclass(frozen=True)
class App:
    """A compiled program and what belongs to it.

    kind: "vsm" (text in `code`, specs have layouts and addresses) or "onnx" (serialised model in `code`). values:
    the contents of the parameters when the program was compiled.  registered: those of them that belong to a
    context's registry under their name; the others are constants.  updates: parameter -> output that holds its
    contents after a call; such outputs are not results of the function.  ignored_inputs: keys of the sample that
    the function did not read.  images: parameters that are another image of a parameter, for which the same tensor
    stands -> that parameter.  decoded: the program, where it is known already.
    """

    kind: str
    code: bytes
    inputs: Mapping[str, Spec]
    outputs: Mapping[str, Spec]
    params: Mapping[str, Spec]
    values: Mapping[str, np.ndarray]
    registered: frozenset[str] = frozenset()
    updates: Mapping[str, str] = field(default_factory=dict)
    ignored_inputs: frozenset[str] = frozenset()
    report: Mapping[str, Any] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    decoded: Program | None = field(default=None, repr=False, compare=False)

    @cached_property
    def program(self) -> Program:
        """The decoded program (kind "vsm"); assembled from the text once if nobody has done so."""
        if self.decoded is not None:
            return self.decoded
        from isa.assemble import assemble

        # The hazard check ran when the program was compiled, and the digests say that the text is still the same.
        return assemble(self.code.decode(), check_hazards=False, name="model.app")

    def save(self, path: Path) -> None:
        """Write the file; it appears complete or not at all."""
        members = {
            _PROGRAM_MEMBER[self.kind]: self.code,
            "specs.json": json.dumps(self._specs(), indent=1).encode(),
            "values.npz": _pack_values(self.values),
            "report.json": json.dumps(dict(self.report), indent=1).encode(),
        }
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
        manifest = {"format": FORMAT_VERSION, "kind": self.kind, "sha256": digests}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name, data in {"manifest.json": json.dumps(manifest, indent=1).encode(), **members}.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
        write_atomically(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> App:
        """Read and verify a file.  Raises AppFileError that says what is wrong with it."""
        members, kind = _read_members(path)
        try:
            specs = json.loads(members["specs.json"])
            values = _unpack_values(members["values.npz"])
            return cls(
                kind,
                members[_PROGRAM_MEMBER[kind]],
                inputs=_specs_from_json(specs["inputs"]),
                outputs=_specs_from_json(specs["outputs"]),
                params=_specs_from_json(specs["params"]),
                values=values,
                registered=frozenset(specs["registered"]),
                updates=dict(specs["updates"]),
                ignored_inputs=frozenset(specs["ignored_inputs"]),
                images=dict(specs.get("images", {})),
                report=json.loads(members["report.json"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise AppFileError(f"{path}: its description cannot be read: {error}") from error

    def _specs(self) -> dict[str, Any]:
        groups = {"inputs": self.inputs, "outputs": self.outputs, "params": self.params}
        described: dict[str, Any] = {
            name: [spec_to_json(spec) for spec in group.values()] for name, group in groups.items()
        }
        described["registered"] = sorted(self.registered)
        described["updates"] = dict(self.updates)
        described["ignored_inputs"] = sorted(self.ignored_inputs)
        described["images"] = dict(self.images)
        return described


def _specs_from_json(items: list[dict[str, Any]]) -> dict[str, Spec]:
    specs = map(spec_from_json, items)
    return {spec.name: spec for spec in specs}


def _read_members(path: Path) -> tuple[dict[str, bytes], str]:
    """All members, each compared with its digest, and the kind of program."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            version = manifest.get("format")
            if version != FORMAT_VERSION:
                raise AppFileError(
                    f"{path} has format version {version}; this release reads version {FORMAT_VERSION}. Compile again"
                )
            kind = manifest["kind"]
            members = {name: archive.read(name) for name in (_PROGRAM_MEMBER[kind], *_OTHER_MEMBERS)}
    except FileNotFoundError:
        raise AppFileError(
            f"there is no {path.name} in {path.parent}: nothing was compiled there, or the compilation did not end"
        ) from None
    except (OSError, zipfile.BadZipFile, KeyError, AttributeError, TypeError, ValueError, EOFError) as error:
        raise AppFileError(f"{path} is truncated or no program file: {error}") from error
    for name, data in members.items():
        if hashlib.sha256(data).hexdigest() != manifest.get("sha256", {}).get(name):
            raise AppFileError(f"{path} was altered: {name} does not match its SHA-256. Compile again")
    return members, kind


def _pack_values(values: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        # Numbered members keep any tensor name out of the archive's paths.
        archive.writestr(zipfile.ZipInfo("names.json", _EPOCH), json.dumps(list(values)))
        for number, array in enumerate(values.values()):
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{number}.npy", _EPOCH), member.getvalue())
    return buffer.getvalue()


def _unpack_values(data: bytes) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = json.loads(archive.read("names.json"))
        return {
            name: np.load(io.BytesIO(archive.read(f"{number}.npy")), allow_pickle=False)
            for number, name in enumerate(names)
        }
