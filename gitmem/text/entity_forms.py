"""Tokens by form: one regex that keeps paths, identifiers, issues, versions and URLs whole.

Everything else becomes words, single Chinese, Japanese or Korean characters, and punctuation,
so that `我们使用PostgreSQL做数据库` yields the word `PostgreSQL`. A repetition is possessive, or a
lookbehind lets it start once in a run only: the time is linear in the text. A group is repeated
inside an atomic one: Python before 3.11.5 matches `(?: … )*+` wrongly.
"""

from __future__ import annotations

import re
from functools import cache

from gitmem.text.entity_names import gazetteer

TYPES = frozenset(("url", "issue", "path", "version", "technology", "identifier", "person"))
"""The named groups of `tokens()` that are entities; a token of any other group is not."""

# «name» stands for a part below, or for a list of the gazetteer's [forms], as alternatives.
FORMS = r"""
  (?P<space> \s+ )
| (?P<email> (?<![\w.+-]) (?!git@) [\w.+-]++ @ [\w-]++ (?:\.[\w-]++)* (?<=[A-Za-z]{2}) )
| (?P<url> (?<![\w.-]) (?:
      (?: (?:https?|ftp|ssh|git|file)://(?=[\w/]) | www\.(?=\w) ) «urlchar»* (?<![.,;:!?*_])
    | git@ [\w.-]++ : [\w./-]*\w
    | (?<![/@]) (?: [a-z0-9][a-z0-9-]*+ \. )+ (?:
          (?:com|org|edu|gov) (?: / «urlchar»* (?<![.,;:!?*_]) )?
        | (?:io|dev|ai|app|cn|net) / «urlchar»* (?<![.,;:!?*_]) ) (?![\w-]) ) )
| (?P<issue> (?<![\w/&#.-]) (?:
      (?: [\w.-]++ / [\w.-]++ )? \# [1-9]\d{0,5} (?![\w-])
    | (?i: issue|pr|mr|pull\ request|merge\ request ) [ ] [1-9]\d{0,5} (?![\w-]|[.,]\d)
    | CVE-\d{4}-\d{4,7}
    | (?! (?:«not_issues») - ) [A-Z][A-Z0-9]{1,9} - [1-9]\d{0,5} (?![\w-]) ) )
| (?P<path> (?<![\w/.~<$+-]) (?<![\w/.~+-][@*]) (?<![\w/.~+-]\*\*) (?=[\w./~*]) (?:
      [A-Za-z]:\\ [\w.\\-]*\w                                       # C:\work\notes.txt
    | (?: (?: ~ | \.\.? (?> (?:/\.\.)* ) ) / «segment»              # ~/x  ../x
        | / (?:«roots») (?![\w.-]) | / «segment» / «inner» )        # /tmp  /a/b
      (?> (?: / «inner» )* ) /?
    | (?=[\w.*]) (?: «segment» / (?> (?: «inner» / )* ) )? (?:      # src/缓存/redis.py
          (?!(?:«not_files»)\b) «stem» \. (?:«extensions») (?! [\w(] | \.\w | /\w )
        | (?:«files») (?! [\w-] | \.\w ) )                          # docker/Dockerfile
    | «segment» / (?> (?: «inner» / )* ) [«cjk»]++ \. (?:«extensions») (?!\w)
    | (?:«folders») (?> (?: / «inner» )+ ) /?                       # docs/parts
    | (?=[a-z_]) (?= (?:[a-z]*/){3} | [a-z/]*[A-Z0-9_.-] )          # refs/notes/gitmem/shared
      «segment» (?> (?: / (?=[a-z_.]) «segment» ){2,} ) (?![\w/])
    | (?= \w\w | \.\w ) «segment» (?> (?: / «segment» )* ) / (?![\w*])  # docs/
    | (?<=`) (?=[\w.]) «segment» (?> (?: / «segment» )+ ) (?=`)     # `feature/login`
    | (?<![)\]]) \. (?:«dotfiles») (?! [\w(-] ) ) )                 # .git
| (?P<version> (?<![\w$.-]) (?:
      v\d++ (?:\.\d++){0,3} (?: \.x\b | «prerelease» )? (?![\w-])
    | \d++ \. \d++ \. (?: x\b | \d++ (?: «prerelease» )? ) (?! \w | \.\d | -\d )
    | \d++ \. x\b
    | (?: (?<=ersion[ ]) | (?<=elease[ ]) | (?<=版本) ) \d++\.\d++ (?! \w | \.\d ) ) )
| (?P<technology> (?<![\w./-]) (?i:«models») (?=[\w.-]*\d) [-\d] [\w.-]* (?<![.-]) )
| (?P<identifier> (?<![\w\\-]) (?!(?:«not_identifiers»)\b) (?:
      -- [A-Za-z][\w-]*+                                            # --dry-run
    | @ [a-z][\w.-]*+ / [a-z][\w-]*+ (?![\w/.])                     # @types/node
    | (?<=`@) [A-Za-z_][\w.]*+
    | (?<![/.~<>)}\]]) / [a-z][\w-]++ (?![\w/.])                    # /review
    | [A-Za-z_]\w*+ (?> (?: ::~?[A-Za-z_]\w*+ )+ )                  # std::fs::read
    | (?<!\.) (?! (?> (?:[A-Za-z]\.)+ ) (?:[A-Za-z]\b)? (?!\w) )    # but not e.g.
      [A-Za-z_]\w*+ (?> (?: (?:\(\))? \. (?!(?:«openers»)\b) [A-Za-z_]\w*+ )+ )  # os.path.join
    | [A-Za-z_]\w*+ (?=\(\))                                        # run()
    | (?!\d) (?= \w*? [A-Za-z0-9] _++ [A-Za-z0-9] ) \w++            # get_user, MAX_RETRIES
    | (?: [a-z]{2,}+[0-9]*+ | [a-z](?=[A-Z][a-z]) ) [A-Z]\w*+       # getUser
    | [A-Z][a-z]++[0-9]*+[A-Z]\w*+ | [A-Z]{2,}[a-z]{3,}\w*+         # UserCache, HTTPServer
    | (?<=`) [A-Za-z_][\w-]++ (?= ` | :[ ] | = )                    # `Spinner`
    | [A-Z][A-Z0-9]++ (?= =\w ) ) )                                 # DEBUG=1
| (?P<person> (?<=@) (?<![\w`./]@) (?: (?!(?:«not_people»)\b) [A-Za-z] (?> (?: -?\w )* )
    | [\u4e00-\u9fff]{2,3} (?![\u4e00-\u9fff]) ) )
| (?P<number> \d++ (?> (?: [.,]\d++ )* ) (?!\w) )
| (?P<cjk> [«cjk»] )
| (?P<word> «word» (?> (?: - (?!(?:«suffixes»)\b) «word» )* ) | [\u0250-\u1fff]++ )
| (?P<other> . )
"""

