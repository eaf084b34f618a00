/** The charts of a run as drawings of plain values; pure. What was estimated never looks like what was measured. */
import { time } from "./figures";
import { type Candidate, estimatedCurve, measuredCurve, type Reached, type Roof, type RunRecord, type RunView } from "./model";
import { h, type Node } from "./nodes";

const WIDTH = 460;
const HEIGHT = 230;
const LEFT = 54;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 36;

/** Values along one side of a drawing. */
export class Axis {
  constructor(
    readonly low: number,
    readonly high: number,
    private readonly start: number,
    private readonly stop: number,
    private readonly log = false,
  ) {}

  at(value: number): number {
    const scale = (x: number): number => (this.log ? Math.log10(Math.max(x, 1e-30)) : x);
    const [low, high] = [scale(this.low), scale(this.high)];
    const share = high > low ? (scale(value) - low) / (high - low) : 0.5;
    return Math.round((this.start + share * (this.stop - this.start)) * 10) / 10;
  }

  ticks(): readonly number[] {
    if (this.log) {
      const first = Math.ceil(Math.log10(this.low) - 1e-9);
      const last = Math.floor(Math.log10(this.high) + 1e-9);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, step) => 10 ** (first + step));
    }
    const rough = (this.high - this.low) / 4;
    const power = 10 ** Math.floor(Math.log10(rough > 0 ? rough : 1));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough - 1e-9) ?? power;
    const first = Math.ceil(this.low / step - 1e-9);
    const count = Math.floor(this.high / step + 1e-9) - first + 1;
    return Array.from({ length: Math.max(0, count) }, (_, at) => (first + at) * step);
  }
}

/** ``20k``, ``1.5T``. */
export function short(value: number): string {
  for (const [limit, unit] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
    if (Math.abs(value) >= limit) {
      return `${Number((value / limit).toPrecision(3))}${unit}`;
    }
  }
  return `${Number(value.toPrecision(3))}`;
}

/** A chart with what has to be known to read it; without a drawing the note says why. */
export interface Chart {
  readonly title: string;
  readonly drawing: Node | null;
  readonly note: string;
}

/** The best so far over the candidates that were judged. */
export function bestChart(view: RunView, record: RunRecord | undefined): Chart {
  const title = "Best so far";
  const measured = measuredCurve(view);
  const estimated = estimatedCurve(view, record);
  const values = (curve: readonly Reached[]): readonly number[] =>
    curve.flatMap(({ own, best }) => [own, best]).filter((value): value is number => value !== null);
  const isMeasured = measured.some(({ own }) => own !== null);
  const all = [1, ...(isMeasured ? values(measured) : []), ...values(estimated)];
  if (measured.length === 0 || all.length === 1) {
    const why = measured.length === 0 ? "No candidate was judged yet." : "Nothing was timed, and no estimate is known.";
    return { title, drawing: null, note: why };
  }
  const x = new Axis(0, Math.max(1, ...measured.map(({ trial }) => trial)) * 1.04, LEFT, WIDTH - RIGHT);
  const wide = Math.max(...all) / Math.min(...all) > 8;
  const y = wide
    ? new Axis(Math.min(...all) / 1.2, Math.max(...all) * 1.2, HEIGHT - BOTTOM, TOP, true)
    : new Axis(0, Math.max(...all) * 1.15, HEIGHT - BOTTOM, TOP);
  const drawing = svg("Best speed-up over the original so far, by candidate", [
    ...grid(x, y, "candidates", "over the original"),
    h("line", { class: "unit", x1: x.at(x.low), y1: y.at(1), x2: x.at(x.high), y2: y.at(1) }),
    ...curveOf(x, y, estimated, "estimated"),
    ...(isMeasured ? curveOf(x, y, measured, "measured") : []),
  ]);
  return { title, drawing, note: isMeasured ? LEGEND : `Speed not measured. ${LEGEND}` };
}

const LEGEND = "Solid: measured. Dashed and hollow: estimated by the cost model. Crosses were refused.";

