"""Imports go downwards only, nothing below the edge reaches around it, and little is loaded."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import git, run_cli

ROOT = Path(__file__).parent.parent

# Who may import whom. A module outside the packages is its own layer; `gitmem` is `__init__.py`.
_BASE = {"errors", "model"}
_STORE = _BASE | {"journal", "text"}
_VERBS = _STORE | {"config", "imports", "mirror", "search", "sessions", "startup"}
_API = _VERBS | {"verbs"}
LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "model": set(),
    "config": {"errors"},
    "journal": _BASE,
    "text": _BASE,
    "mirror": _BASE | {"text"},
    "search": _STORE | {"sessions"},
    "sessions": _STORE,
    "imports": _STORE | {"sessions"},
    "startup": {"gitmem"},
    "verbs": _VERBS,
    "api": _API,
    "gitmem": {"api", *_BASE},
    "agents": {"gitmem", "api", *_API},
    "cli": {"gitmem", "api", "agents", *_API},
    "__main__": {"startup", "cli", "agents"},
}

_GIT = {"journal.git"}
_JOURNAL = _GIT | {"journal"}
PARTS: dict[str, set[str]] = {  # what a package in a layer may use of the others there
    "journal.git": set(),
    "journal": _GIT,
    "journal.branches": _JOURNAL,
    "journal.purging": _JOURNAL,
    "journal.sharing": _JOURNAL | {"journal.purging"},
    "search.catalog": {"search"},
    "search.conditions": set(),
    "search.lexical": {"search"},
    "search.semantic": {"search"},
    "search.workspace": {"search", "search.lexical"},
}

EDGE = ("cli", "agents", "__main__")
BELOW_THE_EDGE = {  # what reaches around the edge nevertheless, and why
    "journal.git.discovery": {"os.environ"},  # git is started with the environment of the process
    "journal.git.history": {"os.environ"},
    "journal.git.program": {"os.environ"},
    "search.semantic.bulk": {"os.environ"},  # the one way to tell onnxruntime to tell nobody
    "startup": {"os.environ", "time.time"},  # the short way to one answer: an edge of its own
    "api": {"os.environ", "datetime.now"},  # the defaults of `gitmem.open`
}
AROUND = set(
    "os.environ os.getenv time.time datetime.now datetime.utcnow datetime.today date.today"
    " print input sys.stdout sys.stderr sys.stdin sys.argv".split()
)

STARTERS = {  # who may start a program, and which
    "journal.git.spawn",  # git
    "search.semantic.fetch",  # pip, for the weights
}
HEAVY = set(
    "chromadb filelock git mcp numpy onnxruntime platformdirs pygit2 rich spacy tokenizers whoosh"
    " yaml".split()
)
AT_ONCE = {  # modules that exist to wrap something heavy, and are themselves imported late
    "agents.mcp.resources": "mcp",
    "agents.mcp.server": "mcp",
    "agents.mcp.tools": "mcp",
    "journal.git.libgit2": "pygit2",
    "cli.terminal": "rich",
    "search.semantic.bulk": "numpy",
    "search.semantic.minilm": "numpy",
}


@dataclass(frozen=True)
class Import:
    """One import: by whom, of what, and whether it happens when the module is loaded."""

    by: str
    name: str
    at_once: bool
    typing: bool


def short(module: str) -> str:
    return module.removeprefix("gitmem.") if module != "gitmem" else module


def layer(module: str) -> str:
    return short(module).split(".")[0]


def part(module: str) -> str:
    """Return the package that a module stands in."""
    name = short(module)
    return name if (ROOT / "gitmem" / name.replace(".", "/")).is_dir() else name.rpartition(".")[0]


def modules() -> dict[str, ast.Module]:
    """Return every module of the package by its short name."""
    found = {}
    for path in sorted((ROOT / "gitmem").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found[short(name)] = ast.parse(path.read_text(encoding="utf-8"))
    return found


MODULES = modules()


def imports(name: str) -> Iterator[Import]:
    """Yield the imports of a module, wherever in it they stand."""

    def walk(node: ast.AST, at_once: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            checking = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            for target in _targets(child):
                yield Import(name, target, at_once, typing)
            yield from walk(child, at_once and not inside, typing or checking)

    yield from walk(MODULES[name], True, False)


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    assert node.level == 0 and node.module, "imports are absolute"
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    # `from gitmem.search import rows` names a module, `from gitmem.model import Memory` does not.
    return [full if short(full) in MODULES else node.module for full in names]


EVERY = [found for name in MODULES for found in imports(name)]
OWN = [found for found in EVERY if found.name.split(".")[0] == "gitmem"]


def test_imports_go_downwards() -> None:
    wrong = [
        f"{found.by} imports {found.name}"
        for found in OWN
        if layer(found.by) != layer(found.name) and layer(found.name) not in LAYERS[layer(found.by)]
    ]
    assert wrong == []


def test_packages_within_a_layer_use_each_other_as_stated() -> None:
    wrong = [
        f"{found.by} imports {found.name}"
        for found in OWN
        if layer(found.by) == layer(found.name) and part(found.by) != part(found.name)
        if part(found.name) not in PARTS.get(part(found.by), {part(found.name)})
    ]
    assert wrong == []
    assert set(PARTS) <= {part(name) for name in MODULES}


def test_the_table_has_no_cycle_and_no_stranger() -> None:
    assert {layer(name) for name in MODULES} <= set(LAYERS)
    done: set[str] = {"gitmem"}  # its imports are lazy, and the start needs its version
    while ready := [name for name in LAYERS if name not in done and LAYERS[name] <= done]:
        done |= set(ready)
    assert done == set(LAYERS)


def test_no_module_imports_itself_in_the_end() -> None:
    """Not even from within a function."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in OWN:
        if not found.typing:
            graph[found.by].add(short(found.name))
    order: list[str] = []
    while ready := [name for name in graph if graph[name] <= set(order) and name not in order]:
        order += ready
    assert sorted(set(graph) - set(order)) == []


