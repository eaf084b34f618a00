/**
 * A kernel's assembly, or another stage of its compilation, beside its source: a read-only document whose lines are
 * highlighted with the source's as the cursor moves, in both directions. It says which version of the kernel it is of.
 */
import * as path from "node:path";
import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient } from "vscode-languageclient/node";
import {
  type Assembly,
  kernelStart,
  kernelText,
  shownText,
  sourceLinks,
  type Span,
  titleOf,
  toSource,
  toView,
} from "./assembly-lines";
import { targetsToCompile } from "./settings";
import { type Chip, compileItems } from "./targets";

export const ASSEMBLY_SCHEME = "tilewright-assembly";
const REQUEST = "tilewright/assembly";
/** In package.json, with a grammar for all stages. */
const ASSEMBLY_LANGUAGE = "tilewright-assembly";

/** What a view is asked for; what is not said is the server's choice. */
interface Wanted {
  readonly source: vscode.Uri;
  readonly kernel?: string;
  readonly line?: number;
  readonly target?: string;
  readonly stage?: string;
}

interface View {
  readonly uri: vscode.Uri;
  readonly source: vscode.Uri;
  readonly assembly: Assembly;
  /** The kernel's own text as it was compiled; undefined where the document changed while it was. */
  readonly kernel: string | undefined;
  /** By how many lines the kernel has moved since; undefined if it has changed. */
  moved: number | undefined;
}