function curveOf(x: Axis, y: Axis, curve: readonly Reached[], kind: string): readonly Node[] {
  const corners: string[] = [`${x.at(0)},${y.at(1)}`];
  let before: number | null = 1;
  for (const { trial, best } of curve) {
    if (best === null || before === null) {
      break; // from here on the best is not known
    }
    corners.push(`${x.at(trial)},${y.at(before)}`, `${x.at(trial)},${y.at(best)}`);
    before = best;
  }
  const marks = curve.flatMap(({ trial, own, kept }) =>
    own === null ? [] : [mark(x.at(trial), y.at(own), `candidate ${trial}: ${own.toFixed(2)}x, ${kind}`, kind, kept)],
  );
  const hasLine = curve.some(({ best, kept }) => kept && best !== null);
  return [...(hasLine ? [h("polyline", { class: `best ${kind}`, points: corners.join(" ") })] : []), ...marks];
}

interface RoofPoint {
  readonly label: string;
  readonly intensity: number;
  readonly rate: number;
  readonly us: number;
  readonly kind: "measured" | "estimated";
  readonly kept: boolean;
}

/** Every text that has a time below the chip's roof; where nothing multiplies, its share of the roof as a bar. */
export function roofChart(view: RunView, record: RunRecord | undefined): Chart {
  const title = "Roofline";
  if (!record) {
    return { title, drawing: null, note: "The record of the run is read when it ends." };
  }
  const points = [...measuredPoints(view, record.roof), ...estimatedPoints(view, record)];
  const roof = "missing" in record.roof ? record.estimates : record.roof;
  const { peak_flop, peak_bytes } = roof;
  if (points.length > 0 && peak_flop && peak_bytes) {
    return { title, drawing: roofDrawing(points, peak_flop, peak_bytes, roof.chip ?? ""), note: roofNote(record) };
  }
  const shares = (record.estimates.texts ?? []).filter(({ roof_percent }) => roof_percent !== null);
  if (shares.length > 0) {
    return { title: "Share of the roofline", drawing: shareDrawing(view, record), note: roofNote(record) };
  }
  return { title, drawing: null, note: `No roofline: ${record.roof.missing ?? ""}; ${record.estimates.missing ?? "no share is known"}.` };
}

function roofNote({ roof, estimates }: RunRecord): string {
  const measured = "missing" in roof ? `Measured: none (${roof.missing}).` : `Measured: ${roof.case}.`;
  const estimated = "missing" in estimates ? `Estimated: none (${estimates.missing}).` : "Hollow: estimated by the cost model.";
  const left = estimates.left_out ? ` ${estimates.left_out} trials are not estimated.` : "";
  return `${measured} ${estimated}${left} Peaks are those of the data sheet of ${roof.chip ?? estimates.chip ?? "the chip"}.`;
}

function measuredPoints(view: RunView, roof: Roof): readonly RoofPoint[] {
  const { flop, bytes } = roof;
  if (!flop || !bytes) {
    return [];
  }
  const point = (label: string, us: number, kept: boolean): RoofPoint => ({
    label, us, kept, intensity: flop / bytes, rate: (flop / us) * 1e6, kind: "measured",
  });
  const timed = view.candidates.filter((one) => one.speedup);
  const first = timed[0]?.speedup ? [point("original", timed[0].speedup.original_us, true)] : [];
  return [...first, ...timed.map((one) => point(name(one), one.speedup?.candidate_us ?? 0, one.verdict === "kept"))];
}

function estimatedPoints(view: RunView, { estimates }: RunRecord): readonly RoofPoint[] {
  return (estimates.texts ?? []).flatMap(({ trial, us, flop, bytes }) =>
    flop && bytes
      ? [{ label: labelOf(trial), us, intensity: flop / bytes, rate: (flop / us) * 1e6, kind: "estimated" as const, kept: isKept(view, trial) }]
      : [],
  );
}

