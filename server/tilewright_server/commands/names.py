"""The commands' names, as clients call them."""

OPTIMIZE = "tilewright.optimize"
PROFILE = "tilewright.profile"
CANCEL_JOB = "tilewright.cancelJob"
LIST_JOBS = "tilewright.listJobs"
DEBUG_INFO = "tilewright.debugInfo"
