/**
 * In which Python kernels are compiled and run: the one that a setting names, else the first of those around that has
 * torch and triton. Pure but for what the machine is asked.
 */
import * as path from "node:path";
import type { Machine } from "./discovery";

/** A Python that somebody may mean, and how it was found, for people. */
export interface Candidate {
  readonly python: string;
  readonly origin: string;
}

/** What a Python has for kernels. */
export interface Packages {
  readonly torch: string | undefined;
  readonly triton: string | undefined;
}

export type KernelPython =
  | { readonly kind: "found"; readonly python: string; readonly origin: string; readonly packages: Packages }
  /** None of them has both; `looked` says which were asked and what they lack. */
  | { readonly kind: "missing"; readonly looked: readonly string[] };

// Looks for the packages without importing them: torch takes seconds to load.
const ASK = [
  "import importlib.metadata as m",
  "def version(name):",
  "    try: return m.version(name)",
  "    except m.PackageNotFoundError: return ''",
  "print('torch ' + version('torch'))",
  "print('triton ' + (version('triton') or version('pytorch-triton-xpu') or version('triton-xpu')))",
].join("\n");

/** The packages of a Python; undefined for what does not answer as one. */
export async function packagesOf(python: string, machine: Machine): Promise<Packages | undefined> {
  if (!(await machine.exists(python))) {
    return undefined;
  }
  const { code, stdout } = await machine.run(python, ["-c", ASK]);
  const version = (name: string): string | undefined => new RegExp(`^${name} (\\S+)$`, "m").exec(stdout)?.[1];
  return code === 0 ? { torch: version("torch"), triton: version("triton") } : undefined;
}

/** The first candidate with both packages. Each Python is asked once, in the order given. */
export async function findKernelPython(candidates: readonly Candidate[], machine: Machine): Promise<KernelPython> {
  const looked: string[] = [];
  const asked = new Set<string>();
  for (const { python, origin } of candidates) {
    if (asked.has(python)) {
      continue;
    }
    asked.add(python);
    const packages = await packagesOf(python, machine);
    if (packages?.torch && packages.triton) {
      return { kind: "found", python, origin, packages };
    }
    looked.push(`${origin}, ${python}: ${packages ? lackOf(packages) : "no Python that answers"}`);
  }
  return { kind: "missing", looked };
}

/** What a Python lacks, in words; empty where it has both. */
export function lackOf({ torch, triton }: Packages): string {
  const lacks = [torch ? "" : "torch", triton ? "" : "triton"].filter(Boolean);
  return lacks.length > 0 ? `no ${lacks.join(" and no ")}` : "";
}

/** The environment with torch and triton that the extension makes. */
export function kernelEnvironment(storage: string): string {
  return path.join(storage, "kernels");
}
