// What scenarios have in common: places in files, hovers, notifications, processes, the start of an optimization.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { until } from "./driver.mjs";

export const config = JSON.parse(process.argv[2]);
export const SQUIGGLE = ".squiggly-hint, .squiggly-info, .squiggly-warning, .squiggly-error";
export const LENS = ".codelens-decoration";
export const CHIP = '.statusbar-item[id$="tilewright.chip"]';
export const HOVER = ".monaco-hover:not(.hidden)";
export const TOAST = ".notification-toast";
export const OPTIMIZE_MS = 600_000;

export const source = (name) => readFile(path.join(config.folder, name), "utf8");

/** The text that the editor saves; a file that is being written is empty for a moment. */
export const savedAfter = (name, before) =>
  until(async () => {
    const text = await source(name);
    return text !== before && text;
  }, `${name} to be saved`);

/** 1-based line and column of a text in a file of the folder. */
export async function place(name, text) {
  const before = (await source(name)).split(text, 1)[0].split("\n");
  return [before.length, before.at(-1).length + 1];
}

/** The hover at a place, once it says what is waited for: parts come one by one, and a server may still be starting. */
export async function hoverAt(editor, [line, column], pattern) {
  const asked = async () => {
    await editor.goTo(line, column);
    await editor.press("Control+K", "Control+I");
    return editor.waitText(HOVER, pattern, 15_000).catch(() => undefined);
  };
  return until(asked, `${pattern} in the hover`);
}

export function button(editor, label) {
  return editor.page.locator(`${TOAST} a.monaco-button`, { hasText: label });
}

export async function dismissNotifications(editor) {
  await editor.command("Notifications: Clear All Notifications");
  await until(async () => (await editor.texts(TOAST)).length === 0, "notifications to go");
}

/** Processes that came from this editor (they inherit its environment) and whose command line matches. */
export async function processes(pattern) {
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
export const engines = async () => {
  const forked = await processes(/tilewright\.cli\.engine_process/);
  const named = forked.map(async (one) => [await readFile(`/proc/${one.pid}/comm`, "utf8").catch(() => ""), one]);
  return (await Promise.all(named)).filter(([name]) => name.trim() === "tw-optimize").map(([, one]) => one);
};

export const servers = () => processes(/-m tilewright_server/);

/** Starts an optimization for NVIDIA from the code lens; the targets that were offered. */
export async function optimizeFromLens(editor, name) {
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

/** Starts an optimization from the code lens and waits until it works on it. */
export async function startFromLens(editor, name) {
  const targets = await optimizeFromLens(editor, name);
  await editor.waitText(TOAST, /Optimizing for NVIDIA .*(stage|trial)/i);
  return targets;
}

/** Does something while the folder has settings of its own. The editor itself saves them, with a line more: what
 * others change on disk is not always noticed at once. */
export async function withSettings(editor, values, act) {
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

/** The count in the status bar for a file with advice, which is a problem; a hint is underlined alone. */
export async function problemCount(editor) {
  await editor.open("linear_gelu.py");
  const count = await editor.waitText("#status\\.problems", /[1-9]/);
  await editor.open("matmul.py");
  return count;
}
