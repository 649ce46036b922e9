# SPDX-License-Identifier: BSD-3-Clause
"""
vfio with no-IOMMU mode for the guest.

Debian builds its kernels without CONFIG_VFIO_NOIOMMU, and QEMU's proxy device passes a virtual IOMMU by. So vfio.ko is built once
more: from Debian's source of the guest's very kernel, against its headers, with that one option.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from assasin.vm_image import Image, ImageError, apt_options, call

KBUILD = """ccflags-y := -DCONFIG_VFIO_NOIOMMU=1
obj-m := vfio.o
vfio-y := vfio_main.o iova_bitmap.o container.o
"""


def module(image: Image, tell: Callable[[str], None] = lambda _: None) -> Path:
    """vfio.ko with no-IOMMU mode for the kernel of `image`, built now when it is not there. Raises ImageError."""
    made = image.folder / "vfio.ko"
    if made.exists():
        return made
    # Not the package without a number, which only depends on this one.
    kernels = re.findall(r"^linux-image-([\d.]+-\d+-\S+?)_(\S+)_\w+\.deb$", image.packages.read_text(), re.M)
    if len(kernels) != 1:
        raise ImageError(f"{image.packages} does not say which kernel the guest has")
    release, version = kernels[0]
    abi, series = release.rsplit("-", 2)[0], ".".join(release.split(".")[:2])
    packages = [f"linux-headers-{release}={version}", f"linux-headers-{abi}-common={version}"]
    packages += [f"linux-kbuild-{series}={version}", f"linux-source-{series}={version}"]
    with tempfile.TemporaryDirectory(dir=image.folder.parent) as scratch:
        work = Path(scratch)
        tell("fetching the kernel's source for vfio")
        try:
            call(["apt-get", "-qq", *apt_options(work), "download", *packages], "fetching the kernel's source", cwd=work)
        except ImageError as e:
            raise ImageError(
                f"{e}\nWhen Debian has a newer kernel, remove {image.folder}: the guest is then made with that one"
            ) from e
        tell("building vfio")
        system = work / "system"
        for package in work.glob("*.deb"):
            call(["dpkg-deb", "-x", str(package), str(system)], "unpacking")
        archive = next(system.glob("usr/src/linux-source-*.tar.*"))
        folder = f"linux-source-{series}/drivers/vfio"
        call(["tar", "-C", str(work), "-xf", str(archive), folder], "unpacking the kernel's source")
        headers = system / "usr" / "src" / f"linux-headers-{release}"
        # It names the common headers by the path where the package would be installed.
        makefile = headers / "Makefile"
        makefile.write_text(makefile.read_text().replace("/usr/src/", f"{system}/usr/src/"))
        source = work / folder
        (source / "Makefile").unlink()
        (source / "Kbuild").write_text(KBUILD)
        call(["make", "-C", str(headers), f"M={source}", "modules"], "building vfio")
        call(["strip", "--strip-debug", str(source / "vfio.ko")], "stripping vfio")
        shutil.copy(source / "vfio.ko", work / "ready")
        (work / "ready").rename(made)
    return made
