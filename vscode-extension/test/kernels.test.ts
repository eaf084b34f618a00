import { expect, it } from "vitest";
import { byFile, description, details, icon, type KernelRow, replaced, withTimes } from "../src/kernels/rows";

const ROW: KernelRow = {
  path: "/w/b.py", kernel: "softmax", line: 9, issues: 2, certificate: "none", proof: "", time: null,
  worst: { id: "dtype_float64", message: "This computes in fp64.", line: 24, severity: 4 },
};
const measured = { us: 130.4, kind: "measured", where: "NVIDIA H200", case: "big[0]", roof_percent: 74.6 } as const;

it("shows time, share of the roof, worst issue and certificate in one line", () => {
  expect(description(ROW)).toBe("dtype_float64");
  expect(description({ ...ROW, time: measured, certificate: "current" })).toBe("130.4 us, 75 % of roof · dtype_float64 · certified");
  const estimated = { ...measured, kind: "estimated", roof_percent: null } as const;
  expect(description({ ...ROW, worst: null, time: estimated, certificate: "stale" })).toBe("~130.4 us · no issue · STALE");
});

it("says of each figure whether it was measured", () => {
  expect(details({ ...ROW, time: measured })).toContain("130.4 us on NVIDIA H200, big[0], 75 % of the roofline: measured");
  expect(details({ ...ROW, time: { ...measured, kind: "estimated" } })).toContain("estimated, not measured");
  expect(details(ROW)).toContain("Time: not known.");
  const stale = details({ ...ROW, certificate: "stale", proof: "softmax changed (line 5)" });
  expect(stale).toContain("Certificate is stale: softmax changed (line 5)");
});

it("marks what needs attention first", () => {
  expect(icon({ ...ROW, certificate: "stale" }).id).toBe("warning");
  expect(icon({ ...ROW, certificate: "current" }).id).toBe("verified-filled");
  expect([icon(ROW).id, icon({ ...ROW, worst: null }).id]).toEqual(["flame", "symbol-function"]);
});

it("groups by file, and replaces the rows of a file that was saved", () => {
  const other = { ...ROW, path: "/w/a.py", kernel: "matmul" };
  expect(byFile([ROW, other]).map(([file]) => file)).toEqual(["/w/a.py", "/w/b.py"]);
  const fresh = [{ ...ROW, kernel: "renamed" }];
  expect(replaced([ROW, other], ["/w/b.py"], fresh).map(({ kernel }) => kernel)).toEqual(["matmul", "renamed"]);
  expect(replaced([ROW, other], ["/w/b.py"], [])).toEqual([other]);
});

it("takes newer times in, and no estimate for what was measured", () => {
  const guess = { ...measured, us: 99, kind: "estimated" } as const;
  const [row] = withTimes([ROW], [{ path: "/w/b.py", kernel: "softmax", time: guess }]);
  expect(row?.time).toEqual(guess);
  const known = { ...ROW, time: measured };
  expect(withTimes([known], [{ path: "/w/b.py", kernel: "softmax", time: guess }])).toEqual([known]);
  expect(withTimes([known], [{ path: "/w/other.py", kernel: "softmax", time: guess }])).toEqual([known]);
});
