"""One type a job, with the type of its answer before it."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from .envelope import EntryJob, Job, Source
from .parts import (
    Case,
    Confinement,
    Depends,
    Details,
    Entries,
    Entry,
    Launch,
    Plain,
)


class Owner(TypedDict):
    """A process that has opened a GPU; ``memory_bytes`` is None where nothing here can tell."""

    pid: int
    memory_bytes: int | None


class Gpu(TypedDict):
    """A GPU as torch sees it; what follows ``l2_bytes`` is given with ``details``."""

    id: str
    backend: str
    name: str
    arch: str
    memory_bytes: int
    multiprocessors: int | None
    l2_bytes: int | None
    free_bytes: NotRequired[int | None]
    driver: NotRequired[str | None]
    users: NotRequired[list[Owner] | None]
    can_run: NotRequired[bool]


class Probed(TypedDict):
    """What runs there; profilers by name, with their place or version; packages of the Neuron SDK
    with their versions."""

    python: str
    torch: str
    triton: str
    devices: list[Gpu]
    landlock: int
    tcp_denied: bool
    netns: bool
    isolation: str | None
    reasons: list[str]
    host: NotRequired[str]
    interpreter: NotRequired[str]
    profilers: NotRequired[dict[str, str]]
    neuron: NotRequired[dict[str, str]]


class ProbeJob(Job[Probed]):
    """Versions, devices and confinement; with ``module`` confined as a job that imports it."""

    kind: Literal["probe"]
    details: NotRequired[bool]
    module: NotRequired[str]


class NeuronTimes(TypedDict):
    """Seconds of each round on a NeuronCore, and what the profiler said of the last one."""

    seconds: list[float]
    terms: dict[str, Any]


class NeuronBenchmarkJob(Job[NeuronTimes]):
    """Run the kernel of ``entry`` on a NeuronCore, ``rounds`` times; files go to ``out``."""

    kind: Literal["neuron_benchmark"]
    module: str
    entry: Entry
    inputs: Entries
    rounds: int


class Captured(TypedDict):
    """The launches of a call; ``config_index`` is parallel, None where nothing is autotuned."""

    launches: list[Launch]
    config_index: list[int | None]
    mode: str
    notes: list[str]
    depends: NotRequired[Depends]


class CaptureJob(EntryJob[Captured]):
    """Run the host code with every launch recorded and none executed."""

    kind: Literal["capture"]
    fake: NotRequired[bool]
    target: NotRequired[dict[str, str]]


class Message(TypedDict):
    """``tilewright.targets.model.CompileMessage`` as JSON."""

    text: str
    line: int | None
    column: int | None


class Compiled(TypedDict, total=False):
    """Figures of a compilation; texts by stage, or why a stage has none.

    Stages are ttir, ttgir, llir, ptx, sass, amdgcn, spirv, xe-asm. ``spills_by_line`` has a line's
    loads and stores.
    """

    ok: bool
    messages: list[Message]
    artifacts: dict[str, str]
    missing: dict[str, str]
    registers: int | None
    spill_bytes: int | None
    shared_bytes: int | None
    shared_limit: int | None
    code_bytes: int | None
    details: Details
    spills_by_line: dict[str, list[int]]
    toolchain: str
    seconds: float
    depends: Depends


class CompileJob(Job[Compiled]):
    """Compile one launch for ``target``: backend, arch, and shared_limit where it is not to be
    the worker's own. A backend this Triton lacks is a job error."""

    kind: Literal["compile"]
    module: str
    launch: Launch
    target: dict[str, Any]
    emit: list[str]


class XpuTarget(TypedDict):
    """A chip of Intel's: ``device`` is ocloc's name for it, ``properties`` what Triton's backend
    asks a driver for."""

    backend: str
    arch: str
    ocloc: str | None
    ocloc_version: str
    device: str
    properties: dict[str, Any]
    register_bytes: int
    shared_limit: int


class CompileXpuJob(Job[Compiled]):
    """The same by Triton for Intel, without torch; ``torch``: the version host code is given."""

    kind: Literal["compile_xpu"]
    module: str
    launch: Launch
    target: XpuTarget
    emit: list[str]
    torch: NotRequired[str]


class Guess(TypedDict):
    """A launch inferred from a text; ``defaulted``: constexprs whose default counts."""

    launch: Launch
    config: int
    defaulted: list[str]


class Specialized(TypedDict):
    """The first guess the front end takes, once a configuration; ``filled``: what told a value."""

    chosen: int | None
    launches: list[Launch]
    refused: list[str]
    filled: NotRequired[dict[str, str]]
    configs: NotRequired[int]
    pruned: NotRequired[bool]


class SpecializedKernels(TypedDict):
    """By the name of the kernel."""

    kernels: dict[str, Specialized]
    notes: list[str]
    depends: NotRequired[Depends]


class SpecializeJob(Job[SpecializedKernels]):
    """Guesses by the name of the kernel, the likeliest first."""

    kind: Literal["specialize"]
    module: str
    kernels: dict[str, list[Guess]]


class Inputs(TypedDict):
    """What a case's inputs are."""

    inputs: Entries


class InputsJob(Job[Inputs]):
    """Make a case's inputs in ``out``; ``values`` is a family of ``value_families``."""

    kind: Literal["inputs"]
    case: Case
    seed: int
    values: NotRequired[str]
    module: NotRequired[str]
    entry: NotRequired[Entry]


class Measured(TypedDict, total=False):
    """Times; with ``out`` in the job what the call gave, and how often it launched each kernel.

    ``difference`` is what is wrong with the results, and then there are no times.
    """

    us: list[float]
    repeats: int
    device_name: str
    compile_seconds: float
    waited_s: float
    notes: list[str]
    difference: str | None
    outputs: Entries
    output_tree: dict[str, Any]
    inputs_changed: list[str]
    changed_inputs: Entries
    launches: dict[str, int]


