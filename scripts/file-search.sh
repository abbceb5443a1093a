#!/bin/sh
# Search the files of the repository one is in: file-search.sh QUERY [N]
# Prints at most N (10) lines, path:line: passage, best first.
set -eu
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: file-search.sh QUERY [N]" >&2
    exit 1
fi
venv=$(dirname "$0")/../.venv/bin/gitmem
gitmem=$(command -v gitmem || true)
if [ -z "$gitmem" ] && [ -x "$venv" ]; then
    gitmem=$venv
fi
if [ -z "$gitmem" ]; then
    echo "file-search.sh: gitmem is not installed; ./scripts/setup installs it" >&2
    exit 1
fi
found=$("$gitmem" search --in files -n "${2:-10}" -- "$1") # ends here, with its code, if it fails
printf '%s\n' "$found" | sed -e '/^([0-9]* hits\{0,1\}; searched: /d' -e '/^nothing matched /d' -e '/^$/d'
