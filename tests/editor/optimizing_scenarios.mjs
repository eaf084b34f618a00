// What a person runs: optimizations, with models or without, cancelled or taken up again, and profiles.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { until } from "./driver.mjs";
import {
  config,
  SQUIGGLE,
  LENS,
  TOAST,
  OPTIMIZE_MS,
  source,
  savedAfter,
  place,
  hoverAt,
  button,
  dismissNotifications,
  engines,
  servers,
  optimizeFromLens,
  startFromLens,
  withSettings,
} from "./steps.mjs";

/** An NKI kernel is optimized for a NeuronCore: simulated, its time estimated, and nothing said to be measured. */
export async function trainium(editor) {
  const file = "nki/nki1/softmax_slow.py";
  await editor.open(file);
  const before = await source(file);
  await editor.goTo(...(await place(file, "softmax(x)")));
  await editor.waitText(LENS, /trn2: .*estimated, not measured/);
  await editor.lightBulb();
  const chosen = await editor.choose(/Optimize for AWS Trainium \(neuron:trn2\)/);
  await button(editor, "Apply").waitFor({ timeout: OPTIMIZE_MS });
  const evidence = await editor.waitText(TOAST, /softmax_slow\.py:/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-delete, .monaco-diff-editor .line-insert");
  await editor.screenshot("9-trainium-preview");
  await button(editor, "Apply").click();
  await editor.page.waitForSelector(".monaco-diff-editor", { state: "detached" });
  await editor.page.waitForSelector('.tab.active.dirty[data-resource-name="softmax_slow.py"]');
  await editor.press("Control+S");
  const after = await savedAfter(file, before);
  await dismissNotifications(editor);
  await editor.goTo(1);
  const verified = await editor.waitText(LENS, /verified: correct/);
  await editor.screenshot("9-trainium-certificate");
  await editor.page.locator(`${LENS} a`, { hasText: "verified: correct" }).first().click();
  await editor.waitText(".tab.active", /Preview certificate-softmax_slow/);
  const frame = editor.page.frameLocator("iframe.webview.ready").frameLocator("iframe");
  await frame.locator("h1", { hasText: "Certificate of" }).waitFor();
  const page = await frame.locator("body").innerText();
  await editor.screenshot("9-trainium-page");
  // Keys go to the page, which has the focus.
  await editor.page.locator(".tab.active .tab-actions .action-label").click();
  await editor.focusEditor();
  return { chosen, evidence, before, after, verified, page };
}

/** The light bulb offers each vendor; Intel's is run with progress, previewed whole, and applied with a certificate. */
export async function optimize(editor) {
  await editor.open("scaled_product.py");
  const before = await source("scaled_product.py");
  // What is marked stands above the line that is gone to.
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.goTo(...(await place("scaled_product.py", "torch.xpu.synchronize")));
  const offered = await editor.lightBulb();
  await editor.screenshot("2-light-bulb");
  const chosen = await editor.choose(/Optimize for Intel XPU/);
  const progress = await editor.waitText(TOAST, /Optimizing for Intel XPU .*(stage|trial)/i);
  await button(editor, "Cancel").waitFor();
  await editor.screenshot("2-progress");
  await editor.press("Control+End");
  await editor.page.keyboard.type("# typed meanwhile");
  await button(editor, "Apply").waitFor({ timeout: OPTIMIZE_MS });
  const evidence = await editor.waitText(TOAST, /scaled_product\.py:/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-delete, .monaco-diff-editor .line-insert");
  const tab = (await editor.texts(".tab.active")).join(" ");
  await editor.screenshot("2-preview");
  await button(editor, "Apply").click();
  await editor.page.waitForSelector(".monaco-diff-editor", { state: "detached" });
  const told = await editor.waitText(TOAST, /applied/);
  await editor.page.waitForSelector('.tab.active.dirty[data-resource-name="scaled_product.py"]');
  await editor.screenshot("2-applied");
  await editor.press("Control+S");
  const after = await savedAfter("scaled_product.py", before);
  await dismissNotifications(editor);
  await editor.goTo(1);
  const verified = await editor.waitText(LENS, /verified: correct/);
  await editor.screenshot("2-certificate");
  const [line] = await place("scaled_product.py", "tl.program_id(0)");
  await editor.goTo(line);
  await editor.press("End");
  await editor.page.keyboard.type(" + 0");
  await editor.goTo(1);
  const stale = await editor.waitText(LENS, /certificate stale/);
  await editor.screenshot("2-certificate-stale");
  await editor.command("File: Revert File");
  await editor.waitText(LENS, /verified: correct/);
  return { offered, chosen, progress, evidence, tab, told, before, after, verified, stale, line };
}

/**
 * The example's matmul is optimized for Intel from its code lens, against the clock: seconds to the first word of progress
 * that names a stage, to the end, and the longest time in which what is shown did not change.
 */
export async function intelClock(editor) {
  await editor.open("matmul.py");
  await editor.goTo(1);
  await editor.waitText(LENS, /Optimize…/);
  await editor.page.locator(`${LENS} a`, { hasText: "Optimize…" }).first().click();
  await editor.page.waitForSelector(".quick-input-list .monaco-list-row");
  const offered = await editor.texts(".quick-input-list .monaco-list-row");
  await editor.screenshot("14-targets");
  await editor.page.keyboard.type("Intel");
  const began = Date.now();
  await editor.press("Enter");
  const shown = await progressUntil(editor, began, async () => {
    const said = (await editor.texts(TOAST)).join(" ");
    return /matmul\.py:/.test(said) || (/Tilewright: /.test(said) && !/Optimizing/.test(said));
  });
  const evidence = (await editor.texts(TOAST)).join(" ");
  await editor.screenshot("14-preview");
  await dismissNotifications(editor);
  await editor.command("View: Close All Editors");
  return { offered, evidence, ...shown };
}

/** What notifications say until something is so: each new text with its second. */
async function progressUntil(editor, began, isDone) {
  const seconds = () => (Date.now() - began) / 1000;
  const words = [];
  let last = 0;
  let silence = 0;
  while (!(await isDone())) {
    if (seconds() * 1000 > OPTIMIZE_MS) {
      throw new Error(`no end in sight: ${JSON.stringify(words)}`);
    }
    const said = (await editor.texts(TOAST)).join(" ");
    if (said && said !== words.at(-1)?.said) {
      silence = Math.max(silence, seconds() - last);
      last = seconds();
      words.push({ at: last, said });
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const first = words.find(({ said }) => /Optimizing/.test(said))?.at;
  return { firstWord: first, longestSilence: Math.max(silence, seconds() - last), wall: seconds(), words };
}

/**
 * With a model in the settings and a key in the editor's storage, the user is asked first; the proposed edit, its progress
 * and its certificate name the model.
 */
export async function models(editor) {
  const { url: baseUrl, key, name: model } = config.models;
  const named = { names: [model], baseUrl, ask: "always", maxCalls: 20, maxDollars: null };
  const values = Object.entries(named).map(([name, value]) => [`tilewright.models.${name}`, value]);
  const settings = { ...Object.fromEntries(values), "tilewright.trace.server": "verbose" };
  return withSettings(editor, settings, async () => {
    await editor.command("Tilewright: Set Model Key");
    await editor.page.waitForSelector('.quick-input-widget input[type="password"]');
    const prompt = (await editor.texts(".quick-input-widget")).join(" ");
    await editor.page.keyboard.type(key);
    await editor.screenshot("10-key");
    await editor.press("Enter");
    await editor.page.waitForSelector(".quick-input-widget", { state: "hidden" });
    const before = await source("gate.py");
    await optimizeFromLens(editor, "gate.py");
    const declined = await consent(editor, "Cancel");
    await editor.waitText(TOAST, /nothing was sent to a model/);
    await dismissNotifications(editor);
    await optimizeFromLens(editor, "gate.py");
    const question = await consent(editor, "Use models");
    const progress = await editor.waitText(TOAST, /Optimizing for NVIDIA .*try 2.* calls/);
    await editor.screenshot("10-progress");
    await button(editor, "Apply").waitFor({ timeout: OPTIMIZE_MS });
    const evidence = await editor.waitText(TOAST, /gate\.py:/);
    await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
    await editor.screenshot("10-preview");
    await button(editor, "Apply").click();
    const told = await editor.waitText(TOAST, /applied/);
    await editor.page.waitForSelector('.tab.active.dirty[data-resource-name="gate.py"]');
    await editor.press("Control+S");
    const after = await savedAfter("gate.py", before);
    await dismissNotifications(editor);
    const hover = await hoverAt(editor, await place("gate.py", "gate_kernel("), /changed:/);
    await editor.screenshot("10-certificate");
    await editor.page.keyboard.press("Escape");
    return { model, key, prompt, declined, question, progress, evidence, told, hover, before, after, leaks: await filesWith(key) };
  });
}

/** Answers the question about models with one of its buttons; returns what it says. */
async function consent(editor, answer) {
  const said = await editor.waitText(".monaco-dialog-box", /Optimize gate\.py with/);
  await editor.screenshot(`10-consent-${answer.split(" ")[0].toLowerCase()}`);
  await editor.page.locator(".monaco-dialog-box a.monaco-button", { hasText: answer }).click();
  await editor.page.waitForSelector(".monaco-dialog-box", { state: "detached" });
  return said;
}

/** The files of the editor's state and of the folder that hold a text: settings, logs, traces, certificates. */
async function filesWith(text) {
  const found = [];
  for (const root of [config.state, config.folder]) {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile())) {
      const file = path.join(entry.parentPath ?? entry.path, entry.name);
      if ((await readFile(file)).includes(text)) {
        found.push(file);
      }
    }
  }
  return found;
}

/** A running optimization, started from the code lens, is cancelled; the file stays as it was. */
export async function cancel(editor) {
  const before = await source("linear_gelu.py");
  const targets = await startFromLens(editor, "linear_gelu.py");
  const running = await until(async () => (await engines())[0], "the engine to run");
  await button(editor, "Cancel").click();
  const told = await editor.waitText(TOAST, /linear_gelu\.py:|Tilewright, NVIDIA/);
  await editor.screenshot("3-cancelled");
  if (/Discard/.test(told)) {
    await button(editor, "Discard").click(); // what was good already is offered, and may be declined
    await editor.waitText(TOAST, /not applied/);
  }
  await dismissNotifications(editor);
  const unchanged = (await source("linear_gelu.py")) === before;
  return { targets, running, left: await engines(), told, unchanged };
}

/** A server that is killed takes its engine with it, and is started again; the next one takes the run up. */
export async function killedServer(editor) {
  await startFromLens(editor, "linear_gelu.py");
  await until(async () => (await engines())[0], "the engine to run");
  const [server] = await servers();
  process.kill(server.pid, "SIGKILL");
  const next = await until(async () => (await servers()).find(({ pid }) => pid !== server.pid), "a new server");
  const resumed = await editor.waitText(TOAST, /the optimization of linear_gelu\.py .* goes on/);
  await until(async () => (await engines()).length === 1, "the engine to run again");
  await editor.screenshot("4-resumed");
  await button(editor, "Cancel").click();
  await until(async () => (await engines()).length === 0, "the engine to end");
  const told = await editor.waitText(TOAST, /linear_gelu\.py:|Tilewright, NVIDIA.*stopped/);
  if (/Discard/.test(told)) {
    await button(editor, "Discard").click();
  }
  await dismissNotifications(editor);
  // Last: a hover that is asked for again takes longer than a quick run shows that it goes on.
  const hover = await hoverAt(editor, await place("linear_gelu.py", "linear_gelu_kernel"), /triton kernel/);
  return { pids: [server.pid, next.pid], hover, resumed };
}

/** Saving profiles the kernel in the background; the lens above it and its hover show the result. */
export async function profile(editor) {
  await editor.open("softmax.py");
  const unmeasured = await editor.waitText(LENS, /./);
  await editor.goTo(1);
  await editor.press("Control+End");
  await editor.page.keyboard.type("# saved");
  await editor.press("Control+S");
  await editor.goTo(1);
  const began = Date.now();
  const lens = await editor.waitText(LENS, /not timed|profile failed/);
  const secondsToLens = (Date.now() - began) / 1000;
  const [line, column] = await place("softmax.py", "softmax_kernel");
  const hover = await hoverAt(editor, [line, column + 3], /softmax_kernel/);
  await editor.screenshot("4-profile");
  return { unmeasured, lens, secondsToLens, hover };
}
