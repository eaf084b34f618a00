// What a person does with Tilewright in VS Code, one scenario after the other in one editor. Prints a JSON line for each:
// {"name", "ok", "seconds", "seen", "error"}; what was shown goes into "seen", and screenshots lie beside.
//
// node scenarios.mjs '{"install", "vsix", "folder", "state", "screenshots", "settings", "trusted", "models", "scenarios"}'
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Editor, until } from "./driver.mjs";
import { chipList, firstSquiggle, kernels, runPanel, twoChips } from "./panel_scenarios.mjs";

const config = JSON.parse(process.argv[2]);
const SQUIGGLE = ".squiggly-warning, .squiggly-info, .squiggly-error";
const LENS = ".codelens-decoration";
const CHIP = '.statusbar-item[id$="tilewright.chip"]';
const HOVER = ".monaco-hover:not(.hidden)";
const TOAST = ".notification-toast";
const OPTIMIZE_MS = 600_000;

const source = (name) => readFile(path.join(config.folder, name), "utf8");
/** The text that the editor saves; a file that is being written is empty for a moment. */
const savedAfter = (name, before) =>
  until(async () => {
    const text = await source(name);
    return text !== before && text;
  }, `${name} to be saved`);

/** 1-based line and column of a text in a file of the folder. */
async function place(name, text) {
  const before = (await source(name)).split(text, 1)[0].split("\n");
  return [before.length, before.at(-1).length + 1];
}

/** The hover at a place, once it says what is waited for: parts come one by one, and a server may still be starting. */
async function hoverAt(editor, [line, column], pattern) {
  const asked = async () => {
    await editor.goTo(line, column);
    await editor.press("Control+K", "Control+I");
    return editor.waitText(HOVER, pattern, 15_000).catch(() => undefined);
  };
  return until(asked, `${pattern} in the hover`);
}

function button(editor, label) {
  return editor.page.locator(`${TOAST} a.monaco-button`, { hasText: label });
}

async function dismissNotifications(editor) {
  await editor.command("Notifications: Clear All Notifications");
  await until(async () => (await editor.texts(TOAST)).length === 0, "notifications to go");
}

