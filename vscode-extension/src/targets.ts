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
