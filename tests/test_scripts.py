"""The scripts on machines that lack something: each finds its way, or says in one line what to do.

A package index is not needed: `python` below makes environments that borrow the packages of the
one that runs these tests. The tests marked `fresh` do it all for real.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support import git

ROOT = Path(__file__).parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis")
BORROWING = f"""\
#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
    "{sys.executable}" -m venv --without-pip "$3" || exit
    echo '{sysconfig.get_path("purelib")}' > "$(echo "$3"/lib/python*/site-packages)/borrowed.pth"
    exit
fi
exec "{sys.executable}" "$@"
"""

Done = subprocess.CompletedProcess[str]


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def copy(path: Path) -> Path:
    """Copy this project as a downloaded zip has it; the lock file names what is installed."""
    shutil.copytree(ROOT, path, ignore=LEFT_OUT, symlinks=True)
    names = ("click", "hatchling", "platformdirs")
    (path / "requirements.lock").write_text("".join(f"{n}=={version(n)}\n" for n in names))
    return path


def environment(work: Path, **more: str) -> dict[str, str]:
    """An environment with the borrowing `python`, no index, and no model to be had."""
    executable(work / "bin" / "python3", BORROWING)
    (work / "tmp").mkdir(exist_ok=True)
    outside = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    env = {**outside, "PATH": f"{work / 'bin'}:{os.environ['PATH']}", "PIP_NO_INDEX": "1"}
    env |= {"TMPDIR": str(work / "tmp"), "GITMEM_MODEL_FROM": "/does/not/exist", **more}
    return env


def script(
    path: Path, env: Mapping[str, str], *args: str, before: Callable[[], None] | None = None
) -> Done:
    return subprocess.run(
        [str(path), *args],
        env=env,
        cwd="/",
        preexec_fn=before,
        capture_output=True,
        text=True,
        check=False,
    )


def setup(checkout: Path, env: Mapping[str, str], before: Callable[[], None] | None = None) -> Done:
    return script(checkout / "scripts" / "setup", env, before=before)


def fails_with(done: Done, line: str) -> bool:
    """Whether one line was said, and that one."""
    return done.returncode == 1 and done.stderr == f"setup: {line}\n" and not done.stdout


def as_everybody() -> None:
    """Make permissions count for root too, by giving up the capability to pass them over."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return copy(tmp_path / "check out")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path)


def test_set_up_then_again(checkout: Path, env: dict[str, str]) -> None:
    first = setup(checkout, env)
    assert first.stdout == f"{checkout}/.venv/bin/python\n", first.stderr
    assert "installing what" in first.stderr
    where = [first.stdout.strip(), "-I", "-c", "import gitmem; print(gitmem.__file__)"]
    assert subprocess.check_output(where, text=True).startswith(f"{checkout}/gitmem/")

    again = setup(checkout, env)
    assert (again.stdout, again.stderr) == (first.stdout, "")

    with (checkout / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    changed = setup(checkout, env)
    assert "installing what" in changed.stderr
    assert "making an environment" not in changed.stderr


def test_no_home_and_no_setting_that_misleads_pip(checkout: Path, env: dict[str, str]) -> None:
    del env["HOME"]
    done = setup(checkout, env | {"PIP_USER": "1", "PIP_TARGET": "/nowhere", "PYTHONHOME": "/no"})
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).exists()


@pytest.mark.skipif(
    os.geteuid() == 0 and sys.platform != "linux", reason="root is refused nothing here"
)
def test_a_read_only_checkout(checkout: Path, env: dict[str, str], tmp_path: Path) -> None:
    before = sorted(checkout.rglob("*"))
    for path in [checkout, *(path for path in before if path.is_dir())]:
        path.chmod(0o555)
    try:
        done = setup(checkout, env, as_everybody)
        again = setup(checkout, env, as_everybody)
        assert sorted(checkout.rglob("*")) == before
    finally:
        for path in [checkout, *(path for path in before if path.is_dir())]:
            path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{env['HOME']}/.cache/gitmem/venv-")
    assert (again.stdout, again.stderr) == (done.stdout, "")