/** Processes that came from this editor (they inherit its environment) and whose command line matches. */
async function processes(pattern) {
  const found = [];
  for (const pid of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const read = (file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
    const command = (await read("cmdline")).replaceAll("\0", " ");
    if (pattern.test(command) && (await read("environ")).includes(config.state)) {
      found.push({ pid: Number(pid), command });
    }
  }
  return found;
}

/** The engine's process that stays forks a child for each command, and names it. */
const engines = async () => {
  const forked = await processes(/tilewright\.cli\.engine_process/);
  const named = forked.map(async (one) => [await readFile(`/proc/${one.pid}/comm`, "utf8").catch(() => ""), one]);
  return (await Promise.all(named)).filter(([name]) => name.trim() === "tw-optimize").map(([, one]) => one);
};
const servers = () => processes(/-m tilewright_server/);

/** Starts an optimization from the code lens and waits until it works on it. */
async function startFromLens(editor, name) {
  const targets = await optimizeFromLens(editor, name);
  await editor.waitText(TOAST, /Optimizing for NVIDIA .*(stage|trial)/i);
  return targets;
}

/** Starts an optimization for NVIDIA from the code lens; the targets that were offered. */
async function optimizeFromLens(editor, name) {
  await editor.open(name);
  await editor.goTo(1);
  await editor.waitText(LENS, /Optimize…/);
  await editor.page.locator(`${LENS} a`, { hasText: "Optimize…" }).first().click();
  await editor.page.waitForSelector(".quick-input-list .monaco-list-row");
  const targets = await editor.texts(".quick-input-list .monaco-list-row");
  await editor.screenshot("3-targets");
  await editor.page.keyboard.type("NVIDIA");
  await editor.press("Enter");
  return targets;
}

/** A pattern is underlined; hovering says why it matters, what to do and what it is worth. */
async function diagnostics(editor) {
  await editor.open("matmul.py");
  const [line, column] = await place("matmul.py", "tl.dot(");
  await editor.goTo(line);
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.screenshot("1-squiggles");
  const hover = await hoverAt(editor, [line, column + 2], /Expected gain/);
  await editor.screenshot("1-hover");
  const problems = await editor.texts("#status\\.problems");
  return { hover, problems };
}

/** What is inferred of a value stands behind its name and in its hover; an issue can be ignored where it is. */
async function tiles(editor) {
  await editor.open("matmul.py");
  const [line, column] = await place("matmul.py", "acc = tl.zeros");
  await editor.goTo(line);
  const hint = await editor.waitText(".view-line", /acc: \[BLOCK_M, BLOCK_N\] fp32 = tl\.zeros/);
  await editor.screenshot("1-inlay-hints");
  const [at, from] = await place("matmul.py", "a_ptrs = ");
  const hover = await hoverAt(editor, [at, from + 2], /tile of pointers/);
  await editor.screenshot("1-tile-hover");
  const value = await hoverAt(editor, [line, column + 1], /BLOCK_M, BLOCK_N/);
  await editor.goTo(...(await place("matmul.py", "tl.dot(")));
  const offered = await editor.lightBulb();
  await editor.screenshot("1-ignore");
  await editor.press("Escape");
  return { hint, hover, value, offered };
}

/** An NKI kernel: shapes and memory behind names, cost and limits of an instruction, its estimate, a fix, Trainium. */
async function nki(editor) {
  const name = "normalize_nki.py";
  await editor.open(name);
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /trn2: .*estimated, not measured/);
  await editor.screenshot("9-nki-lens");
  const [line] = await place(name, "scale = nl.rsqrt");
  await editor.goTo(line);
  const hint = await editor.waitText(".view-line", /scale: 128 × 1 fp32 SBUF = nl\.rsqrt/);
  const loop = await editor.waitText(".view-line", /affine_range\(32\):.*SBUF .* KiB/);
  const [at, from] = await place(name, "tensor_scalar(");
  const hover = await hoverAt(editor, [at, from + 2], /This line on trn2/);
  await editor.screenshot("9-nki-hover");
  await editor.press("Escape");
  const [bad, start] = await place(name, "nisa.scalar_engine");
  await editor.goTo(bad, start + 6);
  await editor.page.waitForSelector(SQUIGGLE);
  const fixes = await editor.lightBulb();
  await editor.screenshot("9-nki-actions");
  await editor.press("Escape");
  await editor.goTo(...(await place(name, "normalize(x, g)")));
  const offered = await editor.lightBulb();
  await editor.screenshot("9-nki-optimize");
  await editor.press("Escape");
  return { lens, hint, loop, hover, fixes, offered };
}

/** An NKI kernel is optimized for a NeuronCore: simulated, its time estimated, and nothing said to be measured. */
async function trainium(editor) {
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
  return { chosen, evidence, before, after, verified };
}

