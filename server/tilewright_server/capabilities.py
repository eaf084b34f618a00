"""What the client said it can do, reduced to the questions this server asks; kinds of actions."""

from dataclasses import dataclass
from typing import Any

from lsprotocol import types

OPTIMIZE_KIND = "refactor.rewrite.tilewright"
INPUTS_KIND = "refactor.inputs.tilewright"
FIX_ALL_KIND = "source.fixAll.tilewright"
CODE_ACTION_OPTIONS = types.CodeActionOptions(
    code_action_kinds=[types.CodeActionKind.QuickFix, OPTIMIZE_KIND, INPUTS_KIND, FIX_ALL_KIND],
    resolve_provider=True,
)
COMPLETION_OPTIONS = types.CompletionOptions(
    trigger_characters=[".", "(", ",", "=", ":", '"', "'"], resolve_provider=True
)
SIGNATURE_OPTIONS = types.SignatureHelpOptions(trigger_characters=["(", ","])


@dataclass(frozen=True)
class ClientFeatures:
    """The client's abilities; all False before ``initialize``."""

    pull_diagnostics: bool = False
    diagnostic_refresh: bool = False
    code_lens_refresh: bool = False
    inlay_hint_refresh: bool = False
    related_information: bool = False
    markdown_hover: bool = False
    markdown_completion: bool = False
    document_changes: bool = False
    change_annotations: bool = False
    resolves_edits: bool = False
    shows_disabled: bool = False
    work_done_progress: bool = False
    message_request: bool = False
    show_document: bool = False
    configuration: bool = False
    dynamic_configuration: bool = False
    dynamic_watching: bool = False
    apply_edit: bool = False
    hierarchical_symbols: bool = False
    semantic_tokens_refresh: bool = False


def read_features(capabilities: types.ClientCapabilities) -> ClientFeatures:
    """The abilities in a client's ``initialize`` request."""

    def capability_at(path: str) -> Any:
        part: Any = capabilities
        for name in path.split("."):
            part = getattr(part, name, None)
        return part

    resolved = capability_at("text_document.code_action.resolve_support.properties")
    return ClientFeatures(
        pull_diagnostics=capability_at("text_document.diagnostic") is not None,
        diagnostic_refresh=bool(capability_at("workspace.diagnostics.refresh_support")),
        code_lens_refresh=bool(capability_at("workspace.code_lens.refresh_support")),
        inlay_hint_refresh=bool(capability_at("workspace.inlay_hint.refresh_support")),
        related_information=bool(
            capability_at("text_document.publish_diagnostics.related_information")
        )
        or bool(capability_at("text_document.diagnostic.related_information")),
        markdown_hover=types.MarkupKind.Markdown
        in (capability_at("text_document.hover.content_format") or ()),
        markdown_completion=types.MarkupKind.Markdown
        in (capability_at("text_document.completion.completion_item.documentation_format") or ()),
        document_changes=bool(capability_at("workspace.workspace_edit.document_changes")),
        change_annotations=capability_at("workspace.workspace_edit.change_annotation_support")
        is not None,
        resolves_edits="edit" in (resolved or ()),
        shows_disabled=bool(capability_at("text_document.code_action.disabled_support")),
        work_done_progress=bool(capability_at("window.work_done_progress")),
        message_request=capability_at("window.show_message") is not None,
        show_document=bool(capability_at("window.show_document.support")),
        configuration=bool(capability_at("workspace.configuration")),
        dynamic_configuration=bool(
            capability_at("workspace.did_change_configuration.dynamic_registration")
        ),
        dynamic_watching=bool(
            capability_at("workspace.did_change_watched_files.dynamic_registration")
        ),
        apply_edit=bool(capability_at("workspace.apply_edit")),
        hierarchical_symbols=bool(
            capability_at("text_document.document_symbol.hierarchical_document_symbol_support")
        ),
        semantic_tokens_refresh=bool(capability_at("workspace.semantic_tokens.refresh_support")),
    )
