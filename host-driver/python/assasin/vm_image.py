# SPDX-License-Identifier: BSD-3-Clause
"""
The guest's kernel and initial file system, made of Debian's own packages.

apt resolves the packages as if for an empty machine and fetches them; they are unpacked into a folder, never installed. From there
come the kernel, a few of its modules, the programs and just the libraries these ask for. The result is kept in the cache of all
clones.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assasin import programs
from assasin.errors import AssasinError
from assasin.tree import ROOT

RECIPE = 1
"""To be raised when guests are made in another way."""

PACKAGES = (
    "linux-image-cloud-amd64",
    "busybox-static",
    "nvme-cli",
    "fio",
    "e2fsprogs",
    "xfsprogs",
    "btrfs-progs",
    "util-linux",
    "pciutils",
)
"""Debian packages the guest is made of; their dependencies come with them."""

UNPACKED = (
    "lib",
    "zlib",
    "pci.ids",
    "linux-image-",
    "busybox-",
    "nvme-cli",
    "fio",
    "e2fsprogs",
    "xfsprogs",
    "btrfs-progs",
    "util-linux",
    "pciutils",
)
SKIPPED = ("libperl", "libpython")
"""How names begin of packages that are unpacked, and that are not: most dependencies are other programs."""

PROGRAMS = (
    "bin/busybox",
    "usr/sbin/nvme",
    "usr/bin/fio",
    "sbin/mke2fs",
    "sbin/e2fsck",
    "sbin/tune2fs",
    "sbin/debugfs",
    "sbin/mkfs.xfs",
    "sbin/xfs_repair",
    "bin/btrfs",
    "sbin/mkfs.btrfs",
    "usr/bin/lspci",
    "usr/sbin/filefrag",
    "bin/lsblk",
    "sbin/blkdiscard",
    "usr/bin/fallocate",
    "usr/bin/lsattr",
    "usr/bin/chattr",
)
"""Files of these packages that the guest gets; what they link against comes along."""

LINKS = {"sbin/mkfs.ext4": "mke2fs", "sbin/fsck.ext4": "e2fsck", "bin/sh": "busybox"}
"""Further names in the guest."""

DATA = ("etc/mke2fs.conf", "usr/share/misc/pci.ids")
"""Files without which the programs miss something."""

MODULES = {
    "boot": ("virtio_pci", "virtiofs"),
    "vfio": ("vfio-pci", "vfio_iommu_type1"),
    "xfs": ("xfs",),
    "btrfs": ("btrfs",),
}
"""
Modules of the kernel for a purpose: /lib/modules/PURPOSE in the guest lists them behind those that they depend on. It loads
those of `boot` at once. The rest it needs is built in.
"""

LIBRARY_FOLDERS = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/ceph", "lib64")

GUEST = ROOT / "host-driver" / "vm"
"""Sources of what runs in the guest."""


class ImageError(AssasinError):
    """The guest cannot be made; the message says why and what to do."""


@dataclass(frozen=True)
class Image:
    """A guest to boot."""

    folder: Path

    @property
    def kernel(self) -> Path:
        """bzImage."""
        return self.folder / "vmlinuz"

    @property
    def initrd(self) -> Path:
        """Initial file system, a cpio archive."""
        return self.folder / "initrd"

    @property
    def packages(self) -> Path:
        """Which packages it is made of, one a line."""
        return self.folder / "packages"


def cache_folder() -> Path:
    """Where guests are kept: the cache of all clones (scripts/env.sh)."""
    return Path(os.environ.get("ASSASIN_CACHE") or Path.home() / ".cache" / "assasin") / "vm"


def _key() -> str:
    """Guests of the same recipe are the same guest; Debian's updates come in with a new recipe, or with an empty cache."""
    recipe = (UNPACKED, SKIPPED, RECIPE, PACKAGES, PROGRAMS, LINKS, DATA, MODULES)
    return hashlib.sha256(repr(recipe).encode()).hexdigest()[:16]