def test_the_start_imports_the_standard_library_alone() -> None:
    names = {found.name.split(".")[0] for found in EVERY if found.by == "startup"} - {"gitmem"}
    assert names <= set(sys.stdlib_module_names)
    assert not names & {"subprocess", "sqlite3", "dataclasses", "typing"}, "they cost milliseconds"


def test_nothing_heavy_is_imported_at_once() -> None:
    wrong = [
        f"{found.by} imports {found.name}"
        for found in EVERY
        if found.at_once and not found.typing and found.name.split(".")[0] in HEAVY
        if AT_ONCE.get(found.by) != found.name.split(".")[0]
    ]
    assert wrong == []


def test_one_module_starts_git_and_one_opens_repositories() -> None:
    assert {found.by for found in EVERY if found.name == "subprocess"} == STARTERS
    openers = {"pygit2", "git"}
    assert {f.by for f in EVERY if f.name.split(".")[0] in openers} == {
        "journal.git.libgit2",
        "journal.sharing.transfer",
    }
    wrong = [
        f"{name} calls {ast.unparse(node)}"
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os"
        if node.attr.startswith(("exec", "fork", "popen", "posix_spawn", "spawn", "system"))
    ]
    assert wrong == []


def _reaches(tree: ast.Module) -> set[str]:
    """Return what a module uses of the process it runs in: streams, environment, clock."""
    used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    taken = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return AROUND & (used | called | taken)


def test_nothing_below_the_edge_prints_reads_the_environment_or_asks_the_clock() -> None:
    found = {name: _reaches(tree) for name, tree in MODULES.items() if layer(name) not in EDGE}
    assert {name: used for name, used in found.items() if used} == BELOW_THE_EDGE


# -- what a process loads -----------------------------------------------------------------------