export class AssemblyViews
  implements
    vscode.TextDocumentContentProvider,
    vscode.FileDecorationProvider,
    vscode.DocumentLinkProvider,
    vscode.Disposable
{
  private readonly views = new Map<string, View>();
  private readonly texts = new vscode.EventEmitter<vscode.Uri>();
  private readonly badges = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.texts.event;
  readonly onDidChangeFileDecorations = this.badges.event;
  private readonly highlight = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.wordHighlightStrongBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.wordHighlightStrongForeground"),
  });
  private readonly parts: vscode.Disposable[];

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.parts = [
      this.texts,
      this.badges,
      this.highlight,
      vscode.workspace.registerTextDocumentContentProvider(ASSEMBLY_SCHEME, this),
      vscode.window.registerFileDecorationProvider(this),
      vscode.languages.registerDocumentLinkProvider({ scheme: ASSEMBLY_SCHEME }, this),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.onEdited(document)),
      vscode.workspace.onDidSaveTextDocument((document) => this.onSaved(document)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.views.delete(uri.toString())),
    ];
  }

  dispose(): void {
    this.parts.forEach((part) => part.dispose());
  }

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    const view = this.views.get(uri.toString());
    return view && shownText(view.assembly, path.basename(view.source.path), view.moved === undefined);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const view = this.views.get(uri.toString());
    return view && view.moved === undefined
      ? new vscode.FileDecoration("S", "Stale: the kernel has changed since", new vscode.ThemeColor("list.warningForeground"))
      : undefined;
  }

  /** Where a stage names a line of the source file, a link to that line as it stands now. */
  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const view = this.views.get(document.uri.toString());
    if (!view || view.moved === undefined) {
      return [];
    }
    const { moved } = view;
    const file = path.posix.basename(view.source.path);
    return sourceLinks(document.getText(), file).map(({ line, start, end, source }) => {
      const target = view.source.with({ fragment: `L${source + moved}` });
      const link = new vscode.DocumentLink(new vscode.Range(line, start, line, end), target);
      link.tooltip = `${file}, line ${source + moved}`;
      return link;
    });
  }

  /** Shows what a code lens names, or the kernel at the cursor. */
  async show(argument: unknown): Promise<void> {
    const wanted = wantedOf(argument) ?? atCursor();
    if (!wanted) {
      void vscode.window.showInformationMessage("Tilewright: open a Python file with a kernel first.");
      return;
    }
    await this.open(wanted);
  }

  /** Shows another stage of the view in front. */
  async pickStage(): Promise<void> {
    const view = this.inFront();
    if (view) {
      const items = [...view.assembly.stages].reverse();
      const stage = await vscode.window.showQuickPick(items, { title: `Stage of ${view.assembly.kernel}` });
      await (stage && this.open({ ...again(view), stage }, view));
    }
  }

  /** Shows the view in front for another chip, at its own code. */
  async pickTarget(): Promise<void> {
    const view = this.inFront();
    if (view) {
      const title = `Compile ${view.assembly.kernel} for…`;
      const picked = await vscode.window.showQuickPick(await this.chips(view), { title, matchOnDescription: true });
      const { stage: _, ...same } = again(view);
      await (picked && this.open({ ...same, target: picked.label }, view));
    }
  }

  /** Shows the same kernel for another chip next to the view in front; a line marks its counterparts in both. */
  async compare(): Promise<void> {
    const view = this.inFront();
    if (view) {
      const title = `Compare ${view.assembly.kernel} for ${view.assembly.target} with…`;
      const others = (await this.chips(view)).filter(({ label }) => label !== view.assembly.target);
      const picked = await vscode.window.showQuickPick(others, { title, matchOnDescription: true });
      const { stage: _, ...same } = again(view);
      await (picked && this.open({ ...same, target: picked.label }, undefined, vscode.ViewColumn.Beside));
    }
  }

  /** Compiles the view in front again, as its source is now. */
  async refresh(): Promise<void> {
    const view = this.inFront();
    await (view && this.open(again(view), view));
  }

  /** The chips to compile a view's kernel for: those of the settings first, then all that this machine compiles for. */
  private async chips(view: View): Promise<readonly vscode.QuickPickItem[]> {
    const client = this.client();
    const answer = client ? await client.sendRequest(ExecuteCommandRequest.type, { command: "tilewright.listTargets" }) : [];
    return compileItems(targetsToCompile(view.source), (answer ?? []) as readonly Chip[]);
  }

  private async open(wanted: Wanted, instead?: View, place?: vscode.ViewColumn): Promise<void> {
    const source = await vscode.workspace.openTextDocument(wanted.source);
    const assembly = await this.ask(wanted);
    if (!assembly) {
      return;
    }
    if (assembly.text === null) {
      void vscode.window.showWarningMessage(
        `Tilewright: ${assembly.kernel} has no ${assembly.stage} for ${assembly.target}: ${assembly.missing}`,
      );
      return;
    }
    const uri = vscode.Uri.from({
      scheme: ASSEMBLY_SCHEME,
      path: `/${titleOf(assembly)}`,
      query: wanted.source.toString(),
    });
    const range = { first: assembly.range.start, last: assembly.range.end };
    const kernel = source.version === assembly.version ? kernelText(plain(source), range) : undefined;
    const view: View = { uri, source: wanted.source, assembly, kernel, moved: kernel === undefined ? undefined : 0 };
    const column = place ?? (instead && columnOf(instead.uri)) ?? vscode.ViewColumn.Beside;
    this.views.set(uri.toString(), view);
    this.texts.fire(uri);
    this.badges.fire(uri);
    const untold = await vscode.workspace.openTextDocument(uri);
    const document = await vscode.languages.setTextDocumentLanguage(untold, ASSEMBLY_LANGUAGE);
    this.views.set(uri.toString(), view); // another language is a document that was closed and opened again
    await vscode.window.showTextDocument(document, { viewColumn: column, preserveFocus: true, preview: false });
    if (instead && instead.uri.toString() !== uri.toString()) {
      await close(instead.uri);
    }
    const editor = vscode.window.visibleTextEditors.find((each) => each.document === source);
    if (editor) {
      this.follow(editor);
    }
  }

  private async ask(wanted: Wanted): Promise<Assembly | undefined> {
    const client = this.client();
    if (!client) {
      void vscode.window.showErrorMessage("Tilewright: the server is not running.");
      return undefined;
    }
    const { source, ...rest } = wanted;
    const params = { textDocument: { uri: source.toString() }, ...rest };
    const title = `Tilewright: compiling${wanted.target ? ` for ${wanted.target}` : ""}`;
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return vscode.window.withProgress(options, async (_, token) => {
      try {
        return await client.sendRequest<Assembly>(REQUEST, params, token);
      } catch (error) {
        if (!token.isCancellationRequested) {
          void vscode.window.showErrorMessage(`Tilewright: ${error instanceof Error ? error.message : String(error)}`);
        }
        return undefined;
      }
    });
  }

  /** Highlights what belongs to the selected lines: in the source, and in every other view of it. */
  private follow(editor: vscode.TextEditor): void {
    const { selection, document } = editor;
    const lines: Span = { first: selection.start.line, last: selection.end.line };
    const own = this.views.get(document.uri.toString());
    const source = own ? own.source.toString() : document.uri.toString();
    const views = [...this.views.values()].filter((view) => view.source.toString() === source);
    if (views.length === 0) {
      return;
    }
    const named = own ? (own.moved === undefined ? [] : toSource(own.assembly, lines, own.moved)) : [lines];
    if (own) {
      this.markAll(source, named);
    }
    for (const view of views.filter((each) => each !== own)) {
      const { assembly, moved } = view;
      this.markAll(view.uri.toString(), moved === undefined ? [] : named.flatMap((span) => toView(assembly, span, moved)));
    }
    editor.setDecorations(this.highlight, []);
  }

  private markAll(uri: string, spans: readonly Span[]): void {
    vscode.window.visibleTextEditors
      .filter(({ document }) => document.uri.toString() === uri)
      .forEach((editor) => this.mark(editor, spans));
  }

  private mark(editor: vscode.TextEditor, spans: readonly Span[]): void {
    const ranges = spans.map(({ first, last }) => new vscode.Range(first, 0, last, 0));
    editor.setDecorations(this.highlight, ranges);
    const [first] = ranges;
    if (first && !ranges.some((range) => editor.visibleRanges.some((seen) => seen.intersection(range)))) {
      editor.revealRange(first, vscode.TextEditorRevealType.InCenter);
    }
  }

  private onEdited(document: vscode.TextDocument): void {
    for (const view of this.views.values()) {
      if (view.source.toString() !== document.uri.toString()) {
        continue;
      }
      const start = view.kernel === undefined ? undefined : kernelStart(plain(document), view.kernel);
      const before = view.moved;
      view.moved = start === undefined ? undefined : start - view.assembly.range.start;
      if ((before === undefined) !== (view.moved === undefined)) {
        this.texts.fire(view.uri);
        this.badges.fire(view.uri);
      }
    }
  }

  /** What is in view follows a save; what is hidden waits until somebody asks. */
  private onSaved(document: vscode.TextDocument): void {
    const shown = vscode.window.visibleTextEditors.map((editor) => editor.document.uri.toString());
    for (const view of [...this.views.values()]) {
      const ours = view.source.toString() === document.uri.toString();
      if (ours && view.moved === undefined && shown.includes(view.uri.toString()) && vscode.workspace.isTrusted) {
        void this.open(again(view), view);
      }
    }
  }

  private inFront(): View | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    return input instanceof vscode.TabInputText ? this.views.get(input.uri.toString()) : undefined;
  }
}

