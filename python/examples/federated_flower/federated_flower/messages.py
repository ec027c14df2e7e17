"""Folders of files as records of a message, and back."""

from __future__ import annotations

from pathlib import Path

from flwr.app import ConfigRecord, Message, RecordDict

KEY = "files"


def files_of(folder: Path, prefix: str = "") -> dict[str, bytes]:
    """Give the bytes of all files in a folder and in the folders in it, by their relative names."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {prefix + path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write files under their relative names; a name that leads out of the folder is refused."""
    for name, content in files.items():
        path = (folder / name).resolve()
        if folder.resolve() not in path.parents:
            raise ValueError(f"`{name}` is outside of the folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def record_of(files: dict[str, bytes]) -> RecordDict:
    """Give the content of a message with files."""
    return RecordDict({KEY: ConfigRecord(dict(files))})


def files_in(message: Message) -> dict[str, bytes]:
    """Give the files of a message."""
    return {name: bytes(content) for name, content in message.content[KEY].items()}
