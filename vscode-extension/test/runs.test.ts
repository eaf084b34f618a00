import { describe, expect, it } from "vitest";
import { Axis, bestChart, roofChart, short } from "../src/runs/charts";
import { comparison, gain, headline, seconds, span, time } from "../src/runs/figures";
import {
  bestOf,
  branches,
  type Candidate,
  estimatedCurve,
  isApplicable,
  measuredCurve,
  pathTo,
  type RunHead,
  type RunRecord,
  type RunView,
  type Speedup,
  withCandidate,
  withHead,
} from "../src/runs/model";
import { textOf, withClass } from "../src/runs/nodes";
import { olderItems } from "../src/runs/older";
import { page } from "../src/runs/page";

const HEAD: RunHead = {
  run: "r", uri: "file:///w/matmul.py", target: "cuda:90", state: "done", record: "8ed9", kernel: null, device: null,
  position: null, stage: "autotuning", message: "finished", judged: 3, budget: 64, best: null, kept: 2, percent: 100,
  elapsed_s: 38.3, left_s: null, cost: null, evidence: "correct on interpreter", moved: "same",
};

const figures = (us: number, registers: number, spilled = 0): Candidate["figures"] => [
  {
    kernel: "k", configurations: 1, compiled: 1, registers: [registers, registers], spill_bytes: [spilled, spilled],
    shared_bytes: null, estimate_us: [us, us],
  },
];

function text(id: string, parent: string | null, more: Partial<Candidate> = {}): Candidate {
  return {
    id, parent, verdict: parent === null ? "original" : "kept", number: parent === null ? null : Number(id.slice(1)),
    stage: "fusion", proposer: "rewrite:x", rationale: `do ${id}`, level: "correct", reason: `because ${id}`,
    best: parent !== null, speedup: null, estimate: null, figures: [], seconds: 2, ...more,
  };
}

const faster = (value: number): Speedup => ({
  value, low: value * 0.99, high: value * 1.01, original_us: 100, candidate_us: 100 / value, device: "NVIDIA H200", case: "big[0]",
});

const untimed: RunView = {
  head: HEAD,
  candidates: [
    text("o", null, { figures: figures(1600, 45) }),
    text("c1", "o", { figures: figures(1200, 41) }),
    text("c2", "c1", { verdict: "refused", best: false, figures: figures(2400, 255, 64), reason: "rejected at compile" }),
    text("c3", "c1", { figures: figures(400, 128) }),
  ],
  notes: [],
};

const timed: RunView = {
  ...untimed,
  candidates: [
    text("o", null),
    text("c1", "o", { speedup: faster(2) }),
    text("c2", "c1", { verdict: "refused", best: false, speedup: faster(0.5) }),
    text("c3", "c1", { speedup: faster(1.5) }),
  ],
};

const PEAKS = { chip: "H200", peak_flop: 989e12, peak_bytes: 4.8e12 };
const estimates = {
  ...PEAKS,
  texts: [
    { trial: 0, us: 1600, flop: 137e9, bytes: 1e8, roof_percent: 17 },
    { trial: 1, us: 1200, flop: 137e9, bytes: 1e8, roof_percent: 11 },
    { trial: 2, us: 2400, flop: 137e9, bytes: 1e8, roof_percent: 8 },
  ],
};
const estimated: RunRecord = { roof: { missing: "no trial was timed" }, estimates };

describe("older runs", () => {
  it("are listed with what they gained, and what is no run is left out", () => {
    const one = {
      run: "a1b2", path: "/w/softmax.py", target: "cuda:90", started: "2026-11-20T10:14:00+00:00", state: "finished",
      trials: 8, kept: 3, gain: { value: 1.944 },
    };
    expect(olderItems([one, { ...one, run: "c3", gain: null }, { kept: 1 }, null])).toEqual([
      {
        label: "softmax.py for cuda:90", description: "2026-11-20 10:14", record: "a1b2",
        detail: "finished; 3 of 8 candidates kept; 1.94x, measured",
      },
      expect.objectContaining({ record: "c3", detail: "finished; 3 of 8 candidates kept; no speed measured" }),
    ]);
    expect(olderItems(undefined)).toEqual([]);
  });

  it("can be asked for where no run is shown and where some are", () => {
    const asks = (shown: Parameters<typeof page>[0]): string => JSON.stringify(page(shown, null)["runs"]);
    expect(asks({ runs: [], run: null, record: null })).toContain("data-older");
    expect(asks({ runs: [untimed], run: "r", record: null })).toContain("data-older");
  });
});

