"""The lines of PTX that stands in inline assembly."""

from tilewright.targets.assembly.listing import listing_of

PTX = """\
.file 1 "/somewhere/kernel.py"
.visible .entry kernel()
{
	.loc	1 5 9                           // kernel.py:5:9
	// begin inline asm
	.loc	1 5 9                           // kernel.py:5:9
	mov.u32 %r1, 0x0;
	.loc	1 6 9                           // kernel.py:6:9
	ld.global.b32 { %r1 }, [ %rd1 + 0 ];
	// end inline asm
	// begin inline asm
	.loc	1 5 9                           // kernel.py:5:9
	mov.u32 %r2, 0x0;
	.loc	1 6 9                           // kernel.py:6:9
	ld.global.b32 { %r2 }, [ %rd2 + 0 ];
	// end inline asm
	.loc	1 7 9                           // kernel.py:7:9
	st.global.b32 [ %rd3 + 0 ], { %r1 };
	ret;
}
"""


def test_all_lines_of_inline_assembly_are_of_one_source_line() -> None:
    """LLVM counts on within it, as if the assembly's lines were lines of the kernel."""
    found = listing_of("ptx", PTX, "/somewhere/kernel.py").instructions
    assert [(one.opcode, one.line) for one in found] == [
        ("mov.u32", 5),
        ("ld.global.b32", 5),
        ("mov.u32", 5),
        ("ld.global.b32", 5),
        ("st.global.b32", 7),
        ("ret", 7),
    ]
