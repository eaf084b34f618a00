import { describe, expect, it } from "vitest";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";
import { confirmed, proposalOf } from "../src/proposal";
import { splice } from "../src/splice";

const edit = {
  range: { start: { line: 3, character: 0 }, end: { line: 4, character: 0 } },
  newText: "acc = tl.dot(a, b, acc)\n",
  annotationId: "evidence",
};

function params(needsConfirmation: boolean, documents = 1): ApplyWorkspaceEditParams {
  const change = { textDocument: { uri: "file:///ws/matmul.py", version: 7 }, edits: [edit] };
  return {
    edit: {
      documentChanges: Array.from({ length: documents }, () => change),
      changeAnnotations: { evidence: { label: "Tilewright for xpu:pvc: correct on interpreter", needsConfirmation } },
    },
  };
}

describe("proposalOf", () => {
  it("takes an edit of one document that wants to be confirmed", () => {
    expect(proposalOf(params(true))).toEqual({
      uri: "file:///ws/matmul.py",
      version: 7,
      edits: [edit],
      evidence: "correct on interpreter",
      target: "xpu:pvc",
    });
  });

  it("says what was done beside what is known, within reason", () => {
    const { edit: given } = params(true);
    const annotation = { label: "Use exp2", needsConfirmation: true, description: "parsed; not run" };
    const evidence = (description: string) =>
      proposalOf({ edit: { ...given, changeAnnotations: { evidence: { ...annotation, description } } } })?.evidence;
    expect(evidence("parsed; not run")).toBe("Use exp2. Parsed; not run");
    expect(evidence("tl.dot is fused; not run")).toBe("Use exp2. tl.dot is fused; not run");
    expect(evidence("x".repeat(1000))).toHaveLength(901);
  });

  it("leaves every other edit to the editor", () => {
    expect(proposalOf(params(false))).toBeUndefined();
    expect(proposalOf(params(true, 2))).toBeUndefined();
    expect(proposalOf({ edit: { changes: {} } })).toBeUndefined();
  });

  it("asks only once", () => {
    const { edit: given } = params(true);
    expect(confirmed(given).changeAnnotations?.["evidence"]?.needsConfirmation).toBe(false);
    expect(confirmed(given).documentChanges).toBe(given.documentChanges);
  });
});

describe("splice", () => {
  it("carries out edits in any order, by the offsets of the old text", () => {
    const splices = [
      { start: 8, end: 13, text: "there" },
      { start: 0, end: 0, text: ">> " },
      { start: 5, end: 5, text: "," },
    ];
    expect(splice("hello   world", splices)).toBe(">> hello,   there");
  });

  it("keeps the order of insertions at one place", () => {
    const at = (text: string) => ({ start: 1, end: 1, text });
    expect(splice("ab", [at("1"), at("2")])).toBe("a12b");
  });

  it("refuses overlaps", () => {
    const overlapping = [
      { start: 0, end: 3, text: "" },
      { start: 2, end: 4, text: "" },
    ];
    expect(() => splice("abcdef", overlapping)).toThrow(RangeError);
    expect(() => splice("a", [{ start: 0, end: 9, text: "" }])).toThrow(RangeError);
  });
});