describe("a run", () => {
  it("keeps its candidates in one tree, whatever comes first", () => {
    let view = withHead(undefined, HEAD);
    untimed.candidates.forEach((one) => (view = withCandidate(view, { ...one, verdict: "judging" })));
    untimed.candidates.forEach((one) => (view = withCandidate(view, one)));
    expect(view.candidates).toEqual(untimed.candidates);
    const [root, ...others] = branches(view.candidates);
    expect(others).toEqual([]);
    expect(root?.below.map(({ candidate }) => candidate.id)).toEqual(["c1"]);
    expect(root?.below[0]?.below.map(({ candidate }) => candidate.id)).toEqual(["c2", "c3"]);
  });

  it("shows a candidate whose parent is not known, and survives a circle", () => {
    expect(branches([text("c9", "gone")]).map(({ candidate }) => candidate.id)).toEqual(["c9"]);
    expect(pathTo([text("c1", "c2"), text("c2", "c1")], "c1")).toHaveLength(2);
  });

  it("applies steps that were kept, one after the other, and nothing else", () => {
    expect(bestOf(untimed)?.id).toBe("c3");
    expect(["o", "c1", "c2", "c3"].map((id) => isApplicable(untimed, id))).toEqual([false, true, false, true]);
    expect(isApplicable({ ...untimed, candidates: [text("c9", "gone")] }, "c9")).toBe(false);
  });

  it("multiplies measured speed-ups along the tree, and keeps the best", () => {
    expect(measuredCurve(timed)).toEqual([
      { trial: 1, own: 2, best: 2, kept: true },
      { trial: 2, own: 1, best: 2, kept: false },
      { trial: 3, own: 3, best: 3, kept: true },
    ]);
    expect(measuredCurve(untimed).every(({ own }) => own === null)).toBe(true);
  });

  it("divides the original's estimate by a candidate's", () => {
    expect(estimatedCurve(untimed, undefined).map(({ own }) => own)).toEqual([1600 / 1200, 1600 / 2400, 4]);
    expect(estimatedCurve(timed, undefined).every(({ own }) => own === null)).toBe(true);
  });
});

describe("a chart", () => {
  it("never draws an estimate as a measurement", () => {
    const { drawing, note } = bestChart(untimed, undefined);
    expect(note).toContain("Speed not measured");
    expect(drawing && withClass(drawing, "measured")).toEqual([]);
    expect(drawing && withClass(drawing, "estimated").length).toBeGreaterThan(3);
    const measured = bestChart(timed, undefined).drawing;
    expect(measured && withClass(measured, "estimated")).toEqual([]);
    expect(measured && withClass(measured, "refused")).toHaveLength(1);
  });

  it("says why there is none", () => {
    const nothing = { ...untimed, candidates: [text("o", null)] };
    expect(bestChart(nothing, undefined)).toMatchObject({ drawing: null, note: "No candidate was judged yet." });
    expect(roofChart(untimed, undefined).drawing).toBeNull();
    const none = { roof: { missing: "no trial was timed" }, estimates: { missing: "no chip" } };
    expect(roofChart(untimed, none).note).toBe("No roofline: no trial was timed; no chip.");
  });

  it("puts every text below the roof", () => {
    const { drawing, note } = roofChart(untimed, estimated);
    const marks = drawing ? [...withClass(drawing, "point")] : [];
    expect(marks.map(textOf)).toEqual(["original: 1.6 ms, estimated", "1: 1.2 ms, estimated", "2: 2.4 ms, estimated"]);
    expect(note).toContain("Measured: none (no trial was timed)");
    const roof = { ...PEAKS, case: "big[0]", flop: 137e9, bytes: 1e8 };
    const both = roofChart(timed, { roof, estimates }).drawing;
    const measured = both ? withClass(both, "point").filter((mark) => textOf(mark).endsWith("measured")) : [];
    expect(measured.map((mark) => textOf(mark).split(":")[0])).toEqual(["original", "1", "2", "3"]);
  });

  it("shows the share of the roof where nothing multiplies", () => {
    const texts = estimates.texts.map((one) => ({ ...one, flop: 0 }));
    const { title, drawing } = roofChart(untimed, { ...estimated, estimates: { ...estimates, texts } });
    expect(title).toBe("Share of the roofline");
    expect(drawing ? textOf(drawing) : "").toContain("17 %, 1.6 ms");
  });

  it("has ticks inside its axis", () => {
    for (const axis of [new Axis(0, 7.3, 0, 100), new Axis(0.4, 2e13, 0, 100, true), new Axis(1, 1, 0, 100)]) {
      axis.ticks().forEach((tick) => {
        expect(tick).toBeGreaterThanOrEqual(axis.low - 1e-9);
        expect(tick).toBeLessThanOrEqual(axis.high + 1e-9);
        expect(Number.isFinite(axis.at(tick))).toBe(true);
      });
    }
    expect([short(20_000), short(1.5e12), short(0.25)]).toEqual(["20k", "1.5T", "0.25"]);
  });
});

