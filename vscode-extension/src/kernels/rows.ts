/** The kernels of a workspace as rows of the Kernels view; pure. */
import { time } from "../runs/figures";

/** A row of the server's answer to `tilewright/kernels`. */
export interface KernelRow {
  readonly path: string;
  readonly kernel: string;
  /** From 1. */
  readonly line: number;
  readonly issues: number;
  readonly worst: { readonly id: string; readonly message: string; readonly line: number; readonly severity: number } | null;
  readonly certificate: "current" | "stale" | "none";
  readonly proof: string;
  readonly time: {
    readonly us: number;
    readonly kind: "measured" | "estimated";
    readonly where: string;
    readonly case: string;
    readonly roof_percent: number | null;
  } | null;
}

/** What a row shows behind the kernel's name. */
export function description(row: KernelRow): string {
  const issue = row.worst ? row.worst.id : "no issue";
  return [timeWords(row), issue, row.certificate === "none" ? "" : certificateWord(row)].filter(Boolean).join(" · ");
}

function timeWords({ time: known }: KernelRow): string {
  if (!known) {
    return "";
  }
  const share = known.roof_percent === null ? "" : `, ${known.roof_percent.toFixed(0)} % of roof`;
  return `${known.kind === "estimated" ? "~" : ""}${time(known.us)}${share}`;
}

function certificateWord({ certificate }: KernelRow): string {
  return certificate === "current" ? "certified" : "STALE";
}

/** The icon of a row: a stale certificate goes before an issue. */
export function icon(row: KernelRow): { readonly id: string; readonly color?: string } {
  if (row.certificate === "stale") {
    return { id: "warning", color: "list.warningForeground" };
  }
  if (row.certificate === "current") {
    return { id: "verified-filled", color: "charts.green" };
  }
  return row.worst && row.worst.severity >= 3 ? { id: "flame", color: "charts.orange" } : { id: "symbol-function" };
}

/** All that is known of a kernel, in sentences. */
export function details(row: KernelRow): string {
  const { time: known, worst } = row;
  const lines = [`**${row.kernel}**, line ${row.line}`];
  if (known) {
    const share = known.roof_percent === null ? "" : `, ${known.roof_percent.toFixed(0)} % of the roofline`;
    const of = known.case ? `, ${known.case}` : "";
    const how = known.kind === "estimated" ? "estimated, not measured" : "measured";
    lines.push(`${time(known.us)} on ${known.where}${of}${share}: ${how}`);
  } else {
    lines.push("Time: not known. Profile the kernel, or open its file for an estimate.");
  }
  if (worst) {
    lines.push(`Worst of ${row.issues} ${row.issues === 1 ? "issue" : "issues"}: \`${worst.id}\`, line ${worst.line}: ${worst.message}`);
  }
  const said = { current: "Certificate", stale: "Certificate is stale", none: "No certificate" }[row.certificate];
  lines.push(`${said}${row.proof ? `: ${row.proof}` : ""}`);
  return lines.join("\n\n");
}

/** Rows by file, the files in order. */
export function byFile(rows: readonly KernelRow[]): readonly (readonly [string, readonly KernelRow[]])[] {
  const files = new Map<string, KernelRow[]>();
  for (const row of rows) {
    files.set(row.path, [...(files.get(row.path) ?? []), row]);
  }
  return [...files].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Rows with those of some files replaced. */
export function replaced(rows: readonly KernelRow[], paths: readonly string[], fresh: readonly KernelRow[]): readonly KernelRow[] {
  return [...rows.filter(({ path }) => !paths.includes(path)), ...fresh];
}

/** A time that became known since a list was made. */
export interface TimeRow {
  readonly path: string;
  readonly kernel: string;
  readonly time: NonNullable<KernelRow["time"]>;
}

/** Rows with newer times; an estimate does not take the place of what was measured. */
export function withTimes(rows: readonly KernelRow[], times: readonly TimeRow[]): readonly KernelRow[] {
  const known = new Map(times.map((one) => [`${one.path}\n${one.kernel}`, one.time]));
  return rows.map((row) => {
    const time = known.get(`${row.path}\n${row.kernel}`);
    const isWorse = row.time?.kind === "measured" && time?.kind === "estimated";
    return time && !isWorse ? { ...row, time } : row;
  });
}
