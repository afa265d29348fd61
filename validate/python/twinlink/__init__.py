"""Twinlink in notebooks: machines, simulations, studies and comparisons, through the programs that do them.

Times are one-way and in microseconds, rates in 10^6 bytes per second, sizes in bytes or as "64K", where K, M and G are
binary; the columns of every frame name their unit. All errors are TwinlinkError, but for TypeError where an option does
not exist or is of another type.
"""
from .options import Sizes, sizes
from .machine import Platform, platform
from .programs import (FailedError, InputError, KilledError, NotFoundError, TwinlinkError, UnavailableError, UsageError,
                       VersionError)
from .results import Floors, Result, compare, read
from .studies import Study, StudyResult, study

__all__ = ["FailedError", "Floors", "InputError", "KilledError", "NotFoundError", "Platform", "Result", "Sizes",
           "Study", "StudyResult", "TwinlinkError", "UnavailableError", "UsageError", "VersionError", "compare",
           "platform", "read", "sizes", "study"]