def image(tell: Callable[[str], None] = lambda _: None) -> Image:
    """The guest, made now when the cache has none. `tell` hears what is being done. Raises ImageError."""
    made = Image(cache_folder() / _key())
    if made.initrd.exists():
        return made
    made.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=made.folder.parent) as scratch:
        work = Path(scratch)
        tell("fetching Debian packages for the guest")
        packages = _fetch(work)
        tell("unpacking the guest's packages")
        system = work / "system"
        for package in packages:
            if package.name.startswith(SKIPPED) or not package.name.startswith(UNPACKED):
                continue
            call(["dpkg-deb", "-x", str(package), str(system)], "unpacking")
        result = work / "image"
        result.mkdir()
        tell("packing the guest")
        kernels = sorted(system.glob("boot/vmlinuz-*"))
        if len(kernels) != 1:
            raise ImageError(f"the packages hold {len(kernels)} kernels, expected one: {[k.name for k in kernels]}")
        shutil.copy(kernels[0], result / "vmlinuz")
        (result / "packages").write_text("".join(f"{p.name}\n" for p in packages))
        (result / "initrd").write_bytes(_pack(system))
        # Whoever else made the same guest meanwhile has won.
        if not made.initrd.exists():
            shutil.rmtree(made.folder, ignore_errors=True)
            result.rename(made.folder)
    return made


def call(command: list[str], what: str, cwd: Path | None = None) -> str:
    """Runs a program and returns what it printed. Raises ImageError, with `what` it was for."""
    done = programs.run(command, capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        raise ImageError(f"{what} failed: {' '.join(command[:4])} ...: {done.stderr.strip()[-400:]}")
    return done.stdout


def apt_options(work: Path) -> list[str]:
    """Options with which apt works for an empty machine, in the folder `work`, and leaves this one alone."""
    status, archives = work / "status", work / "archives"
    status.touch()
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    options = {
        "Dir::State::status": status,
        "Dir::Cache::archives": archives,
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "Debug::NoLocking": 1,
        # Its own user could not write here.
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
    }
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def _fetch(work: Path) -> list[Path]:
    """The packages and all they depend on, as files."""
    command = ["apt-get", "-qq", "-y", "--download-only", *apt_options(work), "install", *PACKAGES]
    try:
        call(command, "fetching the guest's packages")
    except ImageError as e:
        raise ImageError(
            f"{e}\nThe guest is made of Debian bookworm's packages: `apt-get update` may help, see scripts/setup"
        ) from e
    return sorted((work / "archives").glob("*.deb"))


def _needed(file: Path) -> list[str]:
    """Libraries that an ELF file links against."""
    listing = call(["readelf", "-d", str(file)], "looking for libraries")
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listing)


def _libraries(system: Path, programs: Iterable[str]) -> set[str]:
    """Paths in `system` of the libraries that the programs need, and those need in turn."""
    found: dict[str, str] = {}
    todo = list(programs)
    while todo:
        for name in _needed(system / todo.pop()):
            if name in found:
                continue
            at = next((f"{d}/{name}" for d in LIBRARY_FOLDERS if (system / d / name).exists()), None)
            if at is None:
                raise ImageError(f"library {name} is in none of the guest's packages")
            found[name] = at
            todo.append(at)
    return set(found.values())


def _module_order(system: Path, modules: Iterable[str]) -> tuple[str, list[Path]]:
    """The kernel's release, and modules behind what they depend on."""
    release = next((system / "lib" / "modules").iterdir()).name
    files = {f.stem.replace("-", "_"): f for f in (system / "lib" / "modules" / release).rglob("*.ko")}
    order: list[Path] = []

    def add(name: str) -> None:
        # What the kernel has built in is no file.
        file = files.get(name.replace("-", "_"))
        if file is None or file in order:
            return
        depends = re.search(rb"\0depends=([^\0]*)\0", file.read_bytes())
        for other in depends[1].decode().split(",") if depends else []:
            add(other)
        order.append(file)

    for name in modules:
        if name.replace("-", "_") not in files:
            raise ImageError(f"kernel {release} has no module {name}")
        add(name)
    return release, order


