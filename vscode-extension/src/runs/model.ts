/** An optimization and its candidates, as the server sends them (`run_view.py`), and what follows from them; pure. */

/** Least and most over the configurations that compile. */
export type Range = readonly [number, number];

export interface KernelFigures {
  readonly kernel: string;
  readonly configurations: number;
  readonly compiled: number;
  readonly registers: Range | null;
  readonly spill_bytes: Range | null;
  readonly shared_bytes: Range | null;
  /** Microseconds by the cost model, never measured: least, (usual,) most. */
  readonly estimate_us: readonly number[] | null;
}

export interface Speedup {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly original_us: number;
  readonly candidate_us: number;
  readonly device: string;
  readonly case: string;
}

export type Verdict = "original" | "judging" | "kept" | "refused" | "brokeOff";

/** A text of a run's tree; `null` means that it is not known. */
export interface Candidate {
  readonly id: string;
  readonly parent: string | null;
  readonly verdict: Verdict;
  readonly number: number | null;
  readonly stage: string | null;
  readonly proposer: string;
  readonly rationale: string;
  readonly level: string | null;
  readonly reason: string;
  readonly best: boolean;
  readonly speedup: Speedup | null;
  readonly estimate: { readonly value: number; readonly words: string } | null;
  readonly figures: readonly KernelFigures[];
  readonly seconds: number | null;
}

export interface RunHead {
  readonly run: string;
  readonly uri: string;
  readonly target: string | null;
  readonly state: string;
  /** Its name in the engine's store. */
  readonly record: string | null;
  readonly kernel: string | null;
  readonly device: string | null;
  readonly position: number | null;
  readonly stage: string | null;
  readonly message: string;
  readonly judged: number;
  readonly budget: number | null;
  /** The product of the measured speed-ups that were kept. */
  readonly best: number | null;
  readonly kept: number;
  readonly percent: number | null;
  readonly elapsed_s: number;
  readonly left_s: number | null;
  readonly cost: Readonly<Record<string, unknown>> | null;
  readonly evidence: string | null;
  /** What the document has become since: "same", "elsewhere" or "kernel". */
  readonly moved: string;
}

export interface RunView {
  readonly head: RunHead;
  readonly candidates: readonly Candidate[];
  readonly notes: readonly string[];
}

/** The work of one call and a chip's peaks, or why they are not known. */
export interface Roof {
  readonly missing?: string;
  readonly chip?: string;
  readonly case?: string;
  readonly flop?: number;
  readonly bytes?: number;
  readonly peak_flop?: number | null;
  readonly peak_bytes?: number | null;
}

/** A text by estimate; trial 0 is the original. */
export interface EstimatedText {
  readonly trial: number;
  readonly us: number;
  readonly flop: number | null;
  readonly bytes: number | null;
  readonly roof_percent: number | null;
}

/** What the engine's record of a run adds: the roof of what was measured, and estimates. */
export interface RunRecord {
  readonly roof: Roof;
  readonly estimates: Roof & { readonly texts?: readonly EstimatedText[]; readonly left_out?: number };
}

const OVER = ["done", "failed", "cancelled", "interrupted"];

export const isOver = (head: RunHead): boolean => OVER.includes(head.state);

/** A run with another head; its candidates stay. */
export function withHead(view: RunView | undefined, head: RunHead): RunView {
  return { candidates: view?.candidates ?? [], notes: view?.notes ?? [], head };
}

/** A run with a candidate added, or in the place of the one with its id. */
export function withCandidate(view: RunView, candidate: Candidate): RunView {
  const known = view.candidates.some((one) => one.id === candidate.id);
  const candidates = known
    ? view.candidates.map((one) => (one.id === candidate.id ? candidate : one))
    : [...view.candidates, candidate];
  return { ...view, candidates };
}

/** A candidate with those that were made of it. */
export interface Branch {
  readonly candidate: Candidate;
  readonly below: readonly Branch[];
}

