"""Random legal straight-line VSM programs for the packer and the sanitizer: one item per line, no nops.

Addresses come from small ranges so that items collide often.  Values never stop an emulator (no matrix products, whose
inputs would have to be block floats).
"""

from __future__ import annotations

from random import Random

_SIZES = {"m": 4096, "n": 4096, "r": 512, "s": 512}
_WIDTH = {"": 1, "l": 2, "ll": 4}
_UNARY = ("lpassa", "linc", "ldec", "lnot", "inot", "ipassa", "spassa", "frelu1", "msl", "msr")
_BINARY = ("ladd", "isub", "land", "lxor", "ior", "ulmin", "imax", "fmax", "hmin", "lpackbit", "ilsl", "frelu")
_FIXED = ("$peid", "$subpeid", "$mabid", "$l1bid", "$l2bid", "$msb1")
_LETTERS = "mnrs"


class Writer:
    """Writes one program into `lines`.  `masks`, `indirect`, `transfers`, `lists` switch on the harder features."""

    def __init__(self, rnd: Random, *, masks: bool = True, indirect: bool = True, transfers: bool = True,
                 lists: bool = True) -> None:  # fmt: skip
        self.rnd = rnd
        self.masks = masks
        self.indirect = indirect
        self.transfers = transfers
        self.lists = lists
        self.lines: list[str] = []
        self.latches: set[str] = set()
        self.turn: tuple[str, str] | None = None  # (reader mnemonic, register) that fits the last PE->L1BM
        self.tags: list[int] = []
        self.next_tag = 1

    def program(self, count: int) -> list[str]:
        """`count` random statements and a closing wait for every open transfer."""
        while len(self.lines) < count:
            self.statement()
        for tag in self.tags:
            self.lines.append(f"nop; wait i{tag:02x}")
        self.tags = []
        return self.lines

    def statement(self) -> None:
        kinds = [(self.alu, 10), (self.mau, 7), (self.matrix, 2), (self.load, 4), (self.store, 4), (self.l2, 4)]
        if self.transfers:
            kinds.append((self.transfer, 2))
        kind = self.rnd.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        kind()

    def emit(self, text: str, *latches: str) -> None:
        self.lines.append(text)
        self.latches = set(latches)

    # --- operands ---------------------------------------------------------------------------------------------
    def memory(self, letter: str, prefix: str) -> str:
        """An address text of one memory; strides, lists, fixed addresses, `j` and T-indirect ones."""
        rnd, w = self.rnd, _WIDTH[prefix]
        start = rnd.randrange(0, 24 // w) * w
        form = rnd.random()
        if letter == "m" and self.indirect and form < 0.06:
            return f"${prefix}mt{start}" + ("v" if rnd.random() < 0.5 else "")
        if self.lists and form < 0.12:
            return f"${prefix}{letter}[" + ",".join(str(rnd.randrange(0, 24 // w) * w) for _ in range(4)) + "]"
        if form < 0.3:
            return f"${prefix}{letter}{start}"
        text = f"${prefix}{letter}{start}v" + (str(w * rnd.randrange(3)) if form < 0.45 else "")
        if letter in "mn" and rnd.random() < 0.05:
            text += f"j{rnd.randrange(4)}"
        return text

    def source(self, used: dict[str, str], prefix: str = "", *, latch: bool = True) -> str:
        """A source operand; a memory used twice in an item gets the same text."""
        rnd = self.rnd
        prefix = prefix or rnd.choice(("l", "l", "l", "ll", ""))
        if latch and self.latches and rnd.random() < 0.35:
            return rnd.choice(sorted(self.latches - {"$mreadf"}) or ["$t"])
        letter = rnd.choice(_LETTERS + "t")
        if letter == "t":
            return "$t"
        if letter not in used:
            used[letter] = self.memory(letter, prefix)
        return used[letter]

    def dests(self, used: dict[str, str], *, prefix: str = "", flags: bool = False) -> str:
        """One or two destinations; LM in place of a read only at the same text."""
        rnd = self.rnd
        mask = self.mask() if self.masks and rnd.random() < 0.3 else ""
        prefix = prefix or rnd.choice(("l", "l", "l", "ll", ""))
        picks = rnd.sample(_LETTERS + "t", rnd.choice((1, 1, 1, 2)))
        texts = []
        for letter in picks:
            if letter == "t":
                texts.append("$t" + (mask if mask and len(picks) == 1 else ""))
                continue
            text = used[letter] if letter in "mn" and letter in used else self.memory(letter, prefix)
            wide = text.startswith("$ll")
            if letter in "mn" and letter in used and mask:
                texts.append(text)
            else:
                texts.append(text + (mask + ("p" if wide else "") if mask else ""))
        if flags and rnd.random() < 0.2:
            texts.append(f"$omr{rnd.randrange(1, 4)}")
        if rnd.random() < 0.05:
            return "$nowrite"
        return " ".join(texts)

    def mask(self) -> str:
        return self.rnd.choice(("/1000", "/0110", "/0001", "/0000", "/$imr1", "/$imr2", "/$imr24"))

    # --- items ------------------------------------------------------------------------------------------------
    def alu(self) -> None:
        rnd = self.rnd
        used: dict[str, str] = {}
        kind = rnd.random()
        if kind < 0.08:
            return self.emit(f"zero {self.dests(used)}", "$aluf")
        if kind < 0.16:
            dest = rnd.choice(("$lr", "$ls", "$ln")) + f"{2 * rnd.randrange(12)}v"
            return self.emit(f'imm i"{rnd.randrange(-99, 99)}" {dest}', "$aluf")
        if kind < 0.28:
            return self.emit(f"lpassa {rnd.choice(_FIXED)} {self.dests(used)}", "$aluf")
        if kind < 0.31 and self.indirect:
            return self.emit(f"lpassa $lr{2 * rnd.randrange(12)} {rnd.choice(('$lnb', '$nb', '$lmb'))}", "$aluf")
        flush = rnd.choice(("/$imr1", "/1100")) if self.masks and rnd.random() < 0.05 else ""
        if kind < 0.65:
            op = rnd.choice(_UNARY)
            sources = self.source(used)
            if op == "frelu1":
                sources += " " + self.source(used)
        else:
            op = rnd.choice(_BINARY)
            sources = f"{self.source(used)} {self.source(used)}"
        dests = self.dests(used, flags=not flush)
        if flush and "/" in dests:
            flush = ""
        self.emit(f"{op}{flush} {sources} {dests}", "$aluf")

    def mau(self) -> None:
        rnd = self.rnd
        used: dict[str, str] = {}
        op, count = rnd.choice(
            (("fvfma", 3), ("fvmul", 2), ("fvadd", 2), ("fvpassa", 1), ("dvadd", 2), ("dvmulu", 2), ("dvfmad", 3),
             ("hvmul", 2), ("hvadd", 2), ("hvpassa", 1), ("fvpassar", 1), ("dvpassa", 1))
        )  # fmt: skip
        sources = " ".join(rnd.choice(("", "", "-")) + self.source(used) for _ in range(count))
        self.emit(f"{op} {sources} {self.dests(used, flags=True)}", "$mauf")

    def matrix(self) -> None:
        rnd = self.rnd
        prec, plane = rnd.choice("dfg"), rnd.choice("xy")
        start = rnd.choice((0, 4)) if prec != "d" else 0
        if rnd.random() < 0.6:
            return self.emit(f"{prec}mwrite {self.source({}, 'l')} $l{plane}{start}")
        self.emit(f"{prec}mread $l{plane}{start} {self.dests({}, prefix='l')}", "$mreadf")

    def load(self) -> None:
        rnd = self.rnd
        if self.turn and rnd.random() < 0.3:
            op, register = self.turn
            self.turn = None  # the official assembler takes one reader for each PE->L1BM item
            wide = register == "$llbi"
            return self.emit(f"{op} {register} {self.dests({}, prefix='ll' if wide else 'l')}", "$lbf")
        op = rnd.choice(("l1bmp", "l1bmm", "l1bmm4", "l1bmd", "l1bmp", "l1bmm"))
        wide = op != "l1bmd" and rnd.random() < 0.3
        align = 64 if op == "l1bmd" else 16
        register = f"${'l' * wide}lb{align * rnd.randrange(256 // align)}"
        self.emit(f"{op} {register} {self.dests({}, prefix='ll' if wide else 'l')}", "$lbf")

    def store(self) -> None:
        rnd = self.rnd
        op, reader = rnd.choice(
            ((f"l1bmm@{rnd.randrange(16)}", "l1bmm"), ("l1bmrliadd", "l1bmm"), (f"l1bmm4@{rnd.randrange(4)}", "l1bmm4"),
             ("l1bmr4lbor", "l1bmm4"), ("l1bmd", "l1bmd"), ("l1bmrffadd", "l1bmm"))
        )  # fmt: skip
        wide = op.startswith("l1bmm") and rnd.random() < 0.3
        align = 64 if op == "l1bmd" else 16
        register = f"${'l' * wide}lb" + ("i" if rnd.random() < 0.2 else str(align * rnd.randrange(256 // align)))
        self.emit(f"{op} {self.source({}, 'll' if wide else 'l')} {register}")
        self.turn = (reader, f"${'l' * wide}lbi")

    def l2(self) -> None:
        rnd = self.rnd
        lb, lc = 64 * rnd.randrange(4), 256 * rnd.randrange(4)
        member = rnd.choice(("", "", f"@{rnd.randrange(8)}", "@0/1", "@4/3"))
        self.emit(
            rnd.choice(
                (f"l2bmb{member} $lc{lc} $lb{lb}", f"l2bmd{member} $lc{lc} $lb{lb}", f"l2bmb2 $lc{lc} $lb{lb}",
                 f"l2bmd $lb{lb} $lc{lc}", f"l2bm@{rnd.randrange(8)} $lb{lb} $lc{lc}", f"l2bmrliadd $lb{lb} $lc{lc}",
                 f"l2bmr2lbor $lb{lb} $lc{lc}", f"l2bmi@{rnd.randrange(4)}/4 $lb{lb} $lb{64 * rnd.randrange(4)}")
            )
        )  # fmt: skip

    def transfer(self) -> None:
        """An MV, now and then followed at once or later by its wait."""
        rnd = self.rnd
        if self.tags and rnd.random() < 0.5:
            tag = self.tags.pop(rnd.randrange(len(self.tags)))
            self.lines.append(f"nop; wait i{tag:02x}")
            return
        if len(self.tags) >= 6:
            return
        tag, self.next_tag = self.next_tag, self.next_tag % 40 + 1
        lc, dram, pdm = 256 * rnd.randrange(4), 1024 * rnd.randrange(3), 1024 * rnd.randrange(3)
        size = rnd.choice((64, 256))
        suffix = f"/n{size}i{tag:02x}"
        forms = (
            f"mvp{suffix} $lc{lc}@.{rnd.randrange(2)} $d{dram}",
            f"mvp{suffix} $d{dram} $lc{lc}@.{rnd.randrange(2)}",
            f"mvp{suffix} $lc{lc}@1.1 $d{dram}@1",
            f"mvp{suffix} $p{pdm}@0 $d{dram}@0",
            f"mvb{suffix} $p{pdm}@0 $lc{lc}",
            f"mvd/n64i{tag:02x} $lc{lc} $p{pdm}@0",
            f"mvd/n64i{tag:02x} $p{pdm}@0 $lc{lc}",
            f"mvrliadd{suffix} $lc{lc} $d{dram}",
        )
        self.lines.append(rnd.choice(forms))
        self.tags.append(tag)


def random_program(seed: int, count: int = 60, **features: bool) -> list[str]:
    """`count` (a few more with closing waits) statements of a random legal straight-line program."""
    return Writer(Random(seed), **features).program(count)