def _pack(system: Path) -> bytes:
    archive = Archive()
    for folder in ("dev", "proc", "sys", "run", "tmp", "mnt", "share", "root", "lib/modules"):
        archive.folder(folder)
    # The first process writes to the console before it has mounted /dev.
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3)
    for program in PROGRAMS:
        archive.copy(system, program)
    archive.copy(system, "lib64/ld-linux-x86-64.so.2", real=True)
    for library in sorted(_libraries(system, [p for p in PROGRAMS if p != "bin/busybox"])):
        archive.copy(system, library, real=True)
    for file in DATA:
        archive.copy(system, file, real=True)
    for name, target in LINKS.items():
        archive.link(name, target)
    applets = call([str(system / "bin/busybox"), "--list-full"], "asking busybox for its applets").split()
    have = {*PROGRAMS, *LINKS}
    names = {Path(p).name for p in have}
    for applet in applets:
        if applet not in have and Path(applet).name not in names:
            archive.link(applet, "/bin/busybox")
    booted: list[Path] = []
    for purpose, wanted in MODULES.items():
        release, order = _module_order(system, wanted)
        for m in order:
            archive.file(f"lib/modules/{m.name}", m.read_bytes())
        if purpose == "boot":
            booted = order
        listed = order if purpose == "boot" else [m for m in order if m not in booted]
        archive.file(f"lib/modules/{purpose}", "".join(f"{m.name}\n" for m in listed).encode())
    archive.file("etc/release", f"{release}\n".encode())
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    archive.file("etc/group", b"root:x:0:\n")
    return archive.finish()


class Archive:
    """A cpio archive in the kernel's format ("newc"): built here, so that nobody needs to be root for device files."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._names: set[str] = set()
        self._size = 0

    def _add(self, name: str, mode: int, data: bytes = b"", major: int = 0, minor: int = 0) -> None:
        for parent in self._parents(name):
            self.folder(parent)
        if name in self._names:
            return
        self._names.add(name)
        self._raw(name, mode, data, major, minor)

    def _raw(self, name: str, mode: int, data: bytes = b"", major: int = 0, minor: int = 0) -> None:
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (len(self._names), mode, 0, 0, links, 0, len(data), 0, 0, major, minor, len(name) + 1, 0)
        head = b"070701" + "".join(f"{v:08x}" for v in fields).encode() + name.encode() + b"\0"
        for part in (head, data):
            self._parts.append(part + bytes(-len(part) % 4))
            self._size += len(self._parts[-1])

    @staticmethod
    def _parents(name: str) -> Iterator[str]:
        parts = name.split("/")[:-1]
        for i in range(len(parts)):
            yield "/".join(parts[: i + 1])

    def folder(self, name: str) -> None:
        """A folder, and those above it."""
        if name not in self._names:
            self._add(name, stat.S_IFDIR | 0o755)

    def file(self, name: str, data: bytes, executable: bool = False) -> None:
        """A file."""
        self._add(name, stat.S_IFREG | (0o755 if executable else 0o644), data)

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        self._add(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name: str, major: int, minor: int) -> None:
        """A character device."""
        self._add(name, stat.S_IFCHR | 0o600, b"", major, minor)

    def copy(self, system: Path, name: str, real: bool = False) -> None:
        """A file of `system` under the same name; a link to it becomes the file itself with `real`."""
        source = system / name
        if not source.exists() and not source.is_symlink():
            raise ImageError(f"none of the guest's packages holds {name}")
        if source.is_symlink() and not real:
            self.link(name, os.readlink(source))
            target = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(source)))
            self.copy(system, target)
            return
        file = source.resolve()
        if not file.is_relative_to(system.resolve()):
            # An absolute link means a path in the guest.
            file = system / os.readlink(source).lstrip("/")
        self.file(name, file.read_bytes(), executable=bool(file.stat().st_mode & 0o100))

    def finish(self) -> bytes:
        """The whole archive, padded so that another one may follow."""
        self._raw("TRAILER!!!", 0)
        data = b"".join(self._parts)
        return data + bytes(-len(data) % 512)


def main() -> None:
    """`python -m assasin.vm_image`: makes the guest when it is not there."""
    try:
        image()
    except ImageError as e:
        sys.exit(f"assasin.vm_image: {e}")


if __name__ == "__main__":
    main()
