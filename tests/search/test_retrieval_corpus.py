"""Pages, code and scripts cut into rounds."""

from __future__ import annotations

from benchmarks.corpus import markdown, plain, python

PAGE = """\
# Title

One paragraph
of two lines.

- an item
  that goes on
- another

| head | row |
|---|---|
| a | 1 |
<!-- for programs -->

```sh
# no heading

ls
```
The end.
"""


def test_a_page() -> None:
    assert list(markdown(PAGE, "page.md")) == [
        (1, "# Title\nOne paragraph\nof two lines."),
        (6, "- an item\n  that goes on"),
        (8, "- another"),
        (10, "| head | row |"),
        (12, "| a | 1 |"),
        (15, "```sh\n# no heading\n\nls\n```"),
        (20, "The end."),
    ]


CODE = '''\
"""What it is for."""

import os  # noqa: E402


# Two lines of reasons
# that belong together.
def run() -> None:
    """Run."""
    try:
        os.remove("x")
    except OSError:  # it has gone already
        pass  # fine
'''


def test_code() -> None:
    assert list(python(CODE, "a.py")) == [
        (1, "a.py: What it is for."),
        (6, "Two lines of reasons\nthat belong together.\ndef run() -> None:"),
        (8, "run: Run."),
        (12, "except OSError:  # it has gone already"),
    ]


def test_a_script() -> None:
    script = "#!/bin/sh\n# Builds the wheel twice.\n\nmake  # not the one of BSD, please\n"
    assert list(plain(script, "build")) == [
        (2, "Builds the wheel twice."),
        (4, "make  # not the one of BSD, please"),
    ]
