# SPDX-License-Identifier: BSD-3-Clause
"""
A kernel's model for the virtual board: the kernel's C++ and a generated wrapper as a shared object with the interface of
hls-kernels/include/assasin_kernel.h.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assasin.hls import signature, toolchain
from assasin.hls.kernel import Kernel


def wrapper(kernel: Kernel) -> str:
    """
    The C++ that connects the slot to the top function. Raises KernelError when metadata and source disagree.

    That the declaration in the header has exactly these types is left to the compiler: the function is assigned to a pointer.
    The wrapper's own names have a capital letter, which ports cannot have.
    """
    parameters = signature.check(kernel).parameters
    types = ", ".join(p.cpp for p in parameters)
    scalars = {s.name: i for i, s in enumerate(kernel.scalars)}
    arguments = [f"assasin::scalar<{p.cpp}>(theScalars[{scalars[p.name]}])" if p.name in scalars else p.name for p in parameters]
    streams = [f"    hls::stream<beat_t> {n}(theSource{i});" for i, n in enumerate(kernel.inputs)]
    sources = [f"    assasin::Source theSource{i}(*thePort, {i});" for i in range(len(kernel.inputs))]
    return "\n".join(
        [
            "// SPDX-License-Identifier: BSD-3-Clause",
            f"// Generated out of {kernel.name}/kernel.toml.",
            f'#include "{kernel.header}"',
            '#include "assasin_model.h"',
            "",
            f"static void (*const theTop)({types}) = {kernel.top};",
            "",
            "static void theRun(const assasin_kernel_port *thePort, const uint32_t *theScalars) {",
            "    (void)theScalars;",
            *sources,
            "    assasin::Sink theSink(*thePort);",
            *streams,
            f"    hls::stream<beat_t> {kernel.output}(theSink);",
            f'    assasin::run("{kernel.name}/{kernel.version}", theSink, [&] {{ theTop({", ".join(arguments)}); }});',
            "}",
            "",
            'extern "C" __attribute__((visibility("default"))) const struct assasin_kernel assasin_kernel = {',
            f'    ASSASIN_KERNEL_ABI, 0x{kernel.id:08x}u, "{kernel.name}", "{kernel.version}", {len(kernel.inputs)}, '
            f"{len(kernel.scalars)}, {kernel.ii.numerator}, {kernel.ii.denominator}, {kernel.latency}, theRun,",
            "};",
            "",
        ]
    )


def build(kernel: Kernel) -> Path:
    """The shared object build/hls/NAME/NAME.so, made when an input has changed. Raises KernelError."""
    generated = kernel.out / "model" / f"{kernel.name}_wrapper.cpp"
    text = wrapper(kernel)
    if not generated.exists() or generated.read_text() != text:
        generated.parent.mkdir(parents=True, exist_ok=True)
        generated.write_text(text)
    target = toolchain.model_target()
    toolchain.compiled_ahead(target)
    sources = [*(kernel.folder / s for s in kernel.sources), generated]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda s: toolchain.compile_object(target, s, generated.parent, [kernel.folder]), sources))
    out = kernel.out / f"{kernel.name}.so"
    stamp = kernel.out / "model" / "linked"
    linked = "\n".join(o.name for o in objects)
    if not out.exists() or not stamp.exists() or stamp.read_text() != linked:
        new = out.with_name(f"{out.name}.{os.getpid()}")
        command = [toolchain.compiler(), "-shared", "-Wl,-z,defs", *map(str, objects), "-o", str(new)]
        toolchain.run(command, f"{kernel.name}'s model")
        new.rename(out)
        stamp.write_text(linked)
    return out
