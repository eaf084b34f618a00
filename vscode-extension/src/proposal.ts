/** What the server proposes, taken out of its workspace edit; pure. */
import type { ApplyWorkspaceEditParams, ChangeAnnotation, TextEdit, WorkspaceEdit } from "vscode-languageclient/node";

/** An edit of one document, whole or not at all: its evidence covers the whole. */
export interface Proposal {
  readonly uri: string;
  /** The version that the edit was made for, or null where the server did not say. */
  readonly version: number | null;
  readonly edits: readonly TextEdit[];
  /** What is known about the result and what was done, in the server's words. */
  readonly evidence: string;
  /** The chip that it is for, where it is for one. */
  readonly target: string | undefined;
}

/** The proposal in an edit that wants to be confirmed; undefined for every other edit. */
export function proposalOf(params: ApplyWorkspaceEditParams): Proposal | undefined {
  const annotations = Object.values(params.edit.changeAnnotations ?? {});
  const asked = annotations.find((annotation) => annotation.needsConfirmation);
  const [change, ...others] = params.edit.documentChanges ?? [];
  if (!asked || !change || others.length > 0 || !("textDocument" in change)) {
    return undefined;
  }
  const edits = change.edits.filter((edit): edit is TextEdit => "newText" in edit);
  if (edits.length !== change.edits.length) {
    return undefined;
  }
  const { uri, version } = change.textDocument;
  return { uri, version, edits, evidence: evidenceOf(asked), target: HEAD.exec(asked.label)?.[1] };
}

const HEAD = /^Tilewright(?: for (\S+))?:\s*/;
const LONGEST = 900;

function evidenceOf({ label, description }: ChangeAnnotation): string {
  // A first word such as tl.dot is code, and stays as it is.
  const done = (description ?? "").replace(/^[a-z](?=[a-z]*([\s;,:]|$))/, (first) => first.toUpperCase());
  const text = [label.replace(HEAD, ""), done].filter(Boolean).join(". ");
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The same edit for somebody who has confirmed it already. */
export function confirmed(edit: WorkspaceEdit): WorkspaceEdit {
  const changeAnnotations = Object.fromEntries(
    Object.entries(edit.changeAnnotations ?? {}).map(([id, annotation]) => [
      id,
      { ...annotation, needsConfirmation: false },
    ]),
  );
  return { ...edit, changeAnnotations };
}