/** The candidates as trees; one whose parent is not known is a root. */
export function branches(candidates: readonly Candidate[]): readonly Branch[] {
  const ids = new Set(candidates.map(({ id }) => id));
  const below = new Map<string, Candidate[]>();
  const roots: Candidate[] = [];
  for (const one of candidates) {
    const isRoot = one.parent === null || !ids.has(one.parent) || one.parent === one.id;
    const list = isRoot ? roots : (below.get(one.parent) ?? []);
    list.push(one);
    if (!isRoot && one.parent !== null) {
      below.set(one.parent, list);
    }
  }
  const grow = (one: Candidate): Branch => ({ candidate: one, below: (below.get(one.id) ?? []).map(grow) });
  return roots.map(grow);
}

/** From the original to a candidate: the steps that lead to it. */
export function pathTo(candidates: readonly Candidate[], id: string): readonly Candidate[] {
  const byId = new Map(candidates.map((one) => [one.id, one]));
  const path: Candidate[] = [];
  let at = byId.get(id);
  while (at && !path.includes(at)) {
    path.unshift(at);
    at = at.parent === null ? undefined : byId.get(at.parent);
  }
  return path;
}

export const originalOf = (view: RunView): Candidate | undefined =>
  view.candidates.find(({ verdict }) => verdict === "original");

/** The text that a run would return now: the last that was kept as the best. */
export function bestOf(view: RunView): Candidate | undefined {
  const kept = view.candidates.filter(({ verdict }) => verdict === "kept");
  return [...kept].reverse().find(({ best }) => best) ?? kept.at(-1);
}

/** Whether the steps up to a candidate can be applied: each was kept, so each is verified over the one before. */
export function isApplicable(view: RunView, id: string): boolean {
  const [first, ...steps] = pathTo(view.candidates, id);
  return first?.verdict === "original" && steps.length > 0 && steps.every(({ verdict }) => verdict === "kept");
}

/** The usual value of an estimate: the middle of three, the least of two. */
export function usual(estimate: readonly number[] | null): number | null {
  return estimate === null ? null : ((estimate.length === 3 ? estimate[1] : estimate[0]) ?? null);
}

/** Microseconds of all kernels of a text by estimate; null where one has none. */
export function estimatedUs(candidate: Candidate): number | null {
  const each = candidate.figures.map(({ estimate_us }) => usual(estimate_us));
  const known = each.filter((us): us is number => us !== null);
  return each.length > 0 && known.length === each.length ? known.reduce((sum, us) => sum + us, 0) : null;
}

/** The best so far after each candidate that was judged, over the original. */
export interface Reached {
  readonly trial: number;
  /** Of this candidate itself, and the best so far; null: not known. */
  readonly own: number | null;
  readonly best: number | null;
  readonly kept: boolean;
}

/** By what was measured; from the first kept candidate without a time on, the best is not known. */
export function measuredCurve(view: RunView): readonly Reached[] {
  const bests = new Map<string, number | null>([[originalOf(view)?.id ?? "", 1]]);
  let best: number | null = 1;
  return judged(view).map((one) => {
    const from: number | null = bests.get(one.parent ?? "") ?? null;
    const own: number | null = one.speedup && from !== null ? from * one.speedup.value : null;
    bests.set(one.id, own);
    const kept = one.verdict === "kept";
    best = kept ? own : best;
    return { trial: one.number ?? 0, own, best, kept };
  });
}

/** By estimates: the original's time over a candidate's. Nothing of it was measured. */
export function estimatedCurve(view: RunView, record: RunRecord | undefined): readonly Reached[] {
  const texts = new Map((record?.estimates.texts ?? []).map(({ trial, us }) => [trial, us]));
  const of = (one: Candidate | undefined): number | null =>
    one ? (texts.get(one.verdict === "original" ? 0 : (one.number ?? -1)) ?? estimatedUs(one)) : null;
  const first = of(originalOf(view)) ?? texts.get(0) ?? null;
  let best: number | null = first === null ? null : 1;
  return judged(view).map((one) => {
    const us = of(one);
    const own = first !== null && us !== null ? first / us : null;
    const kept = one.verdict === "kept";
    best = kept ? own : best;
    return { trial: one.number ?? 0, own, best, kept };
  });
}

function judged(view: RunView): readonly Candidate[] {
  const done = view.candidates.filter(({ verdict }) => verdict === "kept" || verdict === "refused");
  return [...done].sort((a, b) => (a.number ?? 0) - (b.number ?? 0));
}
