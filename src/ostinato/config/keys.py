"""The settings that are known, once: the check, the published schema and the page of the documentation come from here."""

from typing import Final

from ostinato.config.shape import (
    Amount,
    Anything,
    Fields,
    Hooks,
    Key,
    Named,
    Switch,
    Text,
    Texts,
    Variables,
    Whole,
)
from ostinato.option_values import EFFORTS, PERMISSION_MODES

PERMISSIONS: Final = Fields((
    Key("allow", Texts(), "Rules whose calls run without a question, such as `Bash(npm test:*)`."),
    Key("deny", Texts(), "Rules whose calls never run; they win over everything else.", restricts=True),
    Key("ask", Texts(), "Rules whose calls are always asked for; they win over `allow`.", restricts=True),
    Key(
        "defaultMode",
        Text(PERMISSION_MODES),
        "The permission mode at the start. A project cannot set `bypassPermissions`.",
    ),
    Key("additionalDirectories", Texts(), "Folders to work in besides the working folder."),
    Key(
        "disableBypassPermissionsMode",
        Text(("disable",)),
        "`disable` takes the mode `bypassPermissions` away.",
        restricts=True,
    ),
))

PRICES: Final = Fields(
    (
        Key("input", Amount(), "US dollars for a million tokens sent."),
        Key("output", Amount(), "US dollars for a million tokens received."),
        Key("cacheRead", Amount(), "US dollars for a million tokens read from the cache; else as `input`."),
        Key(
            "cacheWrite",
            Amount(),
            "US dollars for a million tokens written to the cache; else as `input`, at Anthropic 1.25 times that.",
        ),
    ),
    is_closed=True,
)

MODEL: Final = Fields((
    Key("contextWindow", Whole(1), "Tokens that fit into the model."),
    Key("maxOutputTokens", Whole(1), "Tokens of one reply, at most."),
    Key("prices", PRICES, "What it costs."),
    Key("takesImages", Switch(), "Whether it can see images."),
    Key("takesTemperature", Switch(), "Whether a request may have a temperature."),
    Key(
        "outputParameter",
        Text(("max_tokens", "max_completion_tokens")),
        "The server's name for the limit of a reply.",
    ),
    Key(
        "thinkingForm",
        Text(("none", "budget", "adaptive", "effort", "effort_without_tools")),
        "How thinking is asked for.",
    ),
    Key(
        "reasoningEcho",
        Text(("given", "always", "never")),
        "Whether earlier reasoning goes back to the server.",
    ),
    Key(
        "openaiWire",
        Text(("chat", "responses")),
        "Which of OpenAI's two wires its server speaks; it wins over the one that the name chooses.",
    ),
    Key(
        "overflowPatterns",
        Texts(),
        "What its server says when a prompt is too long: regular expressions, or plain text.",
    ),
    Key("searchesWeb", Switch(), "Whether its provider can search the web inside a reply (tools.md)."),
))

FEATURES: Final = Fields((
    Key("streamingToolExecution", Switch(), "Tools start while the reply still streams."),
    Key("sequentialTools", Switch(), "One tool at a time."),
    Key("maxToolConcurrency", Whole(1), "How many tools run at the same time, at most."),
    Key(
        "loopGuard",
        Text(("off", "note", "stop")),
        "What happens when the model goes round in circles (loop-guards.md).",
    ),
    Key("snip", Switch(), "Rounds that later ones repeat are taken out of what the model sees (context.md)."),
    Key("snipTool", Switch(), "The model may have old rounds hidden that it needs no more (context.md)."),
    Key("microcompact", Switch(), "Old results of tools give way to a note (context.md)."),
    Key(
        "collapse", Switch(), "Finished parts of a long conversation give way to short accounts (context.md)."
    ),
))

WEB_SEARCH: Final = Fields(
    (
        Key("url", Text(), "The address of a search service, with `{query}` in it."),
        Key(
            "headers",
            Variables(),
            "Headers that go to it; `${NAME}` stands for a variable, so that a key need not be in the file.",
        ),
    ),
    is_closed=True,
)

WEB: Final = Fields(
    (
        Key(
            "privateHosts",
            Texts(joins=False),
            "Places that WebFetch may read although they are not public (`localhost:8000`, `10.0.0.0/8`).",
        ),
        Key("search", WEB_SEARCH, "What WebSearch asks."),
    ),
    is_closed=True,
)

SETTINGS: Final = Fields((
    Key("$schema", Text(), "The address of this schema, for editors.", is_used=False),
    Key("permissions", PERMISSIONS, "What may run, what may not, and what is asked for."),
    Key("model", Text(), "The model to use."),
    Key("models", Named(MODEL), "What is known of models, by name; it wins over the built-in catalogue."),
    Key("appendSystemPrompt", Text(), "Text behind the system prompt."),
    Key(
        "env", Variables(), "Environment variables for the session; they win over those it was started with."
    ),
    Key("features", FEATURES, "Gates of the loop, taken once when a conversation starts."),
    Key("maxTurns", Whole(1), "The number of turns after which a query ends."),
    Key(
        "fallbackModel",
        Texts(joins=False, may_be_one=True),
        "Models that take over, in order, when the chosen one gives out; at most three.",
    ),
    Key(
        "smallModel",
        Text(),
        "The model that is asked beside the conversation: by tools (WebFetch's `prompt`), and for accounts (`features.collapse`).",
    ),
    Key("web", WEB, "The web as the tools reach it."),
    Key("apiKeyHelper", Text(), "A command that prints the key for the model's provider."),
    Key(
        "claudeMdExcludes",
        Texts(),
        "Patterns of instruction files that are not loaded. Those of the machine always are.",
    ),
    Key("hooks", Hooks(), "Commands that run at points of the loop.", is_used=False),
    Key("disableAllHooks", Switch(), "Runs no hooks of settings.", is_used=False),
    Key("disableSkillShellExecution", Switch(), "Runs no shell lines of slash commands."),
    Key(
        "cleanupPeriodDays",
        Whole(1),
        "Days without use after which a session is deleted. A project cannot set it.",
    ),
    Key("autoCompactEnabled", Switch(), "Shortens the context when it is nearly full."),
    Key("effortLevel", Text(EFFORTS), "How hard the model thinks."),
    Key("alwaysThinkingEnabled", Switch(), "Lets the model think by default."),
    Key(
        "pidNamespace",
        Switch(),
        "Commands see only the processes of their conversation, where the system allows it (processes.md); `false` turns it off.",
    ),
    Key("autoMemoryEnabled", Switch(), "Lets the model keep notes between sessions.", is_used=False),
    Key("outputStyle", Text(), "The name of an output style.", is_used=False),
    Key("statusLine", Anything("object"), "A command that prints the status line.", is_used=False),
    Key("enableAllProjectMcpServers", Switch(), "Starts all servers of `.mcp.json`.", is_used=False),
    Key("enabledMcpjsonServers", Texts(), "Servers of `.mcp.json` to start.", is_used=False),
    Key("disabledMcpjsonServers", Texts(), "Servers of `.mcp.json` not to start.", is_used=False),
    Key("sandbox", Anything("object"), "How commands are closed in.", is_used=False),
    Key("enabledPlugins", Anything("object"), "Plugins that are on, by `name@marketplace`.", is_used=False),
    Key("extraKnownMarketplaces", Anything("object"), "Where plugins may come from.", is_used=False),
    Key(
        "attribution",
        Anything("object"),
        "What commits and pull requests say of their author.",
        is_used=False,
    ),
))
