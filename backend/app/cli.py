"""The command `responder-thinker`."""

import asyncio
import gc
import logging
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer
import uvloop
from rich.console import Console

from backend.access.principal import Grant
from backend.errors import VoiceError
from backend.observability.logs import LogFormat, set_up_logs
from backend.runtime.child_process import running
from backend.settings.access import key_pairs
from backend.settings.settings import load_settings

app = typer.Typer(
    help="A voice assistant server: calls, typed conversations, and Thinkers that look things up.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


documents = typer.Typer(help="Add documents for Thinkers to search.", no_args_is_help=True)
app.add_typer(documents, name="kb")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(version("responder-thinker"))
        raise typer.Exit


@app.callback()
def main_options(
    asked: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version, and exit.")
    ] = False,
) -> None:
    """A voice assistant server: calls, typed conversations, and Thinkers that look things up."""


LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    typer.Option(envvar="LOG_LEVEL", case_sensitive=False, help="Print messages of this level and above."),
]
LogForm = Annotated[
    LogFormat,
    typer.Option("--log-format", envvar="LOG_FORMAT", help="Print messages as text, or as one JSON object per line."),
]
LogWords = Annotated[
    bool,
    typer.Option("--log-words", envvar="LOG_WORDS", help="Let messages hold what users say, with --log-level debug."),
]


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")] = 8000,
    log_level: LogLevel = "warning",
    log_form: LogForm = "text",
    log_words: LogWords = False,
    shared_port: Annotated[
        bool, typer.Option("--shared-port", help="Share the port with other processes (needs SHARE_SESSIONS).")
    ] = False,
    announce: Annotated[bool, typer.Option(hidden=True)] = True,
) -> None:
    """Start the server: the page and the API. Settings are read from the environment and .env."""
    set_up_logs(log_level, log_form, "server", words=log_words)
    settings = load_settings()
    if settings.server.workers > 1 and not shared_port:
        from backend.app.worker_processes import supervise

        options = ["--log-level", log_level, "--log-format", log_form, *["--log-words"] * log_words]
        uvloop.run(supervise(settings, host, port, options))
    else:
        gc.disable()  # off until `open_app` has built everything: collecting would take a fifth of the start
        from backend.app.server import serve as serve_until_signal

        uvloop.run(serve_until_signal(settings, host, port, shared_port=shared_port, announce=announce))


@app.command()
def worker(
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=64, help="Tasks to run in parallel; default: BACKGROUND__CONCURRENCY.")
    ] = None,
    log_level: LogLevel = "info",
    log_form: LogForm = "text",
    log_words: LogWords = False,
) -> None:
    """Run background tasks for the servers that share this Redis. It reads the same settings as serve."""
    from backend.app.task_worker import work

    set_up_logs(log_level, log_form, "worker", words=log_words)
    uvloop.run(work(load_settings(), concurrency))


@app.command()
def doctor() -> None:
    """Check everything a call needs, and say how to fix what fails.

    It tries codecs, Redis, the database, the provider and its key, the network and the disk.
    """
    from backend.app.doctor import Finding, run_checks

    logging.basicConfig(level="CRITICAL")
    console = Console(highlight=False)
    marks = {"fine": "[green]✓[/]", "note": "[yellow]![/]", "broken": "[bold red]✗[/]"}

    def show(name: str, finding: Finding) -> None:
        console.print(f"{marks[finding.verdict]} {name:<11}", end="")
        console.print(finding.message, markup=False, soft_wrap=True)
        if finding.advice:
            console.print(f"  {'':<11}→ {finding.advice}", markup=False, soft_wrap=True)

    raise typer.Exit(0 if asyncio.run(run_checks(load_settings(), show)) else 1)


@app.command()
def talk(
    file: Annotated[
        Path, typer.Argument(help="A spoken question: WAV, MP3, Opus, FLAC or M4A.", exists=True, dir_okay=False)
    ],
    out: Annotated[Path | None, typer.Option(help="Save the reply to this file.")] = None,
    url: Annotated[str, typer.Option(help="Address of the server.")] = "http://127.0.0.1:8000",
    transport: Annotated[Literal["webrtc", "ws"], typer.Option(help="WebRTC, or the WebSocket fallback.")] = "webrtc",
    conversation: Annotated[str | None, typer.Option(help="ID of a conversation to continue.")] = None,
) -> None:
    """Call the server with a sound file.

    It plays the file as the caller's voice, prints what is said on both sides, and can save the reply.
    """
    from responder_thinker.talk import talk as place_call

    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    calling = place_call(file, out=out, url=url, transport=transport, conversation=conversation)
    raise typer.Exit(asyncio.run(calling))


