/**
 * Quick fixes whose edit wants to be confirmed: they are shown in the same preview as an optimization, instead of the
 * editor's own, where single hunks can be left out.
 */
import * as vscode from "vscode";
import { CodeActionResolveRequest, type LanguageClient } from "vscode-languageclient/node";
import type { Previews } from "./preview";
import { proposalOf } from "./proposal";

/** Not in the palette: it is made for one edit. */
export const PREVIEW_FIX = "tilewright.previewFix";

/** Asks the server for an action's edit; one that wants to be confirmed becomes a command that shows it. */
export async function resolveFix(
  client: LanguageClient,
  item: vscode.CodeAction,
  token: vscode.CancellationToken,
): Promise<vscode.CodeAction | undefined> {
  const request = await client.code2ProtocolConverter.asCodeAction(item, token);
  const answer = await client.sendRequest(CodeActionResolveRequest.type, request, token);
  const { edit, ...rest } = answer;
  if (!edit || !proposalOf({ edit })) {
    return client.protocol2CodeConverter.asCodeAction(answer, token);
  }
  const action = await client.protocol2CodeConverter.asCodeAction(rest, token);
  action.command = { title: item.title, command: PREVIEW_FIX, arguments: [edit] };
  return action;
}

/** Shows a fix's edit and applies it if it is confirmed. */
export async function previewFix(client: LanguageClient, previews: Previews, edit: unknown): Promise<void> {
  const params = { edit: edit as Parameters<typeof proposalOf>[0]["edit"] };
  await previews.handle(params, async (accepted) => {
    const converted = await client.protocol2CodeConverter.asWorkspaceEdit(accepted.edit);
    return { applied: await vscode.workspace.applyEdit(converted) };
  });
}
