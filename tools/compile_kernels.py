"""Compile the engine's kernels for all GPUs with NVRTC, NVIDIA's compiler in a library.

    compile_kernels.py LIBNVRTC FOLDER OUTPUT.cpp

compiles FOLDER/gpu/*.cu and writes OUTPUT.cpp, the table of engine/gpu/device_code.h, with the
compiled code beside it. NVRTC is that of CUDA 12: every driver of CUDA 12.0 or newer loads its
machine code. PTX of one toolkit is not compiled by drivers older than it, so there is machine code
for every GPU that CUDA 12.8 knows, and PTX for those to come.
"""

import ctypes
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Machine code runs on later GPUs of its major version too: that of 10.0 on 10.3.
ARCHITECTURES = ("sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
PTX = "compute_90"  # With the newest instructions that kernels use.


class Nvrtc:
    """NVRTC, as a program calls it."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def compile(self, source: str, options: Sequence[str], kind: str) -> bytes:
        """Return the `CUBIN` or the `PTX` of a program; ValueError says why there is none."""
        program = ctypes.c_void_p()
        self._call(
            "CreateProgram", ctypes.byref(program), source.encode(), b"kernels", 0, None, None
        )
        encoded = [option.encode() for option in options]
        array = (ctypes.c_char_p * len(encoded))(*encoded)
        if self._library.nvrtcCompileProgram(program, len(encoded), array):
            raise ValueError(self._text(program, "ProgramLog").rstrip(b"\0").decode())
        return self._text(program, kind)

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"Get{what}Size", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._call(f"Get{what}", program, text)
        return text.raw

    def _call(self, name: str, *arguments: object) -> None:
        error = getattr(self._library, f"nvrtc{name}")(*arguments)
        if error:
            raise ValueError(f"nvrtc{name}: {self._library.nvrtcGetErrorString(error).decode()}")


def main(library: Path, folder: Path, output: Path) -> None:
    """Compile for each architecture, and write the table."""
    nvrtc = Nvrtc(library)
    source = "".join(f'#include "{path}"\n' for path in sorted((folder / "gpu").glob("*.cu")))
    # Functions that the host has, too, are not marked as the GPU's.
    common = ["--std=c++20", "--device-int128", "--device-as-default-execution-space"]
    common += [f"--include-path={folder}/gpu/nvrtc", f"--include-path={folder}"]

    def compiled(architecture: str) -> Path:
        kind = "PTX" if architecture == PTX else "CUBIN"
        code = nvrtc.compile(source, [*common, f"--gpu-architecture={architecture}"], kind)
        path = output.with_name(f"{architecture}.code")
        path.write_bytes(code)
        return path

    names = (*ARCHITECTURES, PTX)
    with ThreadPoolExecutor() as pool:
        paths = dict(zip(names, pool.map(compiled, names), strict=True))
    lines = ['#include "gpu/device_code.h"', ""]
    for name, path in paths.items():
        lines.append(f'extern "C" const char tierscope_{name}[];')
        # Aligned as the ELF header that it begins with.
        lines.append(
            f'asm(".section .rodata\\n.balign 16\\n.global tierscope_{name}\\n'
            f'tierscope_{name}: .incbin \\"{path.resolve()}\\"\\n.byte 0\\n.previous");'
        )
    lines += ["", "std::span<const tierscope::DeviceCode> tierscope::embedded_code() {"]
    lines.append("  static const DeviceCode all[] = {")
    for name in names:
        capability = name.partition("_")[2]
        machine_code = "true" if name != PTX else "false"
        lines.append(f"      {{{capability}, {machine_code}, tierscope_{name}}},")
    lines += ["  };", "  return all;", "}", ""]
    output.write_text("\n".join(lines))


if __name__ == "__main__":
    try:
        main(*(Path(argument) for argument in sys.argv[1:]))
    except (OSError, ValueError) as error:
        sys.exit(f"compile_kernels: {error}")
