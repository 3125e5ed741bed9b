"""Spack: installs the archive for machines without a network (docs/install.md).

Put it into a repository of yours, as packages/tierscope/package.py, and `spack install tierscope`
from the folder with the archive.
"""

import os

from spack.package import *
from spack_repo.builtin.build_systems.generic import Package


class Tierscope(Package):
    """Measures every tier of memory and storage that a CPU or GPU can reach."""

    manual_download = True
    license("Apache-2.0")

    version("0.1.0")

    depends_on("python@3.11:3.13", type=("build", "run"))
    requires("platform=linux", msg="tierscope measures Linux machines")

    def url_for_version(self, version):
        python = self.spec["python"].version.up_to(2)
        machine = self.spec.target.family
        return f"file://{os.getcwd()}/tierscope-{version}-python{python}-{machine}.tar"

    def install(self, spec, prefix):
        Executable("./install")("--python", spec["python"].command.path, prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def starts(self):
        Executable(self.prefix.bin.tierscope)("--version")
