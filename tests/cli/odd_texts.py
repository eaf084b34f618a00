"""Texts as no person writes them, and as some do: huge, nested, half, in any encoding."""

import random
from collections.abc import Callable, Iterator

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
KERNEL = """
@triton.jit
def kernel{k}(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    {body}
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x, mask=offs < n)


def run{k}(x):
    y = torch.empty_like(x)
    kernel{k}[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK={block})
    return y
"""
EXPRESSIONS: tuple[str, ...] = (
    "10**10**10",
    "1 << 10**9",
    "(1 << 10**9) - (1 << 10**9)",
    "2 ** (2 ** 40)",
    "-(10**10**10)",
    "10**400 * 1.0",
    "1e400",
    "float('nan')",
    "1e308 * 10 // 1",
    "int(1e400)",
    "1 // 0",
    "1 % 0",
    "1 << -1",
    "1 >> 10**30",
    "'a' * 10**10",
    "'%' % 5",
    "'%1000000000d' % 5",
    "'{:>1000000000}'.format(5)",
    "f'{5:>1000000000}'",
    "str(10**5000)",
    "int('9' * 10**6)",
    "[0] * 10**10",
    "(1,) * 10**9",
    "[0, 1] * 10**5 * 10**5",
    "list(range(10**10))",
    "sum(range(10**12))",
    "max(range(10**12))",
    "len(range(10**30))",
    "range(10**30)",
    "tuple(range(10**9))",
    "[i for i in range(10**9)]",
    "[(i, j, k) for i in range(9999) for j in range(9999) for k in range(9999)]",
    "{i: i for i in range(10**9)}",
    "dict(zip(range(10**9), range(10**9)))",
    "sorted(range(10**9))",
    "list(itertools.product(range(9999), repeat=9))",
    "list(map(str, range(10**9)))",
    "math.prod(range(1, 10**7))",
    "math.factorial(10**8)",
    "triton.next_power_of_2(1 << 10**7)",
    "triton.next_power_of_2(10**400)",
    "triton.cdiv(10**400, 1.5)",
    "2 ** 0.5 ** 1000",
    "(-8) ** 0.5",
    "3j",
    "b'x' * 10**10",
    "...",
    "'\\ud800'",
    "0x" + "f" * 200_000,
    "9" * 5000,
    "0b" + "1" * 100_000,
    "1_0" * 900,
    "1e" + "9" * 300,
    "'" + "a" * 300_000 + "'",
    "'" + "\\ud800" * 50 + "'",
    "[" + "0, " * 30_000 + "]",
    "{" + "0: 0, " * 20_000 + "}",
    "(" + "16, " * 3_000 + ")",
    "(" * 150 + "1" + ")" * 150,
    "(" * 10_000 + "1" + ")" * 10_000,
    "[" * 90 + "]" * 90,
    "1" + " + 1" * 900,
    "1" + " + 1" * 5_000,
    "1" + " * (1" * 80 + ")" * 80,
    "n" + " + n" * 3_000,
    "n" + " // 2" * 400,
    "-" * 3_000 + "1",
    "not " * 2_000 + "1",
    "lambda: " * 1_000 + "1",
    "a" + ".b" * 5_000,
    "a" + ".b" * 300,
    "f" + "()" * 2_000,
    "a" + "[0]" * 2_000,
    "a" + "[0]" * 250,
    "1 if n else " * 1_000 + "2",
    "1 if n else " * 250 + "2",
    "x" + " < x" * 3_000,
    "x" + " and x" * 3_000,
    "f(" * 95 + ")" * 95,
    "tl.maximum(n, " * 90 + "1" + ")" * 90,
    "await n",
    "(yield)",
    "(y := 5)",
    "*n",
    "x[...,None,:,::2]",
)
"""Each stands where a number could."""


def _long_body(count: int) -> str:
    return "".join(f"    x = x * 2.0 + {i}\n" for i in range(count))


def _long_kernel(random_: random.Random) -> str:
    body = _long_body(random_.choice((500, 2_000)))
    return (
        f"{HEAD}@triton.jit\ndef long(x_ptr, n, B: tl.constexpr):\n"
        "    offs = tl.program_id(0) * B + tl.arange(0, B)\n    x = tl.load(x_ptr + offs)\n"
        f"{body}    tl.store(x_ptr + offs, x)\n"
    )


def _doubling_helpers(random_: random.Random) -> str:
    """Each helper calls the next one twice: as many calls as two to the power of the depth."""
    depth = random_.choice((12, 40, 150))
    helpers = "".join(
        f"@triton.jit\ndef h{i}(x):\n    return h{i + 1}(x) + h{i + 1}(x + 1)\n\n\n"
        for i in range(depth)
    )
    last = f"@triton.jit\ndef h{depth}(x):\n    return x * 2\n\n\n"
    return HEAD + helpers + last + KERNEL.format(k=0, body="pid = h0(pid)", block=64)


