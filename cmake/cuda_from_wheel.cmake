# Finds nvcc and makes CUDA a language of this project.
#
# The compiler comes from the Python package cuda-toolkit, which the build requires; where that is
# absent (an offline machine, no build isolation), from an installed CUDA >= 12.8 on PATH or in
# /usr/local/cuda. TIERSCOPE_CUDA_ROOT names another folder, as for another machine (tools/wheel).
# Include after project() and before anything that names a .cu file.

set(cuda_wheel_root "${TIERSCOPE_CUDA_ROOT}")
if(NOT cuda_wheel_root)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c
            "import sys, pathlib; print(next((r for p in sys.path for r in [pathlib.Path(p, 'nvidia/cu13')] if (r / 'bin/nvcc').exists()), ''))"
    OUTPUT_VARIABLE cuda_wheel_root OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

if(cuda_wheel_root)
  set(CMAKE_CUDA_COMPILER "${cuda_wheel_root}/bin/nvcc" CACHE FILEPATH "nvcc" FORCE)
  set(CUDAToolkit_ROOT "${cuda_wheel_root}" CACHE PATH "CUDA toolkit" FORCE)
  if(CMAKE_FIND_ROOT_PATH) # A toolchain file lets libraries be found in its own folders only.
    list(APPEND CMAKE_FIND_ROOT_PATH "${cuda_wheel_root}")
  endif()
  # The wheel has no unversioned libcudart.so, which FindCUDAToolkit insists on; nothing links it.
  file(GLOB cudart_shared "${cuda_wheel_root}/lib/libcudart.so.*")
  set(CUDA_CUDART "${cudart_shared}" CACHE FILEPATH "shared CUDA runtime, not linked" FORCE)
  # nvcc looks for its libraries in lib64; the wheel keeps them in lib.
  set(ENV{LIBRARY_PATH} "${cuda_wheel_root}/lib:$ENV{LIBRARY_PATH}")
  link_directories("${cuda_wheel_root}/lib")
else()
  find_program(nvcc_on_machine nvcc HINTS /usr/local/cuda/bin)
  if(NOT nvcc_on_machine)
    message(FATAL_ERROR "no nvcc: pip install 'cuda-toolkit[nvcc,cudart,cccl]==13.0.*' into the "
                        "Python that builds, install CUDA >= 12.8, or build with TIERSCOPE_CUDA=0")
  endif()
  set(CMAKE_CUDA_COMPILER "${nvcc_on_machine}" CACHE FILEPATH "nvcc")
endif()

# Machine code for Ampere and Hopper servers and Blackwell; the driver compiles the rest from PTX.
set(CMAKE_CUDA_ARCHITECTURES 75-virtual 80-real 90-real 100 CACHE STRING "CUDA architectures")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
find_package(CUDAToolkit 12.8 REQUIRED)