TELL = """
import atexit, sys
path = sys.argv.pop(1)
atexit.register(lambda: open(path, "w").write("\\n".join(sys.modules)))
from gitmem.__main__ import main
main()
"""


def loaded(repo: Path, *args: str) -> tuple[str, set[str]]:
    """Run the command line in a fresh process; return its output and the modules it loaded."""
    told = repo.parent / "modules"
    done = subprocess.run(
        [sys.executable, "-c", TELL, str(told), *args],
        cwd=repo,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, set(told.read_text().split("\n"))


def test_where_nobody_watches_nothing_is_loaded_to_read_progress(repo: Path) -> None:
    git(repo, "clone", "-q", "--bare", ".", "../remote.git")
    git(repo, "remote", "add", "origin", "../remote.git")
    loaded(repo, "remember", "Use PostgreSQL")
    for verb in ("push", "pull"):
        assert "git" not in loaded(repo, verb)[1]


@pytest.mark.parametrize("initialised", [False, True])
def test_no_everyday_command_loads_anything_heavy(repo: Path, initialised: bool) -> None:
    if initialised:
        assert run_cli("init", cwd=repo).returncode == 0
    for args in (
        ["--help"],
        ["--version"],
        ["remember", "Use PostgreSQL in src/app.py", "--tag", "database"],
        ["remember", "--private", "mine"],
        ["list"],
        ["list", "--json"],
        ["tags"],
        ["log"],
        ["undo"],
        ["status"],
        ["context", "set", "working"],
        ["sync", "--start"],
        ["sync", "--start", "--format", "compact"],
    ):
        _, names = loaded(repo, *args)
        assert names & HEAVY == set(), args
    out, _ = loaded(repo, "list", "--json")
    _, names = loaded(repo, "show", json.loads(out)["data"][0]["id"])
    assert names & HEAVY == set()


def test_help_loads_no_git_and_no_database(repo: Path) -> None:
    for args in (["--help"], ["remember", "--help"], ["--version"]):
        _, names = loaded(repo, *args)
        assert names & {"sqlite3", "subprocess"} == set(), args


@pytest.mark.parametrize("form", [["sync", "--start"], ["sync", "--start", "--format", "compact"]])
def test_a_session_start_that_was_answered_before_loads_next_to_nothing(
    repo: Path, form: list[str]
) -> None:
    assert run_cli("init", cwd=repo).returncode == 0
    assert run_cli("remember", "Use PostgreSQL", cwd=repo).returncode == 0
    time.sleep(0.2)  # what changed a moment ago may change again unseen: such an answer is not kept
    first, names = loaded(repo, *form)
    assert "sqlite3" in names
    again, names = loaded(repo, *form)
    assert again == first != ""
    assert names & (HEAVY | {"click", "sqlite3", "subprocess", "dataclasses"}) == set()
    own = {name for name in names if name.split(".")[0] == "gitmem"}
    assert own == {"gitmem", "gitmem.__main__", "gitmem.startup"}


def test_a_team_file_is_what_loads_yaml(repo: Path) -> None:
    (repo / ".gitmem.yml").write_text("budget: 900\n")
    _, names = loaded(repo, "list")
    assert names & HEAVY == {"yaml"}


def test_the_library_is_loaded_when_it_is_used() -> None:
    code = "import sys, gitmem; print(sorted(n for n in sys.modules if n.startswith('gitmem')))"
    done = subprocess.run(
        [sys.executable, "-c", code + "; gitmem.open; print('gitmem.api' in sys.modules)"],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.split("\n")[:2] == ["['gitmem']", "True"]


def test_no_script_shadows_the_standard_library() -> None:
    """`python benchmarks/x.py` puts its folder first: a `secrets.py` there broke numpy's import."""
    stems = {
        path.stem for folder in ("benchmarks", "scripts") for path in ROOT.glob(f"{folder}/*.py")
    }
    assert stems and not stems & sys.stdlib_module_names