def test_interrupted_it_starts_over_what_is_broken(checkout: Path, env: dict[str, str]) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "gitmem-stamp").touch()
    (checkout / ".venv" / "bin" / "python").symlink_to("/does/not/exist")
    done = setup(checkout, env)
    assert done.returncode == 0 and "making an environment" in done.stderr, done.stderr


def test_a_folder_of_somebody_else_is_left_alone(checkout: Path, env: dict[str, str]) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "mine").touch()
    assert "move it away" in setup(checkout, env).stderr
    assert (checkout / ".venv" / "mine").exists()


def test_two_at_once(checkout: Path, env: dict[str, str]) -> None:
    both = [
        subprocess.Popen(
            [str(checkout / "scripts" / "setup")],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [one.communicate() for one in both]
    assert [one.returncode for one in both] == [0, 0], told
    assert {out for out, _ in told} == {f"{checkout}/.venv/bin/python\n"}
    assert sum("installing" in err for _, err in told) == 1


def test_no_model(checkout: Path, env: dict[str, str]) -> None:
    done = setup(checkout, env)
    assert done.returncode == 0
    assert "'/does/not/exist' does not exist" in done.stderr
    assert "going on without the model: search is lexical only" in done.stderr
    assert setup(checkout, env).stderr == "", "within a day it is not tried again"


def test_a_model_that_is_another(checkout: Path, env: dict[str, str], tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("x" * 612)
    done = setup(checkout, env | {"GITMEM_MODEL_FROM": str(model)})
    assert done.returncode == 0
    assert "'config.json' is another file" in done.stderr
    assert "going on without the model" in done.stderr


def test_no_python_that_is_new_enough(checkout: Path, env: dict[str, str], tmp_path: Path) -> None:
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        executable(tmp_path / "bin" / name, "#!/bin/sh\nexit 1\n")
    done = setup(checkout, env)
    assert fails_with(
        done,
        "Python 3.11 to 3.14 is needed, and none of these is one: python3"
        " python3.13 python3.12 python3.11 python3.14",
    )


@pytest.mark.parametrize("answer", ["echo git version 2.30.2", "exit 127"])
def test_no_git_that_is_new_enough(
    checkout: Path, env: dict[str, str], tmp_path: Path, answer: str
) -> None:
    executable(tmp_path / "bin" / "git", f"#!/bin/sh\n{answer}\n")
    assert fails_with(setup(checkout, env), "git 2.34 or later is needed")


NO_VENV = BORROWING.replace(
    "exec", '[ "$2" != "import ensurepip, venv" ] || test -e "$TMPDIR/installed" || exit 1\nexec'
)
PACKAGE = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"


def test_no_venv_module(checkout: Path, env: dict[str, str], tmp_path: Path) -> None:
    python = executable(tmp_path / "bin" / "python3", NO_VENV)
    executable(tmp_path / "bin" / "id", "#!/bin/sh\necho 1000\n")
    done = setup(checkout, env)
    assert fails_with(done, f"{python} has no venv module: apt install {PACKAGE}")
    assert not (checkout / ".venv").exists()


def test_no_venv_module_for_root_on_debian(
    checkout: Path, env: dict[str, str], tmp_path: Path
) -> None:
    executable(tmp_path / "bin" / "python3", NO_VENV)
    executable(tmp_path / "bin" / "id", "#!/bin/sh\necho 0\n")
    asked = '#!/bin/sh\necho "$@" >> "$TMPDIR/asked"\n'
    have = f'case $* in *"install {PACKAGE}") touch "$TMPDIR/installed" ;; esac\n'
    executable(tmp_path / "bin" / "apt-get", asked + have)
    done = setup(checkout, env)
    assert done.returncode == 0 and f"installing {PACKAGE}" in done.stderr, done.stderr
    assert (tmp_path / "tmp" / "asked").read_text() == f"-qq -y install {PACKAGE}\n"


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """Give a checkout that is set up, and the environment to use it in."""
    work = tmp_path_factory.mktemp("ready")
    (work / "home").mkdir()
    env = environment(work, HOME=str(work / "home"))
    checkout = copy(work / "gitmem")
    done = setup(checkout, env)
    assert done.returncode == 0, done.stderr
    yield checkout, env


def demo(checkout: Path, env: Mapping[str, str]) -> str:
    """Run the demo, see that it left nothing behind, and return what it printed."""
    home, temporary = Path(env.get("HOME", "/does/not/exist")), Path(env["TMPDIR"])

    def everything() -> list[Path]:
        skip = checkout / ".venv"
        found = [*checkout.rglob("*"), *home.rglob("*"), *temporary.rglob("*")]
        return sorted(p for p in found if not p.is_relative_to(skip) and p.name != "__pycache__")

    before = [path for path in everything() if path.suffix != ".pyc"]
    done = script(checkout / "scripts" / "demo", env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path for path in everything() if path.suffix != ".pyc"] == before
    return done.stdout


STEPS = (
    "init", "remember", "list", "search", "show", "update", "forget", "restore", "log",
    "entities", "sync --start",
)  # fmt: skip


def test_the_demo_of_a_downloaded_zip(ready: tuple[Path, dict[str, str]]) -> None:
    checkout, env = ready
    told = demo(checkout, env)
    assert all(f"\n$ gitmem {step}" in told for step in STEPS)
    for importance in ("critical", "high", "normal", "low"):
        assert f" {importance} " in told
    assert "refs/notes/gitmem/shared" in told and "# " in told.split("$ cat MEMORY.md")[1]


@pytest.fixture
def versioned(ready: tuple[Path, dict[str, str]]) -> Iterator[tuple[Path, dict[str, str]]]:
    checkout, env = ready
    git(checkout, "init", "-q")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "the whole project")
    yield checkout, env
    shutil.rmtree(checkout / ".git")


@pytest.mark.long
def test_the_demo_of_a_clone_without_home_or_identity(
    versioned: tuple[Path, dict[str, str]],
) -> None:
    checkout, env = versioned
    env = {key: value for key, value in env.items() if key != "HOME"}
    told = demo(checkout, env | {"GIT_DIR": "/does/not/exist", "GITMEM_BUDGET": "no number"})
    assert "the whole project" in told


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_demo_of_a_checkout_of_another_user(
    versioned: tuple[Path, dict[str, str]],
) -> None:
    checkout, env = versioned
    for path in (checkout, checkout / ".git"):
        os.chown(path, 12345, -1)
    try:
        assert "the whole project" not in demo(checkout, env)
    finally:
        for path in (checkout, checkout / ".git"):
            os.chown(path, 0, -1)


def test_the_tests_pass_on_what_they_are_given(ready: tuple[Path, dict[str, str]]) -> None:
    checkout, env = ready
    done = script(
        checkout / "scripts" / "test", env, "tests/search/test_weights.py", "-k", "folder"
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_the_lock_file_pins_every_dependency_and_names_no_host() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[<>=; ]", line)[0].lower() for line in wanted} - {"pip"}
    lock = (ROOT / "requirements.lock").read_text()
    pinned = re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)
    assert not names - {name.lower() for name in pinned}
    assert "://" not in lock


@pytest.mark.fresh
def test_the_two_commands_on_a_fresh_machine(tmp_path: Path) -> None:
    checkout = tmp_path / "gitmem"
    shutil.copytree(ROOT, checkout, ignore=LEFT_OUT, symlinks=True)
    (tmp_path / "tmp").mkdir()
    env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    first = setup(checkout, env)
    assert first.returncode == 0, first.stderr
    assert "\n$ gitmem init" in demo(checkout, env)
    assert setup(checkout, env).stderr == ""
    done = script(checkout / "scripts" / "test", env, "tests/test_scripts.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.fresh
def test_an_index_that_cannot_be_reached(tmp_path: Path) -> None:
    checkout = tmp_path / "gitmem"
    shutil.copytree(ROOT, checkout, ignore=LEFT_OUT, symlinks=True)
    done = setup(checkout, {**os.environ, "PIP_NO_INDEX": "1"})
    assert done.returncode == 1 and not done.stdout
    assert "'./scripts/setup' goes on where it stopped" in done.stderr