@app.command()
def chat(
    conversation: Annotated[str | None, typer.Option(help="ID of a conversation to continue.")] = None,
    url: Annotated[str, typer.Option(help="Address of the server.")] = "http://127.0.0.1:8000",
) -> None:
    """Chat with the server by text.

    Calls and chats share their conversations. Type /help for the commands.
    """
    from responder_thinker.chat import chat as converse

    logging.basicConfig(level="WARNING", format="%(levelname)s %(name)s: %(message)s")
    raise typer.Exit(asyncio.run(converse(conversation=conversation, url=url)))


@app.command()
def token(
    sub: Annotated[str, typer.Argument(help="The user's ID in your own program.")],
    grant: Annotated[list[Grant], typer.Option(help="A part of the API it may use; repeat the option for more.")],
    tool: Annotated[
        list[str] | None,
        typer.Option(help="A tool it may use; repeat the option for more. Default: those open to every user."),
    ] = None,
    key: Annotated[str, typer.Option(help="ID of the key in API_KEYS; default: the first one.")] = "",
    minutes: Annotated[int, typer.Option(min=1, max=60, help="Minutes until it expires.")] = 60,
    days: Annotated[
        int,
        typer.Option(min=0, max=366, help="Days until it expires, for a program that only uses tools over MCP."),
    ] = 0,
    conversation: Annotated[str, typer.Option(help="Limit it to this conversation.")] = "",
    origin: Annotated[str, typer.Option(help="Limit it to pages of this origin.")] = "",
) -> None:
    """Create a token for a program or a web page, and print it.

    It is signed with a key from API_KEYS.
    """
    from backend.access.keys import ApiKeys

    settings = load_settings().access
    pairs = key_pairs(settings.api_keys)
    granted: dict[str, object] = dict.fromkeys(grant, True)
    given = {name: value for name, value in (("conversation", conversation), ("origin", origin)) if value}
    keys, tools = ApiKeys.of(settings), {"tools": tool} if tool else {}
    lives_s = days * 86_400 or minutes * 60
    made = keys.sign(key or next(iter(pairs), ""), {"sub": sub, "grants": granted | tools, **given}, lives_s)
    keys.read(made)  # a wrong name is reported here, not when the token is used
    typer.echo(made)


@documents.command("add")
def add_documents(
    path: Annotated[Path, typer.Argument(help="A Markdown or text file, or a folder of them.")],
) -> None:
    """Add documents that Thinkers can search and cite. Add them again to update the index."""
    from backend.tools.kb_search import KnowledgeBase, kb_path

    count = KnowledgeBase(kb_path(load_settings())).add(path)
    Console(highlight=False).print(f"{count} document{'' if count == 1 else 's'} can be searched.", markup=False)


def add_commands_of_extensions() -> None:
    """Add the commands that extensions declare."""
    from backend.app.extensions import installed

    for name, command in ((name, each) for found in installed().extensions for name, each in found.commands.items()):
        passed = {"allow_extra_args": True, "ignore_unknown_options": True}
        app.command(name, help=command.help, add_help_option=False, context_settings=passed)(_running(command.module))


def _running(module: str) -> Callable[[typer.Context], None]:
    """Return a command that runs a module with all arguments, including `--help`."""

    def run(context: typer.Context) -> None:
        raise typer.Exit(subprocess.call([*running(module), *context.args]))

    return run


def main() -> None:
    """Run the command line. Errors of `backend.errors` print two lines, not a traceback."""
    try:
        own = {command.callback.__name__ for command in app.registered_commands if command.callback}
        if not own.intersection(sys.argv[1:2]):
            add_commands_of_extensions()  # sought only where they may be meant, since that takes a second
        app()
    except VoiceError as error:
        console = Console(stderr=True, highlight=False)
        console.print("[bold red]Error:[/] ", end="")
        console.print(str(error), markup=False)
        if error.hint:
            console.print(f"  {error.hint}", markup=False)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
