#include "memory/pmemobj.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "errors.h"

namespace tierscope {
namespace {

void* library = nullptr;

// A variable of a thread has another address in each thread: dlsym gives the caller's.
PmemCachedPool* cached_pool_of_thread() {
  return static_cast<PmemCachedPool*>(dlsym(library, "_pobj_cached_pool"));
}

Pmemobj load() {
  constexpr const char* kRemedy = "apt-get install libpmemobj1";
  library = dlopen("libpmemobj.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Unavailable(Cause::kTool, "libpmemobj.so.1 is not installed", kRemedy);
  }
  Pmemobj functions{};
  const auto find = [](auto& function, const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) {
      throw Unavailable(Cause::kTool,
                        std::string("libpmemobj.so.1 is too old: it has no ") + name +
                            " (version 1.10 and later have it)",
                        kRemedy);
    }
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(functions.create, "pmemobj_create");
  find(functions.open, "pmemobj_open");
  find(functions.close, "pmemobj_close");
  find(functions.check, "pmemobj_check");
  find(functions.root, "pmemobj_root");
  find(functions.alloc, "pmemobj_alloc");
  find(functions.zalloc, "pmemobj_zalloc");
  find(functions.free, "pmemobj_free");
  find(functions.first, "pmemobj_first");
  find(functions.next, "pmemobj_next");
  find(functions.direct, "pmemobj_direct");
  find(functions.pool_of, "pmemobj_pool_by_oid");
  find(functions.usable_size, "pmemobj_alloc_usable_size");
  find(functions.memcpy_persist, "pmemobj_memcpy_persist");
  find(functions.memset_persist, "pmemobj_memset_persist");
  find(functions.flush, "pmemobj_flush");
  find(functions.drain, "pmemobj_drain");
  find(functions.persist, "pmemobj_persist");
  find(functions.tx_begin, "pmemobj_tx_begin");
  find(functions.tx_set_failure, "pmemobj_tx_set_failure_behavior");
  find(functions.tx_add_range_direct, "pmemobj_tx_add_range_direct");
  find(functions.tx_add_range, "pmemobj_tx_add_range");
  find(functions.tx_alloc, "pmemobj_tx_alloc");
  find(functions.tx_free, "pmemobj_tx_free");
  find(functions.tx_commit, "pmemobj_tx_commit");
  find(functions.tx_abort, "pmemobj_tx_abort");
  find(functions.tx_end, "pmemobj_tx_end");
  find(functions.tx_stage, "pmemobj_tx_stage");
  find(functions.error, "pmemobj_errormsg");
  find(functions.cache_invalidate, "_pobj_cache_invalidate");
  functions.cached_pool = cached_pool_of_thread;
  return functions;
}

}  // namespace

int Pmemobj::begin_transaction(PmemPool* pool) const {
  if (const int failed = tx_begin(pool, nullptr, 0); failed != 0) {
    if (tx_stage() != kPmemNone) tx_end();
    return failed;
  }
  tx_set_failure(kPmemReturn);
  return 0;
}

const Pmemobj& pmemobj() {
  static const Pmemobj functions = load();
  return functions;
}

}  // namespace tierscope
