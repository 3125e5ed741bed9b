-- Lmod: name this file after the version, in a folder tierscope of MODULEPATH. `root` is where the
-- archive for machines without a network was installed (docs/install.md).
local version = myModuleVersion()
local root = pathJoin(os.getenv("TIERSCOPE_ROOT") or "/opt/tierscope", version)

whatis("Name: tierscope")
whatis("Version: " .. version)
whatis("Description: measures every tier of memory and storage that a CPU or GPU can reach")
help("tierscope doctor says what can be measured here; man tierscope has the commands.")

prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
if myShellName() == "bash" then
  source_sh("bash", pathJoin(root, "share/bash-completion/completions/tierscope"))
end