def _helpers_in_a_circle(random_: random.Random) -> str:
    count = random_.choice((1, 2, 30))
    helpers = "".join(
        f"@triton.jit\ndef h{i}(x):\n    return h{(i + 1) % count}(x) + 1\n\n\n"
        for i in range(count)
    )
    return HEAD + helpers + KERNEL.format(k=0, body="offs = h0(offs)", block=64)


def _hosts_that_call_twice(random_: random.Random) -> str:
    depth = random_.choice((12, 40))
    hosts = "".join(
        f"def f{i}(x):\n    f{i + 1}(x)\n    return f{i + 1}(x)\n\n\n" for i in range(depth)
    )
    return (
        HEAD
        + KERNEL.format(k=0, body="pass", block=64)
        + hosts
        + f"def f{depth}(x):\n    run0(x)\n"
    )


def _many(random_: random.Random) -> str:
    count = random_.choice((60, 200))
    return HEAD + "".join(KERNEL.format(k=i, body="pass", block=128) for i in range(count))


def _same_names(random_: random.Random) -> str:
    return HEAD + KERNEL.format(k=0, body="pass", block=128) * random_.choice((2, 40))


def _launches(random_: random.Random) -> str:
    count = random_.choice((100, 600))
    calls = "".join(
        f"    kernel0[({i + 1},)](x, x, {i}, BLOCK={16 << i % 5})\n" for i in range(count)
    )
    return f"{HEAD}{KERNEL.format(k=0, body='pass', block=64)}\n\ndef many(x):\n{calls}"


def _configs(random_: random.Random) -> str:
    count = random_.choice((300, 3_000))
    listed = "".join(
        f"    triton.Config({{'BLOCK': {16 << i % 8}}}, num_warps={1 << i % 4}, num_stages={i % 7}),\n"
        for i in range(count)
    )
    kernel = KERNEL.format(k=0, body="pass", block=64).replace(", BLOCK=64)", ")")
    return f"{HEAD}@triton.autotune(configs=[\n{listed}], key=['n'])" + kernel


def _configs_by_comprehension(random_: random.Random) -> str:
    size = random_.choice((3, 30, 10**9))
    made = (
        f"[triton.Config({{'BLOCK': 16 * i}}, num_warps=w, num_stages=s) for i in range({size}) "
        f"for w in range({size}) for s in range({size})]"
    )
    kernel = KERNEL.format(k=0, body="pass", block=64).replace(", BLOCK=64)", ")")
    return f"{HEAD}@triton.autotune(configs={made}, key=['n'])" + kernel


def _branches(random_: random.Random) -> str:
    count = random_.choice((80, 1_500))
    chain = "".join(f"    elif n == {i}:\n        x = {i}\n" for i in range(count))
    return (
        f"{HEAD}@triton.jit\ndef branches(x_ptr, n):\n    if n == -1:\n        x = 0\n{chain}"
        "    else:\n        x = 5\n    tl.store(x_ptr, x)\n"
    )


def _nested_blocks(random_: random.Random) -> str:
    depth = random_.choice((15, 19, 60, 120))
    word = random_.choice(("if n:", "for i in range(n):", "while n:", "with n:", "try:"))
    body = "".join(f"{'    ' * (i + 1)}{word}\n" for i in range(depth))
    return f"{HEAD}@triton.jit\ndef nested(x_ptr, n):\n{body}{'    ' * (depth + 1)}n = n + 1\n"


def _parameters(random_: random.Random) -> str:
    count = random_.choice((300, 1_500))
    names = ", ".join(f"p{i}" for i in range(count))
    stores = "".join(f"    tl.store(p{i}, {i})\n" for i in range(count))
    return f"{HEAD}@triton.jit\ndef wide({names}):\n{stores}\n\ndef run(x):\n    wide[(1,)](*[x] * {count})\n"


def _long_line(random_: random.Random) -> str:
    return f"{HEAD}x = 5  # " + "long " * random_.choice((2_000, 60_000)) + "\n"


def _comments(random_: random.Random) -> str:
    count = random_.choice((200, 1_000))
    remarks = "".join(
        f"x{i} = 1  # tilewright: ignore[missing_autotune, nope]\n" for i in range(count)
    )
    return HEAD + remarks + KERNEL.format(k=0, body="pass", block=64)