class Expected(Measured):
    """Results of another version; each may be off by a tolerance."""

    rtol: float
    atol: float


class MeasureJob(EntryJob[Measured]):
    """Compile, run and roughly time one version, holding ``gpu_lock``."""

    kind: Literal["measure"]
    inputs: Entries
    state: Entries | None
    budget_s: float
    like: NotRequired[Expected]
    target: NotRequired[dict[str, str]]
    flush_bytes: NotRequired[int]
    layout: NotRequired[str]
    launch_options: NotRequired[dict[str, Any]]


class Tried(TypedDict):
    """What got through each protection."""

    tries: dict[str, list[str]]
    confinement: Confinement


class Bait(TypedDict):
    """What hostile code would reach for; paths and the secret stand behind a letter."""

    victim: str
    told: str
    address: str
    port: int


class TryJob(Job[Tried], Bait):
    """Put the job's own confinement to the test."""

    kind: Literal["tries"]
    protections: list[str]


class Activity(TypedDict):
    """What a device ran in a call; ``note`` says why nothing is known."""

    kernels: list[KernelTime]
    busy_us: NotRequired[float]
    by: NotRequired[str]
    note: str | None


class KernelTime(TypedDict):
    """How often a kernel ran in a call, and how long in all."""

    name: str
    count: float
    us: float


class InterpretedLaunch(TypedDict):
    """A launch in the interpreter."""

    kernel: str


class Profiled(TypedDict, total=False):
    """A version by itself. ``launch_us`` is parallel to ``launches``, of which the interpreter
    knows the kernels alone; ``host_us``: to hand a call over; ``call_us``: of calls in a row."""

    us: list[float]
    repeats: int
    device_name: str
    clock_note: str | None
    launches: list[Launch | InterpretedLaunch]
    launch_us: list[float]
    host_us: float
    call_us: float | None
    activity: Activity
    waited_s: float


class ProfileJob(EntryJob[Profiled]):
    """Time a version and log all that it starts, on inputs of its own: nothing is a verdict."""

    kind: Literal["profile"]
    seed: int
    budget_s: NotRequired[float]
    flush_bytes: NotRequired[int]


class Tool(TypedDict):
    """A profiler. In ``arguments`` ``{program}`` is what it runs and ``{out}`` a folder for files;
    ``{python}`` as an executable is the worker's own. ``then``: calls of it after that, by the file
    each prints into; ``marks``: "cuda", "proton" or None."""

    executables: list[str]
    places: NotRequired[list[str]]
    arguments: list[str]
    version: NotRequired[list[str]]
    marks: str | None
    proton: NotRequired[dict[str, str]]
    then: NotRequired[dict[str, list[str]]]
    files: list[str]


class Counted(TypedDict):
    """What a profiler printed and wrote; ``module`` is the name of the file."""

    tool: str
    path: str
    version: str | None
    code: int
    stdout: str
    stderr: str
    files: dict[str, str]
    said: dict[str, Any] | None
    module: str


class CountersJob(EntryJob[Counted]):
    """Start a profiler around a program that confines itself and then calls the version."""

    kind: Literal["counters"]
    seed: int
    calls: NotRequired[int]
    tool: Tool


class Sized(TypedDict):
    """``chosen`` is the index of a choice, ``working`` its cases that do; bytes and failures are
    of each choice."""

    chosen: int | None
    working: list[int]
    bytes: list[int | None]
    failures: list[str]
    init_args: list[list[Any] | None]
    own_args: NotRequired[list[list[Any] | None]]


class SizeJob(Job[Sized], Source):
    """Find the size that a module can be run at."""

    kind: Literal["size"]
    case: NotRequired[Case]
    choices: list[list[Case]]
    variants: list[list[Case]]
    most_bytes: int


class Contents(TypedDict, total=False):
    """What a tensor held; a short one of integers all of its numbers."""

    low: float
    high: float
    mean: float
    std: float
    values: list[int]
    ascending: bool


class CallInput(TypedDict, total=False):
    """An input of a call: a number or a word as ``value``, else a tensor."""

    name: str
    value: Plain
    dtype: str
    shape: list[int]
    strides: list[int]
    contents: Contents | None


class Call(TypedDict, total=False):
    """A call that a test made; without a ``failure`` it has all of its keys."""

    function: str
    failure: str
    arguments: dict[str, Any]
    inputs: list[CallInput]
    programs: int


class Calls(TypedDict):
    """``failure``: why the tests ended early."""

    calls: list[Call]
    failure: str


class CallsJob(Job[Calls], Source):
    """Run the tests ``below`` a file's ``line``, whose part ``above`` they call."""

    kind: Literal["calls"]
    above: str
    below: str
    line: int
    seed: int


class TestResult(TypedDict):
    """What became of a test: "passed", "failed" or "skipped"; ``unsupported``: it failed as it
    uses what cannot be forwarded."""

    test: str
    outcome: str
    line: int
    message: str
    unsupported: bool


class Tested(TypedDict):
    """``exit``: pytest's code."""

    results: list[TestResult]
    calls: list[Call]
    exit: int
    printed: str


class TestsJob(Job[Tested], Source):
    """Run a pytest file; the module, whose file is ``source``, runs in a process of its own."""

    kind: Literal["tests"]
    source: str
    tests: str
    test: str
    conftests: list[str]
    seed: int


class CoordinatorJob(Job[None]):
    """The process that hears the trials of a device; the fork server alone starts it."""

    kind: Literal["judge"]
    folder: str
