"""The MCP server itself: it lists tools, resources and prompts, and answers calls."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListRootsRequest,
    ListRootsResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    RootsCapability,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool
from pydantic import ValidationError

from tilewright import __version__
from tilewright.textfile import encodable
from tilewright_server.mcp import pages
from tilewright_server.mcp.answers import Answer
from tilewright_server.mcp.boundary import guard
from tilewright_server.mcp.engine import Engine
from tilewright_server.mcp.progress import Progress
from tilewright_server.mcp.refusal import RefusedError
from tilewright_server.mcp.roots import Roots, from_uris
from tilewright_server.mcp.texts import as_text
from tilewright_server.mcp.tools import TOOLS, Call, Certificates, Tool

Context = ServerRequestContext[Any, Any]
logger = logging.getLogger(__name__)
_PATIENCE_S = 10.0
_KEY = "roots"
_WANTED = ClientCapabilities(roots=RootsCapability())


async def roots_for(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams, own: Roots
) -> Roots | InputRequiredResult:
    """The server's roots and the client's, where it has any; or the question for them.

    Raises:
        RefusedError: the client has roots and does not name them.
    """
    if not ctx.session.check_client_capability(_WANTED):
        return own
    if ctx.session.can_send_request:
        return own.meet(_folders(await _roots_of_client(ctx)))
    answer = (params.input_responses or {}).get(_KEY)
    if answer is None:
        # A client of this version is asked by an unfinished result, and calls again.
        return InputRequiredResult(input_requests={_KEY: ListRootsRequest()})
    if not isinstance(answer, ListRootsResult):
        raise RefusedError("the client answered the question for its roots with something else")
    return own.meet(_folders(answer))


async def _roots_of_client(ctx: ServerRequestContext[Any, Any]) -> ListRootsResult:
    try:
        return await ctx.session.send_request(
            ListRootsRequest(), ListRootsResult, request_read_timeout_seconds=_PATIENCE_S
        )
    except (MCPError, ValidationError) as error:
        logger.warning("roots/list: %s", error)
        raise RefusedError(
            "the client says that it has roots and does not list them, so nothing is read"
        ) from None


def _folders(result: ListRootsResult) -> tuple[str, ...]:
    return from_uris(str(root.uri) for root in result.roots)


@dataclass(frozen=True)
class Settings:
    """What the command line of the server sets; ``command`` starts the engine."""

    roots: Roots
    device: str
    limit_s: float
    command: Sequence[str]


class Service:
    """The handlers of one server; its certificates are those of the session."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._engine = Engine(settings.command)
        self._certificates = Certificates()

    def server(self) -> Server[Any]:
        """A server that answers with these handlers."""
        return Server(
            "tilewright",
            version=__version__,
            title="Tilewright",
            instructions=pages.INSTRUCTIONS,
            on_list_tools=_list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=_list_resources,
            on_read_resource=_read_resource,
            on_list_prompts=_list_prompts,
            on_get_prompt=_get_prompt,
        )

    async def _call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(INVALID_PARAMS, f"unknown tool {params.name[:100]!r}; known: {known}")
        try:
            arguments = tool.arguments.model_validate(params.arguments or {})
        except ValidationError as error:
            return _refused(_misused(tool, error))
        try:
            with guard(tool.name):
                roots = await roots_for(ctx, params, self._settings.roots)
                if isinstance(roots, InputRequiredResult):
                    return roots
                async with Progress(ctx.session.report_progress).sending() as progress:
                    return _answered(await tool.call(self._work(roots, progress), arguments))
        except RefusedError as refused:
            return _refused(f"Not done: {refused}")

    def _work(self, roots: Roots, progress: Progress) -> Call:
        settings = self._settings
        return Call(
            self._engine, roots, progress, self._certificates, settings.device, settings.limit_s
        )


def serve(settings: Settings) -> None:
    """Serve one client on standard input and output until it leaves."""
    with contextlib.suppress(KeyboardInterrupt):
        anyio.run(_serve, settings)


async def _serve(settings: Settings) -> None:
    server = Service(settings).server()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _answered(answer: Answer) -> CallToolResult:
    """The result on the wire; what JSON cannot hold shows here and not when it is written."""
    return CallToolResult(
        content=[TextContent(text=encodable(as_text(answer)))],
        structured_content=json.loads(answer.model_dump_json()),
    )


def _refused(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=encodable(message))], is_error=True)


def _misused(tool: Tool[Any, Any], error: ValidationError) -> str:
    found = []
    for one in error.errors(include_url=False, include_context=False, include_input=False)[:8]:
        where = ".".join(map(str, one["loc"]))
        what = one["msg"].removeprefix("Value error, ")
        found.append(f"{where}: {what}" if where else what)
    names = ", ".join(tool.arguments.model_fields)
    return f"Not done: wrong arguments for {tool.name}: {'; '.join(found)}. It takes: {names}."


async def _list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
    del ctx, params
    return ListToolsResult(tools=[_listed(tool) for tool in TOOLS.values()])


def _listed(tool: Tool[Any, Any]) -> ListedTool:
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_untitled(tool.arguments.model_json_schema()),
        output_schema=_untitled(tool.answer.model_json_schema(mode="serialization")),
        annotations=ToolAnnotations(
            title=tool.title, read_only_hint=True, destructive_hint=False, open_world_hint=False
        ),
    )


def _untitled(schema: Any) -> Any:
    """A schema without titles, which repeat the names: an agent reads each list of tools."""
    if isinstance(schema, dict):
        kept = {n: i for n, i in schema.items() if not (n == "title" and isinstance(i, str))}
        return {name: _untitled(item) for name, item in kept.items()}
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema


async def _list_resources(
    ctx: Context, params: PaginatedRequestParams | None
) -> ListResourcesResult:
    del ctx, params
    issues = await asyncio.to_thread(pages.listed)
    return ListResourcesResult(
        resources=[
            Resource(
                name=issue.id,
                title=issue.title,
                uri=f"{pages.SCHEME}{issue.id}",
                mime_type="text/markdown",
            )
            for issue in issues
        ]
    )


async def _read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    del ctx
    try:
        if not params.uri.startswith(pages.SCHEME):
            raise RefusedError(f"only {pages.SCHEME}ID can be read here")
        text = await asyncio.to_thread(pages.page, params.uri.removeprefix(pages.SCHEME))
    except RefusedError as refused:
        raise MCPError(INVALID_PARAMS, str(refused)) from None
    return ReadResourceResult(
        contents=[TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)]
    )


async def _list_prompts(ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
    del ctx, params
    return ListPromptsResult(
        prompts=[
            Prompt(
                name=pages.PROMPT,
                title=pages.PROMPT_TITLE,
                description="Check, profile, propose edits and verify each; keep what holds.",
                arguments=[
                    PromptArgument(name="path", description="File with kernels.", required=True),
                    PromptArgument(name="target", description="Chip, e.g. cuda:90."),
                ],
            )
        ]
    )


async def _get_prompt(ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
    del ctx
    values = params.arguments or {}
    if params.name != pages.PROMPT or not values.get("path"):
        raise MCPError(INVALID_PARAMS, f"the only prompt is {pages.PROMPT}; it needs `path`")
    text = pages.prompt(values["path"], values.get("target"))
    return GetPromptResult(
        description=pages.PROMPT_TITLE,
        messages=[PromptMessage(role="user", content=TextContent(text=text))],
    )