/** A document's text with newlines for line ends, as the lines of an answer count. */
function plain(document: vscode.TextDocument): string {
  return document.getText().replace(/\r\n?/g, "\n");
}

function again(view: View): Wanted {
  const { kernel, target, stage } = view.assembly;
  return { source: view.source, kernel, target, stage };
}

/** What a code lens passes: `{uri, kernel, target}`. */
function wantedOf(argument: unknown): Wanted | undefined {
  if (typeof argument !== "object" || argument === null || !("uri" in argument)) {
    return undefined;
  }
  const { uri, kernel, target } = argument as Record<string, unknown>;
  return {
    source: vscode.Uri.parse(String(uri)),
    ...(typeof kernel === "string" ? { kernel } : {}),
    ...(typeof target === "string" ? { target } : {}),
  };
}

function atCursor(): Wanted | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor?.document.languageId === "python"
    ? { source: editor.document.uri, line: editor.selection.active.line }
    : undefined;
}

function tabsOf(uri: vscode.Uri): readonly vscode.Tab[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.filter((tab) => tab.input instanceof vscode.TabInputText && tab.input.uri.toString() === uri.toString());
}

function columnOf(uri: vscode.Uri): vscode.ViewColumn | undefined {
  return tabsOf(uri)[0]?.group.viewColumn;
}

async function close(uri: vscode.Uri): Promise<void> {
  await vscode.window.tabGroups.close(tabsOf(uri));
}

