# Toolchain of the portable wheels: this machine's gcc, the C library of an older system.
#
#   -DCMAKE_TOOLCHAIN_FILE=cmake/portable.cmake -DTIERSCOPE_MACHINE=aarch64 -DTIERSCOPE_SYSROOT=FOLDER
#
# FOLDER is made by tools/sysroot. Which versions of glibc's functions a program needs is decided
# when it is linked, so the C library of the sysroot is what sets the oldest system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "${TIERSCOPE_MACHINE}")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TIERSCOPE_MACHINE TIERSCOPE_SYSROOT)
set(triplet "${TIERSCOPE_MACHINE}-linux-gnu")
set(CMAKE_C_COMPILER "${TIERSCOPE_SYSROOT}/bin/gcc")
set(CMAKE_CXX_COMPILER "${TIERSCOPE_SYSROOT}/bin/g++")
set(CMAKE_AR "${triplet}-ar")
set(CMAKE_RANLIB "${triplet}-ranlib")
set(CMAKE_STRIP "${triplet}-strip")
set(CMAKE_LIBRARY_ARCHITECTURE "${triplet}")
set(CMAKE_FIND_ROOT_PATH "${TIERSCOPE_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${TIERSCOPE_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${TIERSCOPE_SYSROOT}/usr/lib/${triplet}/pkgconfig:${TIERSCOPE_SYSROOT}/usr/share/pkgconfig")
