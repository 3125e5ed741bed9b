# The allocator library: jemalloc below, arenas on memory tiers above. Needs no part of the engine.
#
#   libtierscope-alloc.so          programs link it, or open it with dlopen; exports ts_*
#   libtierscope-alloc-preload.so  preloaded: replaces malloc by rules; exports that and ts_*
#   libhmalloc.so                  HMSDK's name and interface; exports its functions only
#   libcemalloc.so                 the same of HMSDK's earlier library, which replaces malloc, too
#   libcemallocjava.so             its functions for Java

# Several build folders share one build of jemalloc.
set(TIERSCOPE_JEMALLOC "${CMAKE_SOURCE_DIR}/build/jemalloc" CACHE PATH "Where jemalloc is, or is built")
set(TIERSCOPE_JEMALLOC_SOURCE "" CACHE PATH
    "Folder with jemalloc_5.3.0.orig.tar.bz2; empty: the distribution's source package is fetched")
set(jemalloc_library "${TIERSCOPE_JEMALLOC}/lib/libjemalloc_pic.a")
add_custom_command(
  OUTPUT "${jemalloc_library}"
  COMMAND tools/bootstrap --jemalloc "${TIERSCOPE_JEMALLOC}" "${TIERSCOPE_JEMALLOC_SOURCE}"
          ${TIERSCOPE_MACHINE} ${TIERSCOPE_SYSROOT}
  DEPENDS "${CMAKE_SOURCE_DIR}/tools/bootstrap"
  WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" USES_TERMINAL VERBATIM)
add_custom_target(jemalloc DEPENDS "${jemalloc_library}")

include(CheckCCompilerFlag)
check_c_compiler_flag(-mtls-dialect=gnu2 TIERSCOPE_TLS_DESCRIPTORS)

# What the shared objects have in common, with options for how it finds thread-local variables.
# Objects, not an archive, from which the linker would take only what something else refers to.
function(add_allocator_core name)
  add_library(${name} OBJECT
    alloc/alloc.c alloc/arena.c alloc/fast.c alloc/hooks.c alloc/mappings.c alloc/nodes.c alloc/pmem.c
    alloc/policy.c alloc/report.c alloc/room.c alloc/slots.c alloc/statistics.c alloc/threads.c)
  add_dependencies(${name} jemalloc)
  target_compile_definitions(${name} PUBLIC _GNU_SOURCE)
  target_compile_options(${name} PUBLIC
    $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wshadow -Wconversion>)
  target_compile_options(${name} PRIVATE ${ARGN})
  target_include_directories(${name} PUBLIC alloc)
  target_include_directories(${name} SYSTEM PUBLIC "${TIERSCOPE_JEMALLOC}/include")
  target_link_libraries(${name} PUBLIC "${jemalloc_library}" Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(${name} PROPERTIES C_STANDARD 17 C_VISIBILITY_PRESET hidden
                        POSITION_INDEPENDENT_CODE ON)
endfunction()

# By descriptors, the default on Arm: dlopen can open the library.
set(by_descriptors $<$<BOOL:${TIERSCOPE_TLS_DESCRIPTORS}>:-mtls-dialect=gnu2>)
add_allocator_core(tierscope-alloc-core ${by_descriptors})

# A shared object that exports what EXPORTS names ("ts_*;malloc") and nothing else.
function(add_allocator name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORE" "SOURCES;EXPORTS")
  list(JOIN arg_EXPORTS ";" exports)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${name}.map"
       CONTENT "{ global: ${exports}; local: *; };\n" @ONLY)
  add_library(${name} SHARED ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_CORE})
  target_link_options(${name} PRIVATE "-Wl,--version-script=${CMAKE_BINARY_DIR}/${name}.map"
                      -Wl,-z,defs -Wl,-z,nodelete)
  set_target_properties(${name} PROPERTIES C_STANDARD 17 C_VISIBILITY_PRESET hidden
                        LINKER_LANGUAGE C LINK_DEPENDS "${CMAKE_BINARY_DIR}/${name}.map")
  install(TARGETS ${name} LIBRARY DESTINATION tierscope/_lib COMPONENT alloc)
endfunction()

# plain.c: what is in no arena comes from the program's malloc. The preloaded library is that malloc.
if(NOT sanitizers)
  add_allocator(tierscope-alloc CORE tierscope-alloc-core SOURCES alloc/plain.c EXPORTS "ts_*")
  add_allocator(hmalloc CORE tierscope-alloc-core SOURCES alloc/hmalloc.c alloc/plain.c alloc/text.c
    EXPORTS hmalloc hfree hcalloc hrealloc haligned_alloc hposix_memalign hmmap hmunmap
            hmalloc_usable_size)
  # What stands in front of the program's malloc and mmap.
  set(hooks alloc/choose.c alloc/heat.c alloc/next.c alloc/preload.c alloc/preload_maps.c
            alloc/ratio.c alloc/rules.c alloc/sites.c alloc/symbols.c alloc/text.c
            alloc/trusted.c)
  set(hooked malloc calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc
             pvalloc free malloc_usable_size mmap mmap64 munmap mremap pthread_setname_np prctl
             dlclose)
  # What is preloaded is there when threads begin: one instruction finds its variables.
  add_allocator_core(tierscope-alloc-core-preloaded -ftls-model=initial-exec)
  add_allocator(tierscope-alloc-preload CORE tierscope-alloc-core-preloaded
    SOURCES ${hooks} alloc/settings.c EXPORTS "ts_*" ${hooked})
  target_compile_options(tierscope-alloc-preload PRIVATE -ftls-model=initial-exec)
  # Preloaded, linked, or opened by dlopen. Named as HMSDK's build names it.
  add_allocator(cemalloc CORE tierscope-alloc-core SOURCES ${hooks} alloc/cemalloc.c
    EXPORTS "cxl_*" EnableExplicitIndicator SetCxlMemory SetHostMemory GetMemoryMode ${hooked})
  target_compile_options(cemalloc PRIVATE ${by_descriptors})
  set_target_properties(cemalloc PROPERTIES VERSION 1.1)
  add_allocator(cemallocjava CORE cemalloc SOURCES alloc/cemalloc_java.c EXPORTS "Java_cemalloc_*")
  set_target_properties(cemallocjava PROPERTIES INSTALL_RPATH $ORIGIN)
  # What the arenas and jemalloc map is not for the rules: see next.c.
  foreach(library tierscope-alloc-preload cemalloc)
    target_link_options(${library} PRIVATE -Wl,--wrap=mmap -Wl,--wrap=mremap -Wl,--wrap=munmap)
  endforeach()
  install(FILES alloc/tierscope_alloc.h alloc/tierscope_alloc.hpp alloc/cemalloc.h
          alloc/hmalloc.h DESTINATION tierscope/_include COMPONENT alloc)
endif()

# The parser of the preloaded library's rules, and its arithmetic, for tests alone.
if(TIERSCOPE_TESTS OR TIERSCOPE_SANITIZE)
  add_library(alloc-rules STATIC EXCLUDE_FROM_ALL alloc/ratio.c alloc/rules.c alloc/text.c
              alloc/trusted.c)
  target_compile_definitions(alloc-rules PRIVATE _GNU_SOURCE)
  target_include_directories(alloc-rules PUBLIC alloc)
  set_target_properties(alloc-rules PROPERTIES C_STANDARD 17)
endif()

if(TIERSCOPE_TESTS)
  file(GLOB alloc_test_sources CONFIGURE_DEPENDS alloc/tests/*_test.cpp)
  add_test_program(alloc-tests ${alloc_test_sources} alloc/plain.c)
  target_link_libraries(alloc-tests PRIVATE tierscope-alloc-core alloc-rules GTest::gtest_main)
  # Linked with the core itself, so that sanitizers see into it.
  add_test_program(alloc-sequences alloc/tests/sequences.cpp alloc/plain.c)
  target_link_libraries(alloc-sequences PRIVATE tierscope-alloc-core)
  foreach(program alloc-tests alloc-sequences)
    target_compile_options(${program} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion>)
    set_target_properties(${program} PROPERTIES C_STANDARD 17)
  endforeach()
endif()

if(TIERSCOPE_SANITIZE)
  add_executable(fuzz-rules EXCLUDE_FROM_ALL alloc/tests/fuzz_rules.cpp)
  target_link_options(fuzz-rules PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz-rules PRIVATE alloc-rules)
endif()
