/** Applying text edits to a text, by offsets. */

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text with every splice carried out; all offsets are those of the text as given. Throws on overlaps. */
export function splice(text: string, splices: readonly Splice[]): string {
  const ordered = splices
    .map((one, index) => ({ ...one, index }))
    .sort((a, b) => a.start - b.start || a.end - b.end || a.index - b.index);
  let result = "";
  let reached = 0;
  for (const one of ordered) {
    if (one.start < reached || one.end < one.start || one.end > text.length) {
      throw new RangeError(`edits overlap or leave the text at offset ${one.start}`);
    }
    result += text.slice(reached, one.start) + one.text;
    reached = one.end;
  }
  return result + text.slice(reached);
}

/** The first line in which two texts differ, counted from 0; of equal texts, 0. */
export function firstChange(before: string, after: string): number {
  const [old, now] = [before.split(/\r\n?|\n/), after.split(/\r\n?|\n/)];
  return Math.max(0, now.findIndex((line, number) => line !== old[number]));
}