PARTS = {
    "segment": r"(?> (?: [\w+~-]++ | \.++(?=[\w+~-]) | \*{1,2}(?=[/.]) )+ )",
    "inner": r"(?: @?«segment» | [«cjk»]++(?=/) )",
    "stem": r"(?: \*\*?(?=\.) | (?: [\w+~-] | \.(?=[\w+-]) )+ )",
    "prerelease": r"(?: [-.+]?(?:a|b|c|rc)\d | [-.+](?:alpha|beta|rc|pre|dev|post|next|canary)"
    r" | [-+]\d ) \w*+ (?> (?: [.+-]\w++ )* )",
    "urlchar": r"[^\s()\[\]{}<>\"'`|\\«cjk»]",
    "word": r"[A-Za-z0-9\u00c0-\u024f]++",
    # Scripts written without spaces, and their punctuation.
    "cjk": "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff",
}


@cache
def tokens() -> re.Pattern[str]:
    """Compile the tokeniser; every character matches, `lastgroup` is the token's form."""
    return re.compile(_expand(FORMS), re.VERBOSE | re.ASCII | re.DOTALL)


def _expand(pattern: str) -> str:
    return re.sub("«(.*?)»", lambda match: _part(match[1]), pattern)


def _part(name: str) -> str:
    if name in PARTS:
        return _expand(PARTS[name])
    words = gazetteer().models if name == "models" else gazetteer().forms[name]
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
