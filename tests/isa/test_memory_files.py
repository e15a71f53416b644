"""The emulator's memory-file options on the full board, whose file is 16 GiB of hole."""

from __future__ import annotations

from pathlib import Path

import pytest

from isa.commands import assemble3, gpfn3_package_main

STORE = 'imm ui"0x11223344" $lr0\nnop/3\nl1bmd $lr0v $lb0\nnop/5\nl2bmd $lb0 $lc0\nnop/3\n' + "\n".join(
    f"mvp/n64i0{tag} $lc0@0.0 {place}\nnop; wait i0{tag}"
    for tag, place in enumerate(("$d536870848@3", "$p128@2", "$p64@0"), 1)
)
SHOW = "\n".join(
    f"mvp/n64i0{tag} {place} $lc1024@{tag}.0\nnop; wait i0{tag}\nd get $lc1024n{tag}c0 1"
    for tag, place in enumerate(("$d536870848@3", "$p128@2", "$p64@0"), 1)
)


@pytest.mark.slow
def test_memory_survives_in_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in (("store", STORE), ("show", "d get $lc0n3c1 1\n" + SHOW)):
        (tmp_path / f"{name}.vsm").write_text(text)
        stream = str(tmp_path / f"{name}.asm")
        assert assemble3.main(["--output-file", stream, str(tmp_path / f"{name}.vsm")]) == 0
    memory = tmp_path / "memory.bin"
    zero = ["--offchip-memory-init", "zero"]
    assert gpfn3_package_main.main(["-i", str(tmp_path / "store.asm"), *zero, "--save-memory-file", str(memory)]) == 0
    assert memory.stat().st_size == 17_198_743_552
    assert memory.stat().st_blocks * 512 < 1 << 27
    assert gpfn3_package_main.main(["-i", str(tmp_path / "show.asm"), "--load-memory-file", str(memory)]) == 0
    rows = capfd.readouterr().err.splitlines()
    assert len(rows) == 4 and all("v:0x1122334411223344" in row for row in rows)


def test_files_that_stay_empty_or_cannot_be_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stream = tmp_path / "a.asm"
    stream.write_text("d getd $d5n0 1\n")
    out = str(tmp_path / "out")
    assert gpfn3_package_main.main(["-i", str(stream), "-o", out, "--split-dma-output", "--use-mmap"]) == 0
    assert [(tmp_path / f"out{end}").read_bytes() for end in (".0", ".1", ".pio")] == [b""] * 3
    errors = capfd.readouterr().err
    assert "Warning: --use-mmap implies --offchip-memory-init uninitialized" in errors
    assert "(0x0000000000000000) #d getd $d5n0 1" in errors
    for option, status, message in (
        (["--load-memory-file", str(stream)], 134, "file io error on loading memory"),
        (["--load-memory-file", str(stream), "--sanitize"], 1, "--sanitize: cannot be combined"),
        (["-x", out], 1, "-x: not supported by this emulator, its log holds"),
        (["-o", str(tmp_path / "no" / "folder")], 134, "file io error on saving"),
    ):
        assert gpfn3_package_main.main(["-i", str(stream), *option]) == status
        assert message in capfd.readouterr().err
