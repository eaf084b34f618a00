// A real VS Code in headless Chromium, as a person meets it: open a file, hover, press keys, read what is shown.
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import net from "node:net";
import path from "node:path";

const CHROMIUM_FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Longer than anything takes, also on a busy machine: it only ends a wait that is in vain. */
export const PATIENCE_MS = 300_000;
const LIST_MS = 15_000;

const USER_SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.reduceMotion": "on",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "chat.disableAIFeatures": true,
  "chat.commandCenter.enabled": false,
  "security.workspace.trust.startupPrompt": "never",
  "telemetry.telemetryLevel": "off",
  "extensions.ignoreRecommendations": true,
  "files.autoSave": "off",
  "editor.minimap.enabled": false,
  "git.enabled": false,
  "workbench.colorTheme": "Default Dark Modern",
};

/** A port that nobody listens on. */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function finished(child) {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stdout?.on("data", (chunk) => (said += chunk));
    child.stderr?.on("data", (chunk) => (said += chunk));
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve(said) : reject(new Error(`exit ${code}: ${said}`))));
  });
}

/** The editor's server process, its browser and its one page. */
export class Editor {
  constructor(server, browser, page, screenshots) {
    Object.assign(this, { server, browser, page, screenshots });
  }

  /**
   * Starts VS Code on a folder, with an extension and settings, and waits for the workbench. A folder that is not
   * `trusted` is opened in restricted mode.
   */
  static async start({ install, vsix, folder, state, settings, screenshots, trusted = true }) {
    const entry = path.join(install, "node_modules/code-server/out/node/entry.js");
    const places = ["--user-data-dir", path.join(state, "user"), "--extensions-dir", path.join(state, "extensions")];
    await mkdir(path.join(state, "user/User"), { recursive: true });
    await mkdir(screenshots, { recursive: true });
    const merged = JSON.stringify({ ...USER_SETTINGS, ...settings });
    await writeFile(path.join(state, "user/User/settings.json"), merged);
    // Its defaults file would otherwise be written into the home directory.
    const env = { ...process.env, CODE_SERVER_CONFIG: path.join(state, "code-server.yaml") };
    const piped = { env, stdio: ["ignore", "pipe", "pipe"] };
    if (vsix) {
      await finished(spawn(process.execPath, [entry, ...places, "--install-extension", vsix], piped));
    }
    const port = await freePort();
    const flags = ["--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry"];
    flags.push("--disable-update-check", ...(trusted ? ["--disable-workspace-trust"] : []));
    // A group of its own: the extension host and its children end with it.
    const options = { ...piped, detached: true };
    const server = spawn(process.execPath, [entry, ...places, ...flags, folder], options);
    let log = "";
    server.stdout.on("data", (chunk) => (log += chunk));
    server.stderr.on("data", (chunk) => (log += chunk));
    try {
      await until(() => log.includes("HTTP server listening"), "the editor's server to listen");
      const { chromium } = createRequire(path.join(install, "package.json"))("playwright-core");
      const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: CHROMIUM_FLAGS });
      const page = await browser.newPage({ viewport: { width: 1400, height: 860 } });
      page.setDefaultTimeout(PATIENCE_MS);
      const editor = new Editor(server, browser, page, screenshots);
      await page.goto(`http://127.0.0.1:${port}/?folder=${encodeURIComponent(folder)}`);
      await page.waitForSelector(".monaco-workbench .explorer-folders-view");
      return editor;
    } catch (error) {
      process.kill(-server.pid, "SIGKILL");
      throw new Error(`${error.message}\n${log}`);
    }
  }

  async stop() {
    await this.browser.close();
    process.kill(-this.server.pid, "SIGTERM");
    const gone = new Promise((resolve) => this.server.once("exit", resolve));
    const timer = setTimeout(() => process.kill(-this.server.pid, "SIGKILL"), 5_000);
    await gone;
    clearTimeout(timer);
  }

  async screenshot(name) {
    await this.page.screenshot({ path: path.join(this.screenshots, `${name}.png`) });
  }

  async press(...keys) {
    for (const key of keys) {
      await this.page.keyboard.press(key);
    }
  }

  /** Opens a file of the folder by its name. */
  async open(file) {
    const name = file.split("/").at(-1);
    await this.chooseInList("Control+P", file, name);
    await this.page.waitForSelector(`.tab.active[data-resource-name="${name}"]`);
    await this.page.waitForSelector(".editor-instance .view-line");
    await this.focusEditor();
  }

  async focusEditor() {
    await this.press("Control+1");
    await this.page.waitForSelector(".monaco-editor.focused");
  }

  /** Runs a command of the palette by the title it has there. */
  async command(title) {
    await this.chooseInList("F1", title, title);
  }

  /** Takes what a text finds in the list that a key opens. Something that takes the focus closes the list: it is
   * opened again. */
  async chooseInList(key, text, label) {
    const row = `.quick-input-list .monaco-list-row.focused[aria-label*="${label}"]`;
    const tried = async () => {
      await this.press(key);
      await this.page.waitForSelector(".quick-input-widget input", { timeout: LIST_MS });
      await this.page.keyboard.type(text);
      await this.page.waitForSelector(row, { timeout: LIST_MS });
      return true;
    };
    await until(() => tried().catch(() => this.press("Escape")), `${label} in the list`);
    await this.press("Enter");
  }

  /** Puts the cursor at a place, 1-based, and brings it into view. */
  async goTo(line, column = 1) {
    await this.focusEditor();
    await this.press("Control+G");
    await this.page.waitForSelector(".quick-input-widget input");
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.type(`:${line}:${column}`);
    await this.press("Enter");
    await this.page.waitForSelector(".quick-input-widget", { state: "hidden" });
    await this.page.waitForSelector(".monaco-editor.focused");
  }

  /** Opens the light bulb's menu where the cursor is and returns what it offers; a menu closes where something takes
   * the focus meanwhile, as a notification may. */
  async lightBulb() {
    const offered = ".action-widget .monaco-list-row.action";
    return until(async () => {
      await this.press("Control+.");
      await this.page.waitForSelector(offered, { timeout: 20_000 }).catch(() => undefined);
      const titles = await this.texts(offered);
      return titles.length > 0 && titles;
    }, "the light bulb's menu");
  }

  /** Chooses an entry of the open light bulb menu; by key, since an invisible sheet catches clicks beside the menu. */
  async choose(pattern) {
    const offered = await this.texts(".action-widget .monaco-list-row.action");
    for (let step = 0; step <= offered.length; step += 1) {
      const [focused] = await this.texts(".action-widget .monaco-list-row.action.focused");
      if (focused && pattern.test(focused)) {
        await this.press("Enter");
        return focused;
      }
      await this.press("ArrowDown");
    }
    throw new Error(`no ${pattern} among ${JSON.stringify(offered)}`);
  }

  /** The texts of all elements a selector finds, spaces evened out. */
  async texts(selector) {
    const found = await this.page.locator(selector).allInnerTexts();
    return found.map((text) => text.replace(/[\s\u00a0]+/g, " ").trim()).filter((text) => text !== "");
  }

  /** Waits until one of the texts that a selector finds matches, and returns it. */
  async waitText(selector, pattern, ms = PATIENCE_MS) {
    let seen = [];
    const found = async () => (seen = await this.texts(selector)).find((text) => pattern.test(text));
    try {
      return await until(found, `${pattern} in ${selector}`, ms);
    } catch (error) {
      throw new Error(`${error.message}; seen: ${JSON.stringify(seen)}`);
    }
  }
}

/** Asks again and again until the answer is true-ish, and returns it. */
export async function until(ask, what, ms = PATIENCE_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer) {
      return answer;
    }
    if (Date.now() > end) {
      throw new Error(`waited ${ms / 1000} s for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
