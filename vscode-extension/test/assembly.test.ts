import { describe, expect, it } from "vitest";
import {
  type Assembly,
  HEADER_LINES,
  kernelStart,
  kernelText,
  shownText,
  titleOf,
  toSource,
  toView,
} from "../src/assembly-lines";
import { firstChange } from "../src/splice";

const assembly: Assembly = {
  kernel: "add",
  target: "cuda:90",
  stage: "sass",
  stages: ["ptx", "sass"],
  text: "NOP\nLDG\nLDG\nFADD\nSTG",
  missing: "",
  configuration: "BLOCK=64 num_warps=4",
  origin: "launched as in the spec next to the file",
  notes: [],
  version: 3,
  hash: "4a409fa",
  range: { start: 2, end: 6 },
  lines: [
    { source: 4, text: [1, 2] },
    { source: 5, text: [3] },
    { source: 6, text: [4, 1] },
  ],
};

describe("an assembly view", () => {
  it("says what it is of, and when its source has changed since", () => {
    expect(titleOf(assembly)).toBe("add@4a409fa cuda:90 sass");
    const fresh = shownText(assembly, "k.py", false).split("\n");
    expect(fresh[0]).toBe("# sass of add (k.py, text 4a409fa) for cuda:90");
    expect(fresh[1]).toBe("# BLOCK=64 num_warps=4; launched as in the spec next to the file");
    expect(fresh[HEADER_LINES]).toBe("NOP");
    const stale = shownText(assembly, "k.py", true).split("\n");
    expect(stale[2]).toMatch(/STALE/);
    expect(stale.slice(HEADER_LINES)).toEqual(fresh.slice(HEADER_LINES));
  });

  it("finds the lines of a selection in either direction", () => {
    expect(toView(assembly, { first: 4, last: 5 }, 0)).toEqual([{ first: 1 + HEADER_LINES, last: 3 + HEADER_LINES }]);
    expect(toView(assembly, { first: 0, last: 3 }, 0)).toEqual([]);
    const one = { first: 1 + HEADER_LINES, last: 1 + HEADER_LINES };
    expect(toSource(assembly, one, 0)).toEqual([
      { first: 4, last: 4 },
      { first: 6, last: 6 },
    ]);
  });

  it("follows a kernel that edits above have moved", () => {
    expect(toView(assembly, { first: 7, last: 7 }, 2)).toEqual([{ first: 3 + HEADER_LINES, last: 3 + HEADER_LINES }]);
    const last = { first: 4 + HEADER_LINES, last: 4 + HEADER_LINES };
    expect(toSource(assembly, last, 2)).toEqual([{ first: 8, last: 8 }]);
  });
});

describe("a kernel's place in its document", () => {
  const document = "import a\n\n@jit\ndef add():\n    pass\n\nx = 1";
  const kernel = kernelText(document, { first: 2, last: 4 });

  it("is found again while its text is the same", () => {
    expect(kernel).toBe("@jit\ndef add():\n    pass");
    expect(kernelStart(document, kernel)).toBe(2);
    expect(kernelStart(`# one\n${document}`, kernel)).toBe(3);
    expect(kernelStart(kernel, kernel)).toBe(0);
  });

  it("is lost when its text has changed", () => {
    expect(kernelStart(document.replace("pass", "return"), kernel)).toBeUndefined();
    expect(kernelStart(document.replace("pass", "pass  # why"), kernel)).toBeUndefined();
  });
});

describe("the first change of a proposed edit", () => {
  it("is the line that differs first", () => {
    expect(firstChange("a\nb\nc", "a\nx\nc")).toBe(1);
    expect(firstChange("a\r\nb\r\n", "a\nb\nc\n")).toBe(2);
    expect(firstChange("a", "a")).toBe(0);
  });
});
