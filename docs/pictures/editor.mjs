// Pictures of Tilewright in a real VS Code: an issue, its hover, its quick fix, the proposed edit, the assembly.
// Frames of the moving picture are screenshots of the steps of one session.
//
// node editor.mjs '{"install", "vsix", "folder", "state", "screenshots", "settings", "report"}'
// Without a report only the picture of the run panel is made.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Editor, until } from "../../tests/editor/driver.mjs";
import { webview } from "../../tests/editor/panel_scenarios.mjs";

const config = JSON.parse(process.argv[2]);
const FILE = "linear_gelu.py";
const LENS = ".codelens-decoration";
const FRAME = { width: 960, height: 540 };
const LOOK = {
  "editor.fontSize": 13,
  "editor.hover.delay": 100,
  "editor.inlayHints.enabled": "off",
  "editor.lineNumbers": "on",
  "editor.occurrencesHighlight": "off",
  "editor.renderWhitespace": "none",
  "editor.stickyScroll.enabled": false,
  "breadcrumbs.enabled": false,
  "workbench.activityBar.location": "hidden",
  "window.commandCenter": false,
  "workbench.layoutControl.enabled": false,
};

/** 1-based line and column of a text in the file. */
async function place(text) {
  const before = (await readFile(path.join(config.folder, FILE), "utf8")).split(text, 1)[0].split("\n");
  return [before.length, before.at(-1).length + 1];
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function frames(editor) {
  const [line, column] = await place("(tl.exp(2 * u) - 1)");
  await editor.goTo(line, column);
  await editor.page.waitForSelector(".squiggly-warning, .squiggly-info");
  await editor.screenshot("frame-1-issue");
  await editor.press("Control+K", "Control+I");
  await editor.waitText(".monaco-hover:not(.hidden)", /Expected gain/);
  await editor.screenshot("frame-2-hover");
  await editor.press("Escape");
  await editor.lightBulb();
  await editor.screenshot("frame-3-fixes");
  await editor.choose(/Write tanh so that/);
  await editor.page.waitForSelector(".monaco-diff-editor .line-insert");
  await pause(500);
  await editor.screenshot("frame-4-edit");
  await editor.page.locator(".editor-actions .action-label[aria-label^='Discard']").first().click();
  await pause(500);
}

async function compiled(editor) {
  await editor.focusEditor();
  const [kernel] = await place("def linear_gelu_kernel");
  await editor.goTo(kernel);
  await editor.waitText(LENS, /cuda:90: \d+ registers/, 180_000);
  await editor.screenshot("frame-5-compiled");
}

async function assembly(editor) {
  await editor.page.setViewportSize({ width: 1100, height: 520 });
  await editor.page.locator(`${LENS} a`, { hasText: "cuda:90" }).first().click();
  await editor.waitText(".tab", /linear_gelu_kernel@\w+ cuda:90 sass/, 90_000);
  const [line, column] = await place("tl.dot(");
  await editor.goTo(line, column);
  await pause(1_500);
  await editor.screenshot("assembly");
}

/** The run panel after an optimization, and the kernels of the folder next to it. */
async function panel(editor) {
  await editor.page.setViewportSize({ width: 1360, height: 760 });
  await editor.command("View: Close All Editors");
  await editor.open("softmax.py");
  await editor.goTo(9, 8);
  await editor.lightBulb();
  await editor.choose(/Optimize for NVIDIA/);
  await editor.command("Tilewright: Show Runs");
  await editor.page.locator(".notification-toast a.monaco-button", { hasText: "Discard" }).click({ timeout: 180_000 });
  const frame = await webview(editor);
  await until(async () => (await frame.locator("figure svg").count()) > 1, "the charts", 60_000);
  await editor.command("Notifications: Clear All Notifications");
  await editor.command("View: Show Tilewright");
  await editor.waitText(".pane-body .monaco-list-row", /softmax_kernel|layernorm_kernel/, 90_000);
  await editor.page.locator(".tab", { hasText: "Tilewright Runs" }).click();
  await pause(1_500);
  await editor.screenshot("runs");
}

async function reportPage() {
  const { chromium } = createRequire(path.join(config.install, "package.json"))("playwright-core");
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1000, height: 720 } });
  await page.goto(pathToFileURL(config.report).href);
  await page.screenshot({ path: path.join(config.screenshots, "report.png") });
  await browser.close();
}

if (config.report) {
  await reportPage();
}
const editor = await Editor.start({ ...config, settings: { ...config.settings, ...LOOK } });
try {
  await editor.page.setViewportSize(FRAME);
  await editor.open(FILE);
  await editor.command("View: Close Primary Side Bar").catch(() => editor.press("Escape", "Control+B"));
  await editor.focusEditor();
  for (const act of config.report ? [frames, compiled, assembly, panel] : [panel]) {
    await act(editor);
  }
} catch (error) {
  await editor.screenshot("failed");
  throw error;
} finally {
  await editor.stop();
}
