"""The Thinker for issues on GitHub. It is offered if a token and a repository are set."""

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="engineering",
    label="Engineering",
    description=(
        "issues, bugs and tickets on GitHub: "
        "which there are, what one says, opening, commenting on or closing one; also their yes or no "
        "to such an act that was just asked about, with the act named in full"
    ),
    example="Which issues are open on GitHub?",
    examples=(
        "What does issue twelve say?",
        "Close issue five.",
        "Open an issue about the broken link.",
    ),
    prompt=(
        "You look after issues on GitHub with github_issue. If it is not plain which one is meant, list them, and ask "
        "if several fit. Creating, commenting and closing are seen by others: the tool says first that the user has to "
        "agree, and nothing has been done then. Say exactly what would be posted or closed, where, and ask. If the "
        "conversation shows that you have asked and the user now agrees, make the same call with the same arguments. "
        "Say only what the tool confirms as done, with the issue's number."
    ),
    tools=("github_issue",),
    cache_ttl_s=0,
    deadline_s=30,
    filler="Still waiting for GitHub.",
    preferences=("time_zone",),
    phrases=(
        "Comment on issue two that it works now.",
        "Show me the bugs on GitHub.",
        "List the open issues.",
        "List the issues in the repository.",
        "Are there new issues?",
        "Are there any new tickets or bug reports?",
        "Which tickets are open?",
        "Which bugs have been reported?",
        "How many issues are open?",
        "Read out ticket number nine.",
        "Tell me about issue forty.",
        "What's in issue three?",
        "What is bug number six about?",
        "Who commented on issue ten?",
        "What are the comments on issue four?",
        "Show the comments of that ticket.",
        "Reply to issue eight that it is fixed.",
        "Write a comment on issue eleven: I can reproduce it.",
        "Add a comment to the bug.",
        "Close the ticket.",
        "Close bug number fourteen.",
        "Report a bug: the page does not load.",
        "File a bug about the crash.",
        "File an issue: the app freezes.",
        "Create a ticket about the missing button.",
        "Open a new issue on GitHub.",
        "Open a bug report that the menu is too small.",
        "Which issues were closed?",
        "Show me the closed tickets.",
        "Has somebody fixed the login problem on GitHub?",
        "What's new in the repository?",
    ),
)
