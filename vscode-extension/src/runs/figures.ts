/** Figures in words and tables; pure. What is not known is said to be so. */
import { type Candidate, type KernelFigures, type Range, type RunHead, usual } from "./model";

export const NOT_MEASURED = "not measured";

/** ``251.5 us``, ``1.4 ms``. */
export function time(us: number): string {
  const [value, unit] = us >= 1e6 ? [us / 1e6, "s"] : us >= 1e3 ? [us / 1e3, "ms"] : [us, "us"];
  return `${Number(value.toPrecision(4))} ${unit}`;
}

/** ``12 s``, ``3 min 05 s``. */
export function seconds(value: number): string {
  const whole = Math.round(value);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** ``128``, or ``115 to 210`` over several configurations. */
export function span(range: Range | null, unit = ""): string {
  if (range === null) {
    return "not known";
  }
  const [low, high] = range;
  return `${low === high ? low : `${low} to ${high}`}${unit}`;
}

/** One row of the table of figures: what it is, before, after. */
export interface Row {
  readonly kernel: string;
  readonly what: string;
  readonly before: string;
  readonly after: string;
  readonly changed: boolean;
}

const FIGURES: readonly (readonly [string, (figures: KernelFigures) => string])[] = [
  ["registers a thread", ({ registers }) => span(registers)],
  ["spilled a thread", ({ spill_bytes }) => span(spill_bytes, " B")],
  ["shared memory", ({ shared_bytes }) => span(shared_bytes, " B")],
  ["estimate, not measured", ({ estimate_us }) => estimated(estimate_us)],
  ["configurations that compile", ({ compiled, configurations }) => `${compiled} of ${configurations}`],
];

function estimated(estimate: readonly number[] | null): string {
  const us = usual(estimate);
  return us === null ? "no estimate" : time(us);
}

/** What compilers and the cost model say of two texts, kernel by kernel. */
export function comparison(before: Candidate | undefined, after: Candidate): readonly Row[] {
  const names = [...new Set([...(before?.figures ?? []), ...after.figures].map(({ kernel }) => kernel))];
  return names.flatMap((kernel) => {
    const one = before?.figures.find((figures) => figures.kernel === kernel);
    const other = after.figures.find((figures) => figures.kernel === kernel);
    return FIGURES.map(([what, say]) => {
      const [left, right] = [one ? say(one) : "no such kernel", other ? say(other) : "no such kernel"];
      return { kernel, what, before: left, after: right, changed: left !== right };
    });
  });
}

/** ``1.94x [1.93, 1.94] on NVIDIA H200, bench-gpu[0]: 251.5 us to 130.4 us``; else what there is in its place. */
export function gain({ speedup, estimate }: Candidate): string {
  if (speedup) {
    const { value, low, high, device, case: name, original_us, candidate_us } = speedup;
    const ratio = `${value.toFixed(2)}x [${low.toFixed(2)}, ${high.toFixed(2)}]`;
    return `${ratio} on ${device}, ${name}: ${time(original_us)} to ${time(candidate_us)}`;
  }
  return estimate ? `estimated ${estimate.words}; ${NOT_MEASURED}` : NOT_MEASURED;
}

/** Where a run is, its count, best, time and cost, in short phrases. */
export function headline(head: RunHead): readonly string[] {
  const count = `${head.judged}${head.budget === null ? "" : ` of at most ${head.budget}`} candidates judged, ${head.kept} kept`;
  const best = head.best === null || head.kept === 0 ? `speed ${NOT_MEASURED}` : `best so far ${head.best.toFixed(2)}x, measured`;
  const left = head.left_s === null ? "" : `about ${seconds(head.left_s)} left (estimate)`;
  const queue = head.position ? `${head.position} before it in the queue` : "";
  return [
    [head.state, head.stage && `stage ${head.stage}`, queue].filter(Boolean).join(", "),
    head.message,
    count,
    best,
    [seconds(head.elapsed_s), left].filter(Boolean).join(", "),
    costOf(head.cost),
  ].filter((part) => part !== "");
}

function costOf(cost: RunHead["cost"]): string {
  if (cost === null || Object.keys(cost).length === 0) {
    return "no model was asked";
  }
  const number = (name: string): number | undefined =>
    typeof cost[name] === "number" ? (cost[name] as number) : undefined;
  const calls = number("calls");
  const dollars = number("dollars");
  const tokens = (number("tokens_in") ?? 0) + (number("tokens_out") ?? 0);
  return [
    calls === undefined ? "" : `${calls} model calls`,
    tokens ? `${tokens.toLocaleString("en")} tokens` : "",
    dollars === undefined ? "price not known" : `$${dollars.toFixed(4)}`,
  ]
    .filter(Boolean)
    .join(", ");
}
