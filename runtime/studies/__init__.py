"""Parameter studies: many programs on many chips, simulated in parallel, resumable, into one table (docs/studies.md).

`read_study` reads STUDY.toml (`study`), `run_study` carries it out (`run`) in a pool (`pools`); `table` and `plots`
write what came out.  Only what is light is imported here, so that the command line starts fast.
"""

from runtime.studies.errors import StudyError, StudyFileError
from runtime.studies.overrides import expand
from runtime.studies.study import Chip, Study, read_study

__all__ = ["Chip", "Study", "StudyError", "StudyFileError", "expand", "read_study"]
