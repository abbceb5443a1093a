"""What is kept of a turn: no secret, nothing private, nothing that gitmem itself said."""

from __future__ import annotations

import re
from dataclasses import replace

from gitmem.sessions.model import About, Turn
from gitmem.text.fence import unfenced
from gitmem.text.secrets import redact, without_private

HEAD, TAIL = 12, 6
"""Lines of a tool's output that are kept, from its beginning and from its end."""

OUTPUT = 600
"""Characters of a tool's output that are kept."""

LONGEST = 64 * 1024
"""Characters of anything else that are kept."""

_OWN = re.compile(
    r"""(?x)
      (?:mcp__(?:plugin_gitmem_)?gitmem__|mcp_gitmem_|gitmem__)\w+ (?:\W|$)  # its MCP tools
    | [\w.-]+ :\ (?: [^\n;|&]*[\s/] )? (?:
          gitmem (?=\s|$) | memory\.py\s )                   # a shell that runs it
    """
)


def clean(turn: Turn) -> tuple[Turn | None, tuple[str, ...]]:
    """Return what is kept of a turn (None: nothing), and the rules that found secrets in it."""
    if turn.role == "tool" and _OWN.match(turn.text):
        return None, ()
    text = without_private(unfenced(turn.text.replace("\0", "\ufffd")))
    if turn.role == "tool":
        text = _cut(text)
    redacted = redact(text[:LONGEST])
    left = len(text) - LONGEST
    kept = redacted.text.strip() + (f"\n[… {left:,} more characters]" if left > 0 else "")
    return (replace(turn, text=kept) if kept else None), redacted.found


def clean_about(about: About) -> About:
    """Return what is kept of what a session says of itself: its title is often the first prompt."""
    title = redact(without_private(unfenced(about.title))).text.strip()
    return replace(about, title=title)


def _cut(text: str) -> str:
    """Keep the call, and of the output its beginning and its end."""
    call, newline, output = text.partition("\n")
    lines = output.splitlines()
    if len(lines) > HEAD + TAIL:
        left = len(lines) - HEAD - TAIL
        lines = [*lines[:HEAD], f"[… {left:,} more lines]", *lines[-TAIL:]]
    short = "\n".join(lines)
    if len(short) > OUTPUT:
        left = len(short) - OUTPUT
        half = OUTPUT * 2 // 3
        short = f"{short[:half]}\n[… {left:,} more characters]\n{short[half - OUTPUT :]}"
    return call[:OUTPUT] + newline + short
