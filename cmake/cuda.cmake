# Finds NVRTC, which compiles the kernels, and CUDA's headers; compiles the kernels.
#
# They come from the Python packages that the build requires (cuda-toolkit 12.9) or from an installed
# CUDA 12.8 or 12.9 that TIERSCOPE_CUDA_ROOT names, as /usr/local/cuda-12.8. Nothing of CUDA is linked:
# the engine opens the driver when it runs, and the compiled kernels are data in it. So all this is
# the same whatever machine the engine is for.
set(TIERSCOPE_CUDA_ROOT "" CACHE PATH "An installed CUDA 12.8 or 12.9; empty: the Python packages")

find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(cuda_folders "${TIERSCOPE_CUDA_ROOT}")
if(NOT cuda_folders) # Those of CUDA 12, as nvidia/cuda_runtime, before nvidia/cu13.
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "import sys, pathlib; print(*(r for p in sys.path for r in sorted(pathlib.Path(p).glob('nvidia/*/include'), reverse=True)), sep=';', end='')"
    OUTPUT_VARIABLE cuda_folders)
  list(TRANSFORM cuda_folders REPLACE "/include$" "")
endif()

# Sets `variable` to the first file of these that one of the folders has.
function(find_in_cuda variable)
  foreach(folder IN LISTS cuda_folders)
    foreach(name IN LISTS ARGN)
      file(GLOB found "${folder}/${name}")
      if(found)
        list(GET found 0 first)
        set(${variable} "${first}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
  list(GET ARGN 0 name)
  message(FATAL_ERROR "no ${name} of CUDA 12: pip install 'cuda-toolkit[nvrtc,cudart,nvml,cupti,nvtx]==12.9.*' "
                      "into the Python that builds, name an installed CUDA 12.8 or 12.9 by "
                      "-DTIERSCOPE_CUDA_ROOT=FOLDER, or build with TIERSCOPE_CUDA=0")
endfunction()
find_in_cuda(nvrtc lib/libnvrtc.so.12 lib64/libnvrtc.so.12)
set(cuda_includes)
foreach(header cudaTypedefs.h nvml.h nvtx3/nvToolsExt.h cupti_activity.h)
  find_in_cuda(path include/${header} extras/CUPTI/include/${header})
  string(REGEX REPLACE "/${header}$" "" path "${path}")
  list(APPEND cuda_includes "${path}")
endforeach()
list(REMOVE_DUPLICATES cuda_includes)

set(kernels_code "${CMAKE_BINARY_DIR}/kernels/kernels.cpp")
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/kernels")
file(GLOB kernel_sources CONFIGURE_DEPENDS engine/gpu/*.cu)
file(GLOB kernel_headers CONFIGURE_DEPENDS engine/gpu/*.h engine/gpu/nvrtc/*)
add_custom_command(
  OUTPUT "${kernels_code}"
  COMMAND "${Python3_EXECUTABLE}" tools/compile_kernels.py "${nvrtc}" "${CMAKE_SOURCE_DIR}/engine" "${kernels_code}"
  WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
  DEPENDS tools/compile_kernels.py ${kernel_sources} ${kernel_headers} engine/splitmix64.h engine/storage/cell.h
  COMMENT "Compiling kernels for GPUs"
  VERBATIM)