describe("figures", () => {
  it("are said with their unit, or said to be missing", () => {
    expect([time(251.53), time(1400), time(2.5e6)]).toEqual(["251.5 us", "1.4 ms", "2.5 s"]);
    expect([seconds(38.3), seconds(187)]).toEqual(["38 s", "3 min 07 s"]);
    expect([span([41, 41]), span([115, 210]), span(null)]).toEqual(["41", "115 to 210", "not known"]);
    expect(gain(text("c1", "o"))).toBe("not measured");
    expect(gain(text("c1", "o", { speedup: faster(2) }))).toBe("2.00x [1.98, 2.02] on NVIDIA H200, big[0]: 100 us to 50 us");
    expect(gain(text("c1", "o", { estimate: { value: 1.4, words: "1.40x by the cost model" } }))).toMatch(/^estimated .*; not measured$/);
  });

  it("stand before and after, with what changed marked", () => {
    const rows = comparison(untimed.candidates[0], untimed.candidates[2] as Candidate);
    expect(rows.find(({ what }) => what.startsWith("spilled"))).toMatchObject({ before: "0 B", after: "64 B", changed: true });
    expect(rows.find(({ what }) => what.startsWith("shared"))).toMatchObject({ before: "not known", changed: false });
    expect(rows.find(({ what }) => what.startsWith("estimate"))?.what).toContain("not measured");
  });

  it("say what a run costs and that nothing was timed", () => {
    expect(headline(HEAD)).toEqual([
      "done, stage autotuning", "finished", "3 of at most 64 candidates judged, 2 kept", "speed not measured", "38 s", "no model was asked",
    ]);
    const cost = { calls: 4, dollars: 0.025, tokens_in: 2000, tokens_out: 400 };
    expect(headline({ ...HEAD, best: 3, left_s: 70, cost })).toEqual(
      expect.arrayContaining(["best so far 3.00x, measured", "38 s, about 1 min 10 s left (estimate)", "4 model calls, 2,400 tokens, $0.0250"]),
    );
  });
});

describe("the page", () => {
  const shown = { runs: [untimed], run: "r", record: estimated };

  it("shows why a candidate was refused, its figures and its changes, and offers no way to apply it", () => {
    const { candidate } = page(shown, "c2");
    const words = candidate ? textOf(candidate) : "";
    expect(words).toContain("Refused because rejected at compile");
    expect(words).toContain("255");
    const actions = candidate ? withClass(candidate, "action") : [];
    expect(actions.map(({ attributes }) => attributes["data-diff"] ?? attributes["data-apply"])).toEqual(["c2", "c2"]);
    expect(actions.some(({ attributes }) => "data-apply" in attributes)).toBe(false);
  });

  it("applies a part of the steps once the run is over and the kernel is as it was", () => {
    const applies = (head: Partial<RunHead>): readonly string[] => {
      const parts = page({ ...shown, runs: [{ ...untimed, head: { ...HEAD, ...head } }] }, "c1");
      const actions = parts["candidate"] ? withClass(parts["candidate"], "action") : [];
      return actions.filter(({ attributes }) => "data-apply" in attributes).map(textOf);
    };
    expect(applies({})).toEqual(["Apply this step"]);
    expect(applies({ moved: "elsewhere" })).toEqual(["Apply this step"]);
    expect(applies({ moved: "kernel" })).toEqual([]);
    expect(applies({ state: "running" })).toEqual([]);
  });

  it("lets a run be cancelled while it goes on", () => {
    const running = { ...untimed, head: { ...HEAD, state: "running", percent: 40 } };
    const head = page({ runs: [running], run: "r", record: null }, null)["head"];
    expect(head ? withClass(head, "action").map(({ attributes }) => attributes["data-cancel"]) : []).toEqual(["r"]);
  });

  it("says what to do where no run was", () => {
    const head = page({ runs: [], run: null, record: null }, null)["head"];
    expect(head ? textOf(head) : "").toContain("Optimize Kernel for…");
  });
});
