/** The language client: which documents, which settings, and what happens between the server and the editor. */
import * as vscode from "vscode";
import {
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  ResponseError,
  RevealOutputChannelOn,
  type ServerOptions,
  WorkDoneProgressCancelNotification,
} from "vscode-languageclient/node";
import type { FoundServer } from "./discovery";
import { resolveFix } from "./fixes";
import { askConsent, CONSENT } from "./models";
import { pickTarget } from "./picks";
import type { Previews } from "./preview";
import { JobProgress } from "./progress";
import type { Runs } from "./runs/store";
import { SECTION } from "./settings";
import { type Told, toldOf } from "./targets";

/** A client with its progress display, which has to be ended with it. */
export interface Connection {
  readonly client: LanguageClient;
  readonly progress: JobProgress;
}

/**
 * Makes a client that is not started yet. `cwd` is where the server runs: never a folder of the workspace. `keys` are
 * variables of the server's environment.
 */
export function connect(
  server: FoundServer,
  cwd: string,
  keys: Readonly<Record<string, string>>,
  log: vscode.LogOutputChannel,
  previews: Previews,
  runs: Runs,
  settings: (section: unknown) => Record<string, unknown>,
  lensesShown: () => void,
): Connection {
  const progress = new JobProgress((token) => {
    void client.sendNotification(WorkDoneProgressCancelNotification.type, { token });
  });
  const env = { ...process.env, ...keys };
  const executable = { command: server.command, args: [...server.args], options: { cwd, env } };
  const serverOptions: ServerOptions = { run: executable, debug: executable };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "untitled", language: "python" },
      { notebook: "*", language: "python" },
    ],
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: () => settings(vscode.workspace.getConfiguration(SECTION)),
    middleware: {
      ...middleware(progress, previews, settings, (uri, label) => whyNot(client, uri, label)),
      resolveCodeAction: (item, token) => resolveFix(client, item, token),
      provideCodeLenses: (document, token, next) => {
        lensesShown();
        return next(document, token);
      },
    },
  };
  const client: LanguageClient = new LanguageClient(SECTION, "Tilewright", serverOptions, options);
  client.onRequest(CONSENT, askConsent);
  runs.listen(client);
  return { client, progress };
}

function middleware(
  progress: JobProgress,
  previews: Previews,
  settings: (section: unknown) => Record<string, unknown>,
  whyNot: (uri: string, label: string) => Promise<string | undefined>,
): Middleware {
  return {
    handleWorkDoneProgress: (token, params, next) => progress.handle(token, params, () => next(token, params)),
    window: {
      // A page of Tilewright's is to be read, not edited.
      showDocument: async (params, token, next) => {
        if (!params.uri.endsWith(".md")) {
          return next(params, token);
        }
        await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.parse(params.uri, true));
        return { success: true };
      },
    },
    workspace: {
      // Only that something changed: the server asks for the values, and the answer below says whom to trust.
      didChangeConfiguration: (_sections, next) => next(undefined),
      handleApplyEdit: (params, next) =>
        previews.handle(params, async (edit) => {
          const answer = await next(edit, new vscode.CancellationTokenSource().token);
          if (answer instanceof ResponseError) {
            throw answer;
          }
          return answer;
        }, true, whyNot),
      configuration: async (params, token, next) => {
        const values = await next(params, token);
        return Array.isArray(values)
          ? values.map((value, index) =>
              params.items[index]?.section === SECTION ? settings(value) : value,
            )
          : values;
      },
    },
    executeCommand: async (command, args, next) => {
      if (command === "tilewright.optimize") {
        const completed = await withTarget(args[0], async (uri) =>
          toldOf(await next("tilewright.target", [{ uri }])),
        );
        return completed ? next(command, [completed]) : undefined;
      }
      return next(command, args);
    },
  };
}

/** Why an edit that is about to be applied no longer fits, as the server says. */
async function whyNot(client: LanguageClient, uri: string, label: string): Promise<string | undefined> {
  const answer: unknown = await client.sendRequest("tilewright/fits", { uri, label });
  const reason = (answer as { reason?: unknown } | null)?.reason;
  return typeof reason === "string" ? reason : undefined;
}

/** A code lens offers to optimize without saying for what: ask. */
async function withTarget(argument: unknown, ask: (uri: string) => Promise<Told | undefined>): Promise<unknown> {
  if (typeof argument !== "object" || argument === null || !("uri" in argument)) {
    return argument;
  }
  if ("target" in argument && argument.target) {
    return argument;
  }
  const uri = String(argument.uri);
  const target = await pickTarget(vscode.Uri.parse(uri), await ask(uri));
  return target ? { ...argument, target } : undefined;
}

/** Asks the server to carry out one of its commands. */
export function execute(client: LanguageClient, command: string, ...args: unknown[]): Promise<unknown> {
  return client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args });
}
