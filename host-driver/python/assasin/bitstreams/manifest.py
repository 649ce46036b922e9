# SPDX-License-Identifier: BSD-3-Clause
"""The manifest of an image: bitstreams/manifest.schema.json as Python."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assasin.bitstreams.errors import BitstreamError
from assasin.bitstreams.hashes import file_hash, rtl_hash
from assasin.tree import ROOT

if TYPE_CHECKING:
    import jsonschema

BITSTREAMS = ROOT / "bitstreams"
"""One folder an image: <board>-<config>."""

NAME = "manifest.json"
FIRMWARE = "firmware.bin"
_SCHEMA = BITSTREAMS / "manifest.schema.json"
_AGAIN = "build the image again, or package it with: assasin bitstream package"


@dataclass(frozen=True)
class Image:
    """The image's file, beside the manifest."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Timing:
    """Worst negative slack in ns and clock in MHz; None where nothing has been routed."""

    wns_ns: float | None = None
    clock_mhz: float | None = None


@dataclass(frozen=True)
class Utilisation:
    """What of the part the image uses."""

    lut: int
    ff: int
    bram36: float
    uram: int
    dsp: int


@dataclass(frozen=True)
class Kernel:
    """An HLS kernel that is built into the image; `id` is what its slot shows."""

    slot: int
    name: str
    id: int


@dataclass(frozen=True)
class Manifest:
    """What an image is. Field by field: bitstreams/manifest.schema.json."""

    board: str
    part: str
    config: str
    rtl_hash: str
    firmware_hash: str
    tool: dict[str, str]
    created: str
    commit: str | None
    image: Image
    timing: Timing
    utilisation: Utilisation | None
    kernels: tuple[Kernel, ...]
    measured_on_hardware: bool
    schema: int = 1

    @property
    def name(self) -> str:
        """<board>-<config>."""
        return f"{self.board}-{self.config}"

    @property
    def is_current(self) -> bool:
        """Whether this tree's chip sources are those of the image."""
        return self.rtl_hash == rtl_hash(self.config)

    @staticmethod
    def read(path: Path) -> Manifest:
        """Reads and checks against the schema, not against files. Raises BitstreamError."""
        try:
            values = json.loads(path.read_text())
        except OSError as e:
            raise BitstreamError(f"{path}: {e.strerror}; {_AGAIN}") from e
        except ValueError as e:
            raise BitstreamError(f"{path} is not JSON ({e}); {_AGAIN}") from e
        return Manifest.of(values, str(path))

    @staticmethod
    def of(values: Any, source: str) -> Manifest:  # noqa: ANN401  what JSON holds
        """The manifest with these values; `source` is for messages. Raises BitstreamError."""
        check(values, source)
        return Manifest(
            **values
            | {
                "image": Image(**values["image"]),
                "timing": Timing(**values["timing"]),
                "utilisation": values["utilisation"] and Utilisation(**values["utilisation"]),
                "kernels": tuple(Kernel(**k) for k in values["kernels"]),
            }
        )

    def json(self) -> dict[str, Any]:
        """As the file has it."""
        values = asdict(self)
        return {"schema": values.pop("schema"), **values, "kernels": list(values["kernels"])}

    def write(self, folder: Path) -> Path:
        """Writes FOLDER/manifest.json as a whole. Returns its path. Raises BitstreamError."""
        values = self.json()
        path = folder / NAME
        check(values, str(path))
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".new", delete=False) as f:
            json.dump(values, f, indent=2)
            f.write("\n")
        Path(f.name).chmod(0o644)
        os.replace(f.name, path)
        return path

    def verify(self, folder: Path) -> Path:
        """
        Compares the files beside the manifest with it: place, size and hash of the image, hash of the firmware.

        Returns the image's path. Raises BitstreamError.
        """
        if folder.resolve().parent == BITSTREAMS and folder.name != self.name:
            raise BitstreamError(
                f"{folder.name}/{NAME} is the manifest of {self.name}: it does not belong there; move it back, or {_AGAIN}"
            )
        image = folder / self.image.file
        _same(image, self.image.sha256, self.image.bytes, "the image has changed since it was packaged: do not use it")
        _same(folder / FIRMWARE, self.firmware_hash, None, "the firmware is not the one the image was packaged with")
        return image


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(_SCHEMA.read_text()))


def check(values: object, source: str) -> None:
    """Raises BitstreamError unless `values` are as the schema has them."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(values))
    if error is None:
        assert isinstance(values, dict)
        slots = [k["slot"] for k in values["kernels"]]
        twice = next((s for s in slots if slots.count(s) > 1), None)
        if twice is not None:
            raise BitstreamError(f"{source}: kernels: slot {twice} holds two kernels; {_AGAIN}")
        return
    where = ".".join(str(p) for p in error.absolute_path) or "the manifest"
    raise BitstreamError(f"{source}: {where}: {error.message} (bitstreams/manifest.schema.json); {_AGAIN}")


def _same(path: Path, sha256: str, size: int | None, meaning: str) -> None:
    """Raises BitstreamError unless the file has that hash, and size."""
    try:
        found = path.stat().st_size
        if size is not None and found != size:
            raise BitstreamError(f"{path} has {found:,} bytes, its manifest says {size:,}: {meaning}; {_AGAIN}")
        actual = file_hash(path)
    except OSError as e:
        raise BitstreamError(f"{path}: {e.strerror}; images are not in the repository: {_AGAIN}") from e
    if actual != sha256:
        raise BitstreamError(f"{path} has SHA-256 {actual[:16]}..., its manifest says {sha256[:16]}...: {meaning}; {_AGAIN}")
