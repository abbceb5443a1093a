"""Git objects as bytes: trees and commits to and from them, and packs. No input or output.

Both implementations of the port read and write objects through this module, so they agree to the
byte; libgit2 and ``git commit-tree`` each trim names and messages in a way of their own.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from gitmem.errors import GitFailed
from gitmem.journal.git.port import TREE_MODE, Commit, TreeChange, TreeEntry

_PACK_TYPES = {"commit": 1, "tree": 2, "blob": 3}
_PACK_VERSION = 2
_FILE_TYPE = 0o170000
_FILES = (0o100000, 0o120000)
_SIGNATURE = re.compile(r"[^<>\n\0]+ <[^<>\n\0]*>")
_HEX = set("0123456789abcdef")
_FAST = 1
"""Compression of a pack in transit; git compresses again what it keeps loose."""

TreeReader = Callable[[Sequence[str]], Iterator[list[TreeEntry]]]


def encode(text: str) -> bytes:
    """Return the bytes of a name or message; what was not UTF-8 when read is restored."""
    return text.encode("utf-8", "surrogateescape")


def decode(data: bytes) -> str:
    """Read a name or message, keeping bytes that are not UTF-8 as lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def whole(oid: str, hex_length: int) -> str:
    """Return `oid` if it is a whole object id; git and libgit2 would complete an abbreviation.

    Raises:
        KeyError: it is not, so no object has it.
    """
    if len(oid) != hex_length or set(oid) - _HEX:
        raise KeyError(oid)
    return oid


def object_id(kind: str, data: bytes, algorithm: str) -> str:
    """Return the id git gives to an object; `algorithm` is ``sha1`` or ``sha256``."""
    digest = hashlib.new(algorithm, b"%s %d\0" % (kind.encode(), len(data)))
    digest.update(data)
    return digest.hexdigest()


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """Return a tree object, its entries in git's order: a subtree sorts as if it ended in ``/``.

    Raises:
        ValueError: a name that no tree can hold, or one that is there twice.
    """
    rows: dict[bytes, tuple[bytes, bytes]] = {}
    for entry in entries:
        name = encode(entry.name)
        if name in rows or name in (b"", b".", b"..", b".git") or b"/" in name or b"\0" in name:
            raise ValueError(
                f"'{entry.name}' cannot be the name of a tree entry, or is there twice"
            )
        row = b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid))
        rows[name] = (name + b"/" if entry.is_tree else name, row)
    return b"".join(row for _, row in sorted(rows.values()))


def decode_tree(data: bytes, id_length: int) -> list[TreeEntry]:
    """Read a tree object; `id_length` is that of an object id in bytes, 20 or 32.

    Raises:
        GitFailed: it is damaged, or was never written by git.
    """
    entries = []
    start = 0
    try:
        while start < len(data):
            space = data.index(b" ", start)
            end = data.index(b"\0", space) + 1
            oid = data[end : end + id_length].hex()
            mode = int(data[start:space], 8)
            entries.append(TreeEntry(decode(data[space + 1 : end - 1]), mode, oid))
            start = end + id_length
    except ValueError as error:
        raise GitFailed("a tree is damaged", "see what `git fsck` says") from error
    return entries


def encode_commit(tree: str, parents: Sequence[str], author: str, time: int, message: str) -> bytes:
    """Return an unsigned commit, its author also the committer, its message ended by one newline.

    Raises:
        ValueError: `author` is not ``Name <email>``, or the message holds a NUL.
    """
    if not _SIGNATURE.fullmatch(author) or "\0" in message:
        raise ValueError(f"'{author}' is not 'Name <email>', or the message holds a NUL")
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"{role} {author} {time} +0000" for role in ("author", "committer")]
    return encode("\n".join(lines) + "\n\n" + message.rstrip("\n") + "\n")


def decode_commit(oid: str, data: bytes) -> Commit:
    """Read a commit object; the newlines that end its message are left out."""
    head, _, body = data.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    author = fields.get(b"author", [b""])[0].rpartition(b"> ")[0] + b">"
    committed = re.search(rb"> (\d+)", fields.get(b"committer", [b""])[0])
    charset = fields.get(b"encoding", [b"utf-8"])[0]
    return Commit(
        oid=oid,
        tree=fields[b"tree"][0].decode(),
        parents=tuple(parent.decode() for parent in fields.get(b"parent", ())),
        author=_recoded(author, charset),
        time=int(committed[1]) if committed else 0,
        message=_recoded(body, charset).rstrip("\n"),
    )


def _recoded(data: bytes, charset: bytes) -> str:
    try:
        return data.decode(charset.decode("ascii"))
    except (LookupError, UnicodeDecodeError):  # an unknown charset, or text that is not in it
        return decode(data)


def pack(objects: Collection[tuple[str, bytes]], algorithm: str) -> bytes:
    """Return a pack of whole objects, given as (kind, content)."""
    parts = [b"PACK" + _PACK_VERSION.to_bytes(4) + len(objects).to_bytes(4)]
    for kind, data in objects:
        parts += (_pack_header(_PACK_TYPES[kind], len(data)), zlib.compress(data, _FAST))
    body = b"".join(parts)
    return body + hashlib.new(algorithm, body).digest()


def _pack_header(kind: int, size: int) -> bytes:
    """Return type and size: 4 bits of the size beside the type, then 7 a byte, lowest first."""
    byte, size = kind << 4 | size & 0x0F, size >> 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    header.append(byte)
    return bytes(header)


def files(read: TreeReader, tree: str) -> Iterator[tuple[str, str]]:
    """Yield (path, blob id) for every file below a tree, level by level."""
    level = [("", tree)]
    while level:
        below = []
        for (path, _), entries in zip(level, read([oid for _, oid in level]), strict=True):
            for entry in entries:
                if entry.mode == TREE_MODE:
                    below.append((f"{path}{entry.name}/", entry.oid))
                elif entry.mode & _FILE_TYPE in _FILES:
                    yield path + entry.name, entry.oid
        level = below


def changes(read: TreeReader, old: str | None, new: str | None) -> list[TreeChange]:
    """Return the blobs that differ between two trees, by path.

    Descends both trees level by level into what differs alone, and asks `read` once a level:
    a write to a journal of 100,000 notes costs six small trees.
    """
    found: list[TreeChange] = []
    level = [("", old, new)]
    while level:
        wanted = list(dict.fromkeys(oid for _, *sides in level for oid in sides if oid))
        trees = dict(zip(wanted, read(wanted), strict=True))
        below = []
        for path, before, after in level:
            sides = [
                {entry.name: entry for entry in trees[oid]} if oid else {}
                for oid in (before, after)
            ]
            for name in sides[0].keys() | sides[1].keys():
                pair = [side.get(name) for side in sides]
                subtrees = [_tree_id(entry) for entry in pair]
                blobs = [_blob_id(entry) for entry in pair]
                if subtrees[0] != subtrees[1]:
                    below.append((f"{path}{name}/", subtrees[0], subtrees[1]))
                if blobs[0] != blobs[1]:
                    found.append(TreeChange(path + name, blobs[0], blobs[1]))
        level = below
    return sorted(found, key=lambda change: change.path)


def _tree_id(entry: TreeEntry | None) -> str | None:
    return entry.oid if entry and entry.mode == TREE_MODE else None


def _blob_id(entry: TreeEntry | None) -> str | None:
    """Return the id of a file or symbolic link; a submodule's is no object of this repository."""
    return entry.oid if entry and entry.mode & _FILE_TYPE in _FILES else None
