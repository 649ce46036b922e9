# SPDX-License-Identifier: BSD-3-Clause
"""
What a kernel's C++ says of its ports (the top function's parameters and INTERFACE pragmas), and whether its metadata says the same.

Types are compared once more by the compiler, exactly, when the model is built (see model.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assasin.hls.kernel import Kernel, KernelError

SCALAR_CPP = {"u32": "ap_uint<32>", "i32": "ap_int<32>", "f32": "float"}
"""The C++ type that a scalar's type in the metadata stands for."""

STREAM_CPP = "hls::stream<beat_t> &"
_ALIASES = {"uint32_t": "u32", "unsigned": "u32", "unsigned int": "u32", "int32_t": "i32", "int": "i32"}
_EXAMPLE = "hls::stream<beat_t> &, ap_uint<32>, ap_int<32> or float"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the top function. `kind`: "stream" or a scalar's type."""

    name: str
    kind: str
    cpp: str


@dataclass(frozen=True)
class Signature:
    """The top function: its parameters in order, and the mode that a pragma gives each port (and `return`)."""

    parameters: tuple[Parameter, ...]
    modes: dict[str, str]


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _split(parameters: str) -> list[str]:
    """At commas that are not inside <> or ()."""
    out, depth = [""], 0
    for c in parameters:
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [p.strip() for p in out if p.strip()]


def _parameter(text: str, where: str) -> Parameter:
    match = re.fullmatch(r"(.+?[\s&>])\s*(\w+)", text, flags=re.DOTALL)
    if not match:
        raise KernelError(f"{where}: parameter '{text}' has no name")
    cpp, name = re.sub(r"\s+", " ", match[1]).strip(), match[2]
    plain = re.sub(r"\bconst\b|\s+", " ", cpp).strip()
    if re.fullmatch(r"hls::stream<\s*\w+\s*(,\s*\d+\s*)?> ?&", plain):
        return Parameter(name, "stream", cpp)
    for kind, exact in SCALAR_CPP.items():
        if plain.replace(" ", "") == exact.replace(" ", "") or _ALIASES.get(plain) == kind:
            return Parameter(name, kind, cpp)
    raise KernelError(f"{where}: parameter '{text}': a kernel's parameters are {_EXAMPLE}")


def parse(kernel: Kernel) -> Signature:
    """Finds the top function's definition in the kernel's sources. Raises KernelError."""
    for source in kernel.sources:
        path = kernel.folder / source
        text = _without_comments(path.read_text())
        match = re.search(rf"\bvoid\s+{kernel.top}\s*\(([^{{;]*)\)\s*\{{", text)
        if not match:
            continue
        where = f"{kernel.folder.name}/{source}"
        parameters = tuple(_parameter(p, where) for p in _split(match[1]))
        body = text[match.end() :]
        modes = {}
        for pragma in re.findall(r"^[ \t]*#pragma\s+HLS\s+INTERFACE\s+(.*)$", body, flags=re.MULTILINE | re.IGNORECASE):
            port = re.search(r"\bport\s*=\s*(\w+)", pragma)
            mode = re.search(r"\bmode\s*=\s*(\w+)", pragma) or re.match(r"(\w+)(?!\s*=)\b", pragma)
            if port and mode:
                modes[port[1]] = mode[1]
        return Signature(parameters, modes)
    raise KernelError(
        f"{kernel.folder.name}: no `void {kernel.top}(...) {{` in {', '.join(kernel.sources)}: "
        "`top` in kernel.toml names the function that Vitis makes the kernel of"
    )


def check(kernel: Kernel) -> Signature:
    """The top function, when the metadata agrees with it. Raises KernelError that names the port and both sides."""
    signature = parse(kernel)
    stated = [(n, "stream") for n in (*kernel.inputs, kernel.output)] + [(s.name, s.type) for s in kernel.scalars]
    actual = [(p.name, p.kind) for p in signature.parameters]
    where = f"{kernel.folder.name}/kernel.toml disagrees with {kernel.top}()"
    missing = [n for n, _ in stated if n not in dict(actual)]
    extra = [n for n, _ in actual if n not in dict(stated)]
    if missing or extra:
        parts = [f"only in kernel.toml: {', '.join(missing)}"] * bool(missing) + [f"only in C++: {', '.join(extra)}"] * bool(extra)
        raise KernelError(f"{where}: {'; '.join(parts)}. Name each parameter once in [interface]")
    for (name, kind), (_, other) in zip(stated, [(n, dict(actual)[n]) for n, _ in stated], strict=True):
        if kind != other:
            wanted = STREAM_CPP if kind == "stream" else SCALAR_CPP[kind]
            raise KernelError(f"{where}: {name} is {kind} there, which is {wanted} in C++, but it is declared as {other}")
    if [n for n, _ in stated] != [n for n, _ in actual]:
        raise KernelError(
            f"{where}: the order there is {', '.join(n for n, _ in stated)}, in C++ {', '.join(n for n, _ in actual)}: "
            "inputs, output, scalars, which is the order of the control registers"
        )
    for name, kind in [*stated, ("return", "control")]:
        wanted = "axis" if kind == "stream" else "s_axilite"
        mode = signature.modes.get(name)
        if mode != wanted:
            raise KernelError(
                f"{kernel.folder.name}: port {name} of {kernel.top}() is {'without a pragma' if mode is None else mode}: "
                f"write #pragma HLS INTERFACE mode={wanted} port={name}"
            )
    return signature