def _strange_words(random_: random.Random) -> str:
    """What newer or other Pythons know, and names that the parser normalizes."""
    words = (
        "def \ufb01ll(x): return x\n",
        "type X = int\n",
        "def f[T](x: T) -> T: return x\n",
        "print 'two'\n",
        "exec 'x' in y\n",
        "async def f(): await x\n",
        "match x:\n    case [1, *_]: pass\n",
        "x = 0777\n",
        "x = u'\\N{SNOWMAN}' ur'x'\n",
        "with (a as b, c as d): pass\n",
        "def f(a, /, b, *, c): pass\n",
        "try: pass\nexcept* E: pass\n",
        "\\\n",
        "'''",
        "@triton.jit\n",
        "@triton.jit\nclass K: pass\n",
        "@triton.jit\nasync def k(x): pass\n",
        "@triton.jit\n" * 300 + "def k(x): pass\n",
        "@triton.jit\ndef k(*a, **k): tl.store(a[0], 1)\n",
        "@triton.jit\ndef k(x, y=tl.arange(0, 8)): tl.store(x, y)\n",
        "@triton.jit\ndef k(x): tl.store(x + tl.arange(0, 3)[:, None, None, None], tl.zeros((), 5))\n",
        "k = triton.jit(lambda x: x)\n",
        "@triton.autotune(configs=5, key=5)\n@triton.jit\ndef k(x): pass\n",
        "@triton.autotune(*a, **b)\n@triton.jit\ndef k(x): pass\n",
        "@triton.heuristics({None: 5, **x})\n@triton.jit\ndef k(x): pass\n",
        "def f(x):\n    k[5][6][7](x, *x, **x)(x)\n",
        "from . import *\nfrom triton import *\nimport triton as tl\n",
        "tl = tl.tl = tl.language = triton\n",
        "del triton\nglobal tl\nnonlocal x\nreturn\nyield\n",
    )
    picked = random_.sample(words, 6)
    return HEAD + "\n".join(picked) + KERNEL.format(k=0, body="pass", block=64)


def _around_an_expression(random_: random.Random) -> str:
    """A kernel, its constants, its tuning and its launch, with an odd value in one of them."""
    odd = random_.choice(EXPRESSIONS)
    place = random_.randrange(9)
    kernel = KERNEL.format(k=0, body="pass", block=64)
    if place == 0:
        return HEAD + KERNEL.format(k=0, body=f"z = {odd}", block=64)
    if place == 1:
        return HEAD + KERNEL.format(k=0, body="pass", block=odd)
    if place == 2:
        return f"{HEAD}B = {odd}\n" + KERNEL.format(k=0, body="offs = offs + B", block="B")
    if place == 3:
        return HEAD + KERNEL.format(k=0, body=f"offs = tl.arange(0, {odd})", block=64)
    if place == 4:
        return HEAD + KERNEL.format(k=0, body=f"z = tl.zeros(({odd}, {odd}), tl.float32)", block=64)
    if place == 5:
        body = f"for i in range(0, {odd}, 1):\n        offs += i"
        return HEAD + KERNEL.format(k=0, body=body, block=64)
    if place == 6:
        made = f"[triton.Config({{'BLOCK': {odd}}}, num_warps={odd})]"
        return f"{HEAD}@triton.autotune(configs={made}, key=['n']){kernel}"
    if place == 7:
        return f"{HEAD}@triton.autotune(configs={odd}, key={odd}){kernel}"
    launch = f"\n\ndef odd(x):\n    g = {odd}\n    kernel0[(g, {odd})](x, x, g, BLOCK=64, num_warps={odd})\n"
    return HEAD + kernel + launch


TEXTS: tuple[Callable[[random.Random], str], ...] = (
    _long_kernel, _doubling_helpers, _helpers_in_a_circle, _hosts_that_call_twice, _many,
    _same_names, _launches, _configs, _configs_by_comprehension, _branches, _nested_blocks,
    _parameters, _long_line, _comments,
    *[_strange_words] * 4,
    *[_around_an_expression] * 24,
)  # fmt: skip

SETTINGS: tuple[str, ...] = (
    '[tool.tilewright]\nselect = ["correctness"]\n',
    '[tool.tilewright]\nexclude = ["a*", "**/x"]\n',
    "[tool.tilewright]\nselct = 5\n",
    "tool = 5  # tilewright\n",
    "[tool]\ntilewright = 5\n",
    "[tool.tilewright",
    "[project]\nname = 'other'\n",
    "this is no TOML",
    "x = " + "[" * 3_000 + "# tilewright",
    "x = " + "9" * 6_000 + " # tilewright\n",
    "\xff tilewright",
)


def names(random_: random.Random) -> Iterator[bytes]:
    """File names without suffix, without end; some more than one program would choke on."""
    odd = (
        b"\xff", b"two\nlines", b"tab\there", b"quote'\"", b"per%cent", b"a,b:c", b"$HOME", b"`ls`",
        b"-rf", b"--format", b" ", b"...", b"~", b"[x]", b"*", b"#", b"a\\b", b"\x1b[31m", b"\x7f",
        "\u30ab\u30e1".encode(), "e\u0301".encode(), "\xe9".encode(), "\u202e".encode(),
        b"A" * 200, b"CON", b"test::x", b"{x}", b"{{ x }}", b"a;b", b"kernel", b"Kernel", b"KERNEL",
    )  # fmt: skip
    yield from random_.sample(odd, 6)
    number = 0
    while True:
        number += 1
        yield f"file{number}".encode()
