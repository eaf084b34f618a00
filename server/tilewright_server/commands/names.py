"""The commands' names, as clients call them."""

OPTIMIZE = "tilewright.optimize"
PROFILE = "tilewright.profile"
COMPILE = "tilewright.compile"
VERIFY = "tilewright.verify"
SHOW_CERTIFICATE = "tilewright.showCertificate"
TARGET = "tilewright.target"
LIST_TARGETS = "tilewright.listTargets"
MODELS = "tilewright.models"
CANCEL_JOB = "tilewright.cancelJob"
LIST_JOBS = "tilewright.listJobs"
RUNS = "tilewright.runs"
RUN_TEXT = "tilewright.runText"
RUN_RECORD = "tilewright.runRecord"
DEBUG_INFO = "tilewright.debugInfo"

# The client's own, where its settings say that it has one.
SHOW_ASSEMBLY = "tilewright.showAssembly"
