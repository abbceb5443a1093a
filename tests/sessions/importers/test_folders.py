from __future__ import annotations

import pytest

from gitmem.sessions.importers.folders import local


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("file:///home/ada/my%20shop", "/home/ada/my shop"),
        ("file:///home/ada/%E2%82%AC", "/home/ada/€"),
        ("/home/ada/100%25", "/home/ada/100%25"),
        ("vscode-remote://ssh/home/ada", "vscode-remote://ssh/home/ada"),
        ("", ""),
    ],
)
def test_a_uri_of_a_file_is_its_path(place: str, path: str) -> None:
    assert local(place) == path
