/**
 * The editor's own language models (`vscode.lm`) behind an OpenAI-compatible endpoint on this machine, so that the engine
 * can use them as it uses any other. It listens on the loopback interface alone, and answers only who has its token, which
 * changes with each start and reaches nobody but the server.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import * as http from "node:http";
import type { AddressInfo } from "node:net";

const MOST_BYTES = 8_000_000;

/** What ends a request to a model; the editor's own has a token and `cancel`. */
export interface Cancelling {
  readonly token: unknown;
  cancel(): void;
  dispose(): void;
}

/** As much of the editor's interface as the bridge uses; an older editor lacks it. */
export interface EditorModel {
  readonly id: string;
  readonly name: string;
  readonly vendor: string;
  readonly family: string;
  sendRequest(messages: readonly unknown[], options: { justification?: string }, token?: unknown): Thenable<{ text: AsyncIterable<string> }>;
  countTokens(text: string): Thenable<number>;
}

export interface EditorModels {
  all(): Thenable<readonly EditorModel[]>;
  /** A message of a person or of a model, as the editor wants it. */
  message(role: string, text: string): unknown;
  cancelling(): Cancelling;
}

interface Message {
  readonly role: string;
  readonly content: string;
}

/** An error that is answered with a status, as OpenAI's endpoint answers it. */
class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export class LmBridge {
  readonly token = randomBytes(24).toString("base64url");
  private server: http.Server | undefined;

  constructor(private readonly models: EditorModels) {}

  /** The endpoint, once it listens. */
  get url(): string | undefined {
    const address = this.server?.address() as AddressInfo | null | undefined;
    return address ? `http://127.0.0.1:${address.port}/v1` : undefined;
  }

  async start(): Promise<string> {
    const server = http.createServer((request, response) => void this.onRequest(request, response));
    this.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    return this.url ?? "";
  }

  dispose(): void {
    this.server?.close();
    this.server?.closeAllConnections();
    this.server = undefined;
  }

  private async onRequest(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const answer = (status: number, value: unknown): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    try {
      this.admit(request);
      answer(200, await this.whileWanted(response, (token) => this.answer(request, token)));
    } catch (error) {
      const status = error instanceof Refused ? error.status : 502;
      answer(status, { error: { message: error instanceof Error ? error.message : String(error), type: "editor_model" } });
    }
  }

  /** Ends the request to the model when whoever asked goes away: a cancelled run pays for no reply. */
  private async whileWanted<T>(response: http.ServerResponse, work: (token: unknown) => Promise<T>): Promise<T> {
    const cancelling = this.models.cancelling();
    const gone = (): void => (response.writableEnded ? undefined : cancelling.cancel());
    response.once("close", gone);
    try {
      return await work(cancelling.token);
    } finally {
      response.off("close", gone);
      cancelling.dispose();
    }
  }

  /** A page in a browser sends an origin or another host's name; neither has any business here. */
  private admit({ headers, url = "" }: http.IncomingMessage): void {
    const { port } = this.server?.address() as AddressInfo;
    if (headers.origin !== undefined || headers.host !== `127.0.0.1:${port}`) {
      throw new Refused(403, "only programs on this machine are answered");
    }
    const given = Buffer.from(headers.authorization ?? "");
    const wanted = Buffer.from(`Bearer ${this.token}`);
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
      throw new Refused(401, "the token is not that of this editor's bridge");
    }
    if (!["/v1/models", "/v1/chat/completions"].includes(url)) {
      throw new Refused(404, `there is no ${url}`);
    }
  }

  private async answer(request: http.IncomingMessage, token: unknown): Promise<unknown> {
    const models = await this.models.all();
    if (request.url === "/v1/models") {
      return { object: "list", data: models.map(({ id, vendor }) => ({ id, object: "model", owned_by: vendor })) };
    }
    const { model: name, messages } = wish(await bodyOf(request));
    const model = models.find(({ id, family }) => id === name || family === name);
    if (!model) {
      const known = models.map(({ id }) => id).join(", ") || "none";
      throw new Refused(404, `the editor has no model ${name}; it has: ${known}`);
    }
    const justification = "Tilewright optimizes a kernel that you chose; every edit is verified before it is shown.";
    const sent = messages.map(({ role, content }) => this.models.message(role, content));
    const { text } = await model.sendRequest(sent, { justification }, token);
    let reply = "";
    for await (const part of text) {
      reply += part;
    }
    return completion(model.id, reply, await this.usage(model, messages, reply));
  }

  private async usage(model: EditorModel, messages: readonly Message[], reply: string): Promise<Record<string, number>> {
    const prompt = await model.countTokens(messages.map(({ content }) => content).join("\n"));
    const completed = await model.countTokens(reply);
    return { prompt_tokens: prompt, completion_tokens: completed, total_tokens: prompt + completed };
  }
}

function completion(model: string, content: string, usage: Record<string, number>): unknown {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  return { id: `editor-${randomBytes(6).toString("hex")}`, object: "chat.completion", model, choices, usage };
}

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MOST_BYTES) {
      throw new Refused(413, `more than ${MOST_BYTES} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function wish(body: string): { model: string; messages: readonly Message[] } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new Refused(400, "the request is not JSON");
  }
  const { model, messages, stream } = (value ?? {}) as Record<string, unknown>;
  const known = Array.isArray(messages) ? (messages as unknown[]).filter(isMessage) : [];
  if (typeof model !== "string" || known.length === 0 || known.length !== (messages as unknown[]).length) {
    throw new Refused(400, "a request needs `model`, and `messages` of text");
  }
  if (stream === true) {
    throw new Refused(400, "replies come whole; leave `stream` out");
  }
  return { model, messages: known };
}

function isMessage(value: unknown): value is Message {
  return typeof value === "object" && value !== null && "role" in value && "content" in value && typeof value.content === "string";
}