/** A quick fix is shown with what is known of it, then changes the text as one step to undo. */
async function quickFix(editor) {
  await editor.open("linear_gelu.py");
  const before = await source("linear_gelu.py");
  await editor.goTo(...(await place("linear_gelu.py", "(tl.exp(2 * u) - 1)")));
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.lightBulb();
  const chosen = await editor.choose(/Write tanh so that/);
  const evidence = await editor.waitText(TOAST, /linear_gelu\.py:/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
  await editor.screenshot("2-quick-fix");
  await editor.page.locator(".editor-actions .action-label[aria-label^='Apply the Proposed Edit']").click();
  await editor.page.waitForSelector('.tab.active.dirty[data-resource-name="linear_gelu.py"]');
  await editor.focusEditor();
  await editor.press("Control+S");
  const after = await savedAfter("linear_gelu.py", before);
  await editor.press("Control+Z", "Control+S");
  await until(async () => (await source("linear_gelu.py")) === before, "one undo to bring the text back");
  return { chosen, evidence, before, after };
}

/** An edit that was shown is dropped when the file changes under it. */
async function outdated(editor) {
  await editor.open("linear_gelu.py");
  const before = await source("linear_gelu.py");
  await editor.goTo(...(await place("linear_gelu.py", "(tl.exp(2 * u) - 1)")));
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.lightBulb();
  await editor.choose(/Write tanh so that/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
  await writeFile(path.join(config.folder, "linear_gelu.py"), `${before}# changed\n`);
  const told = await editor.waitText(TOAST, /linear_gelu\.py has changed/);
  await editor.page.waitForSelector(".monaco-diff-editor", { state: "detached" });
  await editor.screenshot("2-outdated");
  await writeFile(path.join(config.folder, "linear_gelu.py"), before);
  await dismissNotifications(editor);
  return { told };
}

/** The chip follows the file's host code: its name and the reason stand in the status bar, where a click changes it. */
async function chip(editor) {
  await editor.open("scaled_product.py");
  const shown = await editor.waitText(CHIP, /xpu:bmg-g31/);
  const why = await editor.page.locator(`${CHIP} [aria-label]`).first().getAttribute("aria-label");
  const pick = async (typed) => {
    await editor.page.locator(`${CHIP} a`).click();
    await editor.page.waitForSelector(".quick-input-list .monaco-list-row");
    const chips = await editor.texts(".quick-input-list .monaco-list-row");
    await editor.screenshot(`2-chips-${typed.replace(/\W+/g, "-")}`);
    await editor.page.keyboard.type(typed);
    await editor.press("Enter");
    return chips;
  };
  const chips = await pick("xpu:pvc");
  const chosen = await editor.waitText(CHIP, /xpu:pvc/);
  const offered = await pick("Follow the file");
  const followed = await editor.waitText(CHIP, /xpu:bmg-g31/);
  await editor.page.mouse.move(700, 300); // the item's hover would cover buttons of notifications
  return { shown, why, chips, chosen, offered, followed };
}

/** The light bulb offers each vendor; Intel's is run with progress, previewed whole, and applied with a certificate. */
async function optimize(editor) {
  await editor.open("scaled_product.py");
  const before = await source("scaled_product.py");
  await editor.goTo(...(await place("scaled_product.py", "torch.xpu.synchronize")));
  await editor.page.waitForSelector(SQUIGGLE);
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
 * With a model in the settings and a key in the editor's storage, the user is asked first; the proposed edit, its progress
 * and its certificate name the model.
 */
async function models(editor) {
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
async function cancel(editor) {
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

/** A changed setting is in force without a restart: fewer chips are offered. */
async function settings(editor) {
  await editor.open("softmax.py");
  const offered = async () => {
    await editor.goTo(...(await place("softmax.py", "tl.program_id")));
    const titles = await editor.lightBulb();
    await editor.press("Escape");
    return titles.filter((title) => /Optimize for/.test(title));
  };
  const many = await until(async () => (await offered()).length > 1 && offered(), "every chip to be offered");
  return withSettings(editor, { "tilewright.targets": ["hip:gfx950"] }, async () => {
    const few = await until(async () => (await offered()).length === 1 && offered(), "one chip to be offered");
    return { many, few };
  });
}

/** Does something while the folder has settings of its own. The editor itself saves them, with a line more: what
 * others change on disk is not always noticed at once. */
async function withSettings(editor, values, act) {
  const file = path.join(config.folder, ".vscode/settings.json");
  const save = async (text) => {
    await writeFile(file, text);
    await editor.command("Preferences: Open Workspace Settings (JSON)");
    await editor.page.waitForSelector('.tab.active[data-resource-name="settings.json"]');
    await editor.focusEditor();
    await until(async () => {
      await editor.press("Control+End", "Enter", "Control+S");
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const saved = await readFile(file, "utf8");
      return saved !== text && saved.trim() === text;
    }, "the settings to be saved");
    await editor.command("View: Close All Editors");
    await editor.page.waitForSelector('.tab[data-resource-name="settings.json"]', { state: "detached" });
    await editor.open("softmax.py");
  };
  await mkdir(path.dirname(file));
  try {
    await save(JSON.stringify(values));
    return await act();
  } finally {
    await save("{}").finally(() => rm(path.dirname(file), { recursive: true }));
  }
}

/** A server that is killed takes its engine with it, and is started again; the next one takes the run up. */
async function killedServer(editor) {
  await startFromLens(editor, "linear_gelu.py");
  await until(async () => (await engines())[0], "the engine to run");
  const [server] = await servers();
  process.kill(server.pid, "SIGKILL");
  const next = await until(async () => (await servers()).find(({ pid }) => pid !== server.pid), "a new server");
  const hover = await hoverAt(editor, await place("linear_gelu.py", "linear_gelu_kernel"), /triton kernel/);
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
  return { pids: [server.pid, next.pid], hover, resumed };
}

/** The texts of the lines that are highlighted in one of the editors side by side, 0 the left one. */
function highlighted(editor, group) {
  return editor.page.evaluate((number) => {
    const shown = document.querySelectorAll(".editor-group-container .monaco-editor")[number];
    const tops = [...shown.querySelectorAll('.view-overlays [class*="ced-"]')].map((mark) => mark.getBoundingClientRect().top);
    const lines = [...shown.querySelectorAll(".view-line")];
    const marked = lines.filter((line) => tops.some((top) => Math.abs(top - line.getBoundingClientRect().top) < 2));
    return marked.map((line) => line.textContent.replaceAll("\u00a0", " ").trim());
  }, group);
}

/** An opened file is compiled by itself: what stands out is underlined, the lens leads to the assembly beside it. */
async function compiled(editor) {
  await editor.open("layernorm.py");
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /cuda:90: \d+ registers/);
  const hover = await hoverAt(editor, await place("layernorm.py", "layernorm_kernel("), /a multiprocessor/);
  const [line, column] = await place("layernorm.py", "total += x");
  const onLine = await hoverAt(editor, [line, column + 1], /This line, compiled/);
  await editor.screenshot("9-compiled");
  await editor.press("Control+Shift+M");
  const problems = await until(async () => {
    const found = (await editor.texts(".markers-panel .monaco-list-row")).filter((text) => /double_precision/.test(text));
    return found.length > 0 && found;
  }, "the compiled finding among the problems");
  await editor.screenshot("9-problems");
  await editor.press("Control+Shift+M");
  await editor.goTo(1);
  await editor.page.locator(`${LENS} a`, { hasText: "cuda:90" }).first().click();
  const tab = await editor.waitText(".tab", /layernorm_kernel@\w+ cuda:90 sass/);
  await editor.goTo(line, column + 1);
  const forth = await until(async () => {
    const found = await highlighted(editor, 1);
    return found.some((text) => /DADD/.test(text)) && found;
  }, "the line's instructions to be highlighted");
  await editor.screenshot("9-assembly");
  await editor.page.locator(".editor-group-container").nth(1).locator(".view-line", { hasText: "LDG" }).first().click();
  const back = await until(async () => {
    const found = await highlighted(editor, 0);
    return found.length > 0 && found;
  }, "the instruction's line to be highlighted");
  await editor.screenshot("9-assembly-back");
  await editor.goTo(line);
  await editor.press("End");
  await editor.page.keyboard.type(" + 0.0");
  await editor.press("Control+2", "Control+Home");
  const stale = await editor.waitText(".view-line", /STALE/);
  await editor.screenshot("9-stale");
  await editor.focusEditor();
  await editor.press("Control+S");
  const other = async () => (await editor.texts(".tab")).find((text) => /layernorm_kernel@/.test(text) && text !== tab);
  const refreshed = await until(other, "the assembly of the saved text");
  await editor.screenshot("9-refreshed");
  await editor.command("View: Close All Editors");
  await editor.page.keyboard.press("Escape");
  return { lens, hover, onLine, problems, tab, forth, back, stale, refreshed };
}

/** Saving profiles the kernel in the background; the lens above it and its hover show the result. */
async function profile(editor) {
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

/** The palette's commands reach the server. */
async function commands(editor) {
  await editor.open("softmax.py");
  const status = await editor.waitText(".statusbar-item", /Tilewright/);
  await editor.command("Tilewright: Show Debug Info");
  await editor.page.waitForSelector(".tab.active:has-text('Untitled')");
  const info = (await editor.texts(".editor-instance .view-lines")).join("\n");
  await editor.screenshot("5-debug-info");
  await editor.command("Tilewright: Restart Server");
  await editor.open("softmax.py");
  await editor.goTo(1);
  await editor.waitText(LENS, /Optimize…/);
  return { status, info };
}

/** Without a server the extension asks, makes an environment of its own, and works from there. */
async function install(editor) {
  await editor.open("matmul.py");
  const question = await editor.waitText(TOAST, /found no server/);
  await editor.screenshot("6-no-server");
  await button(editor, "Install").click();
  const progress = await editor.waitText(TOAST, /installing the server: \S/);
  await editor.screenshot("6-installing");
  await editor.goTo((await place("matmul.py", "tl.dot("))[0]);
  await editor.page.waitForSelector(SQUIGGLE);
  await editor.screenshot("6-installed");
  return { question, progress, problems: await editor.texts("#status\\.problems") };
}

/** An update that fails leaves the server that runs; one that succeeds takes its place. */
async function update(editor) {
  const pids = async () => (await servers()).map(({ pid }) => pid);
  await editor.open("softmax.py");
  const before = await pids();
  const missing = { "tilewright.server.package": "/nowhere/tilewright-9.whl" };
  const { error, afterFailure } = await withSettings(editor, missing, async () => {
    await editor.command("Tilewright: Install or Update Server");
    const said = await editor.waitText(TOAST, /tilewright-9\.whl failed/);
    await editor.screenshot("6-update-failed");
    return { error: said, afterFailure: await pids() };
  });
  await dismissNotifications(editor);
  await editor.command("Tilewright: Install or Update Server");
  const replaced = async () => (await pids()).some((pid) => !before.includes(pid));
  await until(replaced, "the updated server");
  const hover = await hoverAt(editor, await place("softmax.py", "softmax_kernel"), /triton kernel/);
  return { before, error, afterFailure, afterUpdate: await pids(), hover };
}

/** A setting that names no server is an error that says so, with a way to the log. */
async function wrongSetting(editor) {
  await editor.open("matmul.py");
  const error = await editor.waitText(TOAST, /tilewright\.interpreter/);
  await editor.screenshot("7-wrong-setting");
  await button(editor, "Show Log").click();
  const logged = await editor.waitText(".panel .view-line", /tilewright\.interpreter names/);
  return { error, logged };
}

/** In a folder that is not trusted the source is read and nothing of it is run. */
async function untrusted(editor) {
  await editor.open("softmax.py");
  await editor.goTo(1);
  const lens = await editor.waitText(LENS, /not trusted/);
  await editor.screenshot("8-untrusted");
  await editor.goTo(...(await place("softmax.py", "tl.program_id")));
  const pattern = /softmax_kernel|tilewright/;
  const hover = await hoverAt(editor, await place("softmax.py", "softmax_kernel"), pattern);
  const ran = await processes(/tilewright\S* (optimize|inspect|profile|verify|compile|devices|toolchain)|tilewright\S*worker/);
  return { lens, hover, ran: ran.map(({ command }) => command) };
}

const all = {
  diagnostics,
  tiles,
  nki,
  trainium,
  quickFix,
  outdated,
  chip,
  optimize,
  models,
  cancel,
  settings,
  killedServer,
  profile,
  compiled,
  commands,
  install,
  update,
  wrongSetting,
  untrusted,
  kernels,
  chipList,
  twoChips,
  runPanel,
  firstSquiggle: (editor) => firstSquiggle(editor, startedAt),
};
const wanted = config.scenarios.map((name) => [name, all[name]]);

const startedAt = Date.now();
const editor = await Editor.start(config);
try {
  for (const [name, scenario] of wanted) {
    const began = Date.now();
    const report = { name, ok: true, seen: {}, error: null };
    try {
      report.seen = await scenario(editor);
    } catch (error) {
      Object.assign(report, { ok: false, error: `${error.message}\n${error.stack}` });
      await editor.command("Notifications: Show Notifications").catch(() => undefined);
      await editor.screenshot(`failed-${name}`);
      await editor.press("Escape", "Escape");
    }
    console.log(JSON.stringify({ ...report, seconds: (Date.now() - began) / 1000 }));
  }
} finally {
  await editor.stop();
}