const labelOf = (trial: number): string => (trial === 0 ? "original" : `${trial}`);
const isKept = (view: RunView, trial: number): boolean =>
  trial === 0 || view.candidates.some(({ number, verdict }) => number === trial && verdict === "kept");
const name = (one: Candidate): string => (one.number === null ? one.id.slice(0, 7) : `${one.number}`);

function roofDrawing(points: readonly RoofPoint[], peakFlop: number, peakBytes: number, chip: string): Node {
  const ridge = peakFlop / peakBytes;
  const xs = [ridge, ...points.map(({ intensity }) => intensity)];
  const x = new Axis(Math.min(...xs) / 6, Math.max(...xs) * 6, LEFT, WIDTH - RIGHT, true);
  const lowest = Math.min(peakFlop, ...points.map(({ rate }) => rate));
  const y = new Axis(lowest / 3, peakFlop * 2, HEIGHT - BOTTOM, TOP, true);
  const begin = Math.max(x.low, y.low / peakBytes);
  const roof = [[begin, begin * peakBytes], [ridge, peakFlop], [x.high, peakFlop]];
  return svg(`Roofline of ${chip}`, [
    ...grid(x, y, "operations a byte", "operations a second"),
    h("polyline", { class: "roof", points: roof.map(([a = 0, b = 0]) => `${x.at(a)},${y.at(b)}`).join(" ") }),
    ...points.flatMap((point, at) => [
      mark(x.at(point.intensity), y.at(point.rate), `${point.label}: ${time(point.us)}, ${point.kind}`, point.kind, point.kept),
      h("text", { class: "mark", x: x.at(point.intensity) + 8 + (at % 2) * 44, y: y.at(point.rate) + 4 }, point.label),
    ]),
  ]);
}

function shareDrawing(view: RunView, { estimates }: RunRecord): Node {
  const texts = (estimates.texts ?? []).slice(0, 12);
  const step = (HEIGHT - TOP - BOTTOM) / Math.max(1, texts.length);
  const x = new Axis(0, 100, LEFT + 20, WIDTH - RIGHT);
  const bars = texts.flatMap(({ trial, us, roof_percent }, at) => [
    h("rect", {
      class: `share estimated ${isKept(view, trial) ? "kept" : "refused"}`,
      x: x.at(0), y: TOP + at * step + step * 0.15, width: x.at(roof_percent ?? 0) - x.at(0), height: step * 0.7,
    }),
    h("text", { class: "tick end", x: x.at(0) - 6, y: TOP + (at + 0.5) * step + 4 }, labelOf(trial)),
    h("text", { class: "mark", x: x.at(roof_percent ?? 0) + 5, y: TOP + (at + 0.5) * step + 4 }, `${(roof_percent ?? 0).toFixed(0)} %, ${time(us)}`),
  ]);
  return svg("Share of the roofline by estimate", [...bars]);
}

function* grid(x: Axis, y: Axis, across: string, up: string): Generator<Node> {
  for (const value of y.ticks()) {
    yield h("line", { class: "grid", x1: x.at(x.low), y1: y.at(value), x2: x.at(x.high), y2: y.at(value) });
    yield h("text", { class: "tick end", x: LEFT - 6, y: y.at(value) + 4 }, short(value));
  }
  for (const value of x.ticks()) {
    yield h("text", { class: "tick middle", x: x.at(value), y: HEIGHT - BOTTOM + 15 }, short(value));
  }
  yield h("text", { class: "axis middle", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 5 }, across);
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  yield h("text", { class: "axis middle", x: 12, y: middle, transform: `rotate(-90 12 ${middle})` }, up);
}

function mark(x: number, y: number, label: string, kind: string, kept: boolean): Node {
  const title = h("title", {}, label);
  return kept
    ? h("circle", { class: `point ${kind}`, cx: x, cy: y, r: 4.5 }, title)
    : h("path", { class: `point refused ${kind}`, d: `M${x - 4},${y - 4}l8,8m0,-8l-8,8` }, title);
}

function svg(about: string, body: readonly Node[]): Node {
  return h("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": about }, ...body);
}
