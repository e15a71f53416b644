"""A worker of node simulation: reads pickled lists of probes from its parent, answers with lists of results."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from compiler.nodesim.measure import measure


def main() -> None:
    """Serve until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    # Whatever prints in here must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            probes = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump([measure(probe) for probe in probes], answers)
        answers.flush()


if __name__ == "__main__":
    main()
