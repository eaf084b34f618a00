/** Chips as people pick them. What a target means is the engine's business; here it has a name. */

export interface TargetChoice {
  readonly label: string;
  readonly target: string;
}

/** One chip of each vendor, as the server offers them when no setting says otherwise. */
export const DEFAULT_TARGETS: readonly string[] = ["xpu:bmg-g31", "cuda:90", "hip:gfx942"];

const VENDORS: Readonly<Record<string, string>> = {
  cuda: "NVIDIA",
  hip: "AMD",
  xpu: "Intel XPU",
  neuron: "AWS Trainium",
};

/** The choices for a quick pick, each target once, in the order given. */
export function targetChoices(targets: readonly string[]): readonly TargetChoice[] {
  const named = targets.length > 0 ? targets : DEFAULT_TARGETS;
  return [...new Set(named)].map((target) => {
    const backend = target.split(":", 1)[0] ?? "";
    return { label: VENDORS[backend] ?? backend, target };
  });
}

/** What the server says of a document's chip. */
export interface Told {
  readonly target: string;
  readonly why: string;
  /** Who chose it: "asked" is a person, for this file. */
  readonly origin: string;
  /** The chip where nobody chose one for this file. */
  readonly followed: string;
  /** What is known of the file's kernels on each chip: time, measured or estimated, and share of the roof. */
  readonly figures?: Readonly<Record<string, string>>;
}

/** What stands under a chip before it is chosen. */
export function figuresOf(target: string, told?: Told): string {
  return told?.figures?.[target] ?? "not compiled for it yet, not measured";
}

/** A chip there is; `here` is "gpu", "compiles", "estimates" or "none". */
export interface Chip {
  readonly target: string;
  readonly label: string;
  readonly here: string;
  /** What can be had for it on this machine: "compile", "estimate", "check", "measure". */
  readonly gets?: readonly string[];
  /** What is missing, and what to do about it; empty where nothing is. */
  readonly lacks?: string;
}

/** An entry of the quick pick; one with a heading is only that. */
export interface ChipItem {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly heading?: string;
}

export const FOLLOW = "Follow the file";

const HEADINGS: Readonly<Record<string, string>> = {
  gpu: "GPU of this machine",
  compiles: "compiled for on this machine",
  estimates: "estimated from the text",
  none: "no compiler on this machine",
};

/** The server's answer, if it is one. */
export function toldOf(answer: unknown): Told | undefined {
  const isTold = typeof answer === "object" && answer !== null && "target" in answer && "why" in answer;
  return isTold ? (answer as Told) : undefined;
}

/** The entries of the quick pick: back to the file's own, then every chip under what this machine has for it, the file's vendor first. */
export function chipItems(told: Told, chips: readonly Chip[]): readonly ChipItem[] {
  const follow = told.origin === "asked" ? [{ label: FOLLOW, description: told.followed }] : [];
  const [vendor] = told.followed.split(":", 1);
  const own = chips.filter((chip) => chip.target.startsWith(`${vendor}:`));
  const sorted = [...own, ...chips.filter((chip) => !own.includes(chip))];
  const groups = Object.keys(HEADINGS).map((here) => sorted.filter((chip) => chip.here === here));
  const listed = groups
    .filter((group) => group.length > 0)
    .flatMap((group) => [
      { label: "", heading: HEADINGS[group[0]?.here ?? ""] ?? "" },
      ...group.map((chip) => ({
        label: chip.target,
        description: chip.target === told.target ? `${chip.label} (now)` : chip.label,
        ...(chip.gets ? { detail: gotten(chip) } : {}),
      })),
    ]);
  return [...follow, ...listed];
}

const CAN: Readonly<Record<string, string>> = {
  compile: "compile",
  estimate: "estimate the time",
  check: "check results on the CPU",
  measure: "measure",
};

/** What this machine can do for a chip, and what it lacks. */
export function gotten({ gets = [], lacks = "", here }: Chip): string {
  const can = gets.map((name) => (name === "check" && here === "gpu" ? "check results" : (CAN[name] ?? name)));
  const head = can.length > 0 ? can.join(", ") : "read the text only";
  return `${head[0]?.toUpperCase() ?? ""}${head.slice(1)}${lacks ? ` — ${lacks}` : ""}`;
}

/** The chips to compile for: those named first, then every other that this machine compiles for. */
export function compileItems(named: readonly string[], chips: readonly Chip[]): readonly ChipItem[] {
  const labels = new Map(chips.map(({ target, label }) => [target, label]));
  const others = chips.filter(({ gets }) => gets?.includes("compile")).map(({ target }) => target);
  return [...new Set([...named, ...others])].map((target) => ({ label: target, description: labels.get(target) ?? "" }));
}
