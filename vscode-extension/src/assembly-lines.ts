/** Which lines of a kernel's source became which lines of a stage's text, both ways; pure. */

/** The server's answer to `tilewright/assembly`. Lines count from 0. */
export interface Assembly {
  readonly kernel: string;
  readonly target: string;
  readonly stage: string;
  readonly stages: readonly string[];
  /** Null where the stage has no text; `missing` says why. */
  readonly text: string | null;
  readonly missing: string;
  /** The constexprs and options it was compiled with. */
  readonly configuration: string;
  /** How its launch is known, in the server's words. */
  readonly origin: string;
  readonly notes: readonly string[];
  /** The document's version that was compiled. */
  readonly version: number | null;
  /** The beginning of the kernel's content hash. */
  readonly hash: string;
  /** The kernel's lines in that version. */
  readonly range: { readonly start: number; readonly end: number };
  readonly lines: readonly { readonly source: number; readonly text: readonly number[] }[];
}

/** Lines of a text, one after the other. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** Lines that the view puts before a stage's text. */
export const HEADER_LINES = 3;

/** The document that is shown: what it is of, whether the source has changed since, and the text. */
export function shownText(assembly: Assembly, file: string, stale: boolean): string {
  const what = `${assembly.stage} of ${assembly.kernel} (${file}, text ${assembly.hash}) for ${assembly.target}`;
  const how = [assembly.configuration, assembly.origin].filter(Boolean).join("; ");
  const state = stale
    ? "# STALE: the kernel has changed since. Save it, or run Refresh Assembly, to compile it as it is now."
    : "# up to date with the source";
  return [`# ${what}`, `# ${how}`, state, assembly.text ?? ""].join("\n");
}

/** The name of a view's tab: which kernel, which version of its text, which chip, which stage. */
export function titleOf(assembly: Assembly): string {
  return `${assembly.kernel}@${assembly.hash} ${assembly.target} ${assembly.stage}`;
}

/** The kernel's own text in a document's, by which it is found again after edits elsewhere. */
export function kernelText(document: string, range: Span): string {
  return document
    .split("\n")
    .slice(range.first, range.last + 1)
    .join("\n");
}

/** The line at which a kernel's text begins in a document now; undefined if it is not there as it was. */
export function kernelStart(document: string, kernel: string): number | undefined {
  const found = `\n${document}\n`.indexOf(`\n${kernel}\n`);
  return found < 0 ? undefined : document.slice(0, found).split("\n").length - 1;
}

/** Lines of the view that came from lines of the source, as few spans as possible. */
export function toView(assembly: Assembly, lines: Span, moved: number): readonly Span[] {
  const wanted = assembly.lines.filter(({ source }) => source + moved >= lines.first && source + moved <= lines.last);
  return spans(wanted.flatMap(({ text }) => text.map((line) => line + HEADER_LINES)));
}

/** Lines of the source that lines of the view came from. */
export function toSource(assembly: Assembly, lines: Span, moved: number): readonly Span[] {
  const inside = (line: number): boolean => line + HEADER_LINES >= lines.first && line + HEADER_LINES <= lines.last;
  return spans(assembly.lines.filter(({ text }) => text.some(inside)).map(({ source }) => source + moved));
}

function spans(lines: readonly number[]): readonly Span[] {
  const found: { first: number; last: number }[] = [];
  for (const line of [...new Set(lines)].sort((a, b) => a - b)) {
    const open = found[found.length - 1];
    if (open && open.last + 1 === line) {
      open.last = line;
    } else {
      found.push({ first: line, last: line });
    }
  }
  return found;
}

/** A place in a stage's text that names a line of the source; `line` counts from 0, `source` from 1. */
export interface SourceLink {
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly source: number;
}

// nvdisasm's `File "…/k.py", line 12`, the `k.py:12:8` of LLVM's comments, and PTX's and LLVM's `.loc 1 12 8`.
const NAMED = [/File "([^"]+)", line (\d+)/g, /([\w./-]+\.py):(\d+)(?::\d+)?/g];
const LOCATED = /^\s*\.loc\s+(\d+)\s+(\d+)/;
const FILE = /^\s*\.file\s+(\d+)\s+(.*)$/;

/** The places that name lines of a file, which stages do by its name, or by a number that a directive gave it. */
export function sourceLinks(text: string, file: string): readonly SourceLink[] {
  const lines = text.split("\n");
  const numbers = new Set(
    lines.flatMap((line) => {
      const named = FILE.exec(line);
      return named?.[2]?.includes(file) ? [named[1]] : [];
    }),
  );
  return lines.flatMap((words, line) => {
    const located = LOCATED.exec(words);
    const isOurs = located && numbers.has(located[1]);
    const own = isOurs ? [{ line, start: words.indexOf(".loc"), end: located[0].length, source: Number(located[2]) }] : [];
    const named = NAMED.flatMap((pattern) => [...words.matchAll(pattern)])
      .filter((match) => match[1]?.split("/").at(-1) === file)
      .map((match) => ({ line, start: match.index, end: match.index + match[0].length, source: Number(match[2]) }));
    return [...own, ...named].filter(({ source }) => source > 0);
  });
}
