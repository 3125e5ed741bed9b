// libpmemobj (PMDK), opened when it is first needed: the engine runs without it.
//
// The declarations are those of libpmemobj's binary interface, version 1 (libpmemobj(7) and the
// pages that it names). No transaction longjmps: begin one through begin_transaction().
#pragma once

#include <cstddef>
#include <cstdint>

namespace tierscope {

struct PmemPool;  // PMEMobjpool

// An object of a pool; offset 0: none.
struct PmemId {  // PMEMoid
  std::uint64_t pool = 0;
  std::uint64_t offset = 0;
};

// What a thread found out last about a pool; pmemobj_direct() of libpmemobj's headers looks here
// first, for each object id that it translates.
struct PmemCachedPool {  // struct _pobj_pcache
  PmemPool* pool;
  std::uint64_t id;
  int invalidate;
};

// Bytes of the largest object (PMEMOBJ_MAX_ALLOC_SIZE), and of the smallest pool
// (PMEMOBJ_MIN_POOL).
inline constexpr std::size_t kPmemMaxObject = 0x3FFDFFFC0;
inline constexpr std::size_t kPmemMinPool = std::size_t{8} << 20;

// Stages of a transaction (enum pobj_tx_stage).
enum PmemStage : int { kPmemNone, kPmemWork, kPmemOnCommit, kPmemOnAbort, kPmemFinally };

// What failures in a transaction do (enum pobj_tx_failure_behavior).
enum PmemFailure : int { kPmemAbort, kPmemReturn };

// Functions return 0 or an error number where they return int, unless it is said otherwise.
struct Pmemobj {
  using Construct = int (*)(PmemPool* pool, void* object, void* argument);

  // size 0: the file exists, has its size, and is all zeros. Null with errno set.
  PmemPool* (*create)(const char* path, const char* layout, std::size_t size, unsigned mode);
  PmemPool* (*open)(const char* path, const char* layout);
  void (*close)(PmemPool* pool);
  // 1: consistent, 0: not, below 0: it could not be told.
  int (*check)(const char* path, const char* layout);
  PmemId (*root)(PmemPool* pool, std::size_t size);
  // Atomic: `id` names the object once it is there. -1 with errno set.
  int (*alloc)(PmemPool* pool, PmemId* id, std::size_t size, std::uint64_t type,
               Construct construct, void* argument);
  int (*zalloc)(PmemPool* pool, PmemId* id, std::size_t size, std::uint64_t type);
  void (*free)(PmemId* id);
  // The objects of a pool one after the other, without the root; offset 0 ends them.
  PmemId (*first)(PmemPool* pool);
  PmemId (*next)(PmemId id);
  // The inline function of libpmemobj's headers, as it is where those are not used.
  void* (*direct)(PmemId id);
  PmemPool* (*pool_of)(PmemId id);
  std::size_t (*usable_size)(PmemId id);

  void* (*memcpy_persist)(PmemPool* pool, void* to, const void* from, std::size_t bytes);
  void* (*memset_persist)(PmemPool* pool, void* to, int value, std::size_t bytes);
  void (*flush)(PmemPool* pool, const void* at, std::size_t bytes);
  void (*drain)(PmemPool* pool);
  void (*persist)(PmemPool* pool, const void* at, std::size_t bytes);

  // jump has to be null; further parameters are a list that ends with 0 (TX_PARAM_NONE).
  int (*tx_begin)(PmemPool* pool, void* jump, ...);
  void (*tx_set_failure)(PmemFailure behavior);
  int (*tx_add_range_direct)(const void* at, std::size_t bytes);
  int (*tx_add_range)(PmemId id, std::uint64_t offset, std::size_t bytes);
  PmemId (*tx_alloc)(std::size_t size, std::uint64_t type);
  int (*tx_free)(PmemId id);
  void (*tx_commit)();
  void (*tx_abort)(int error);
  int (*tx_end)();
  PmemStage (*tx_stage)();

  const char* (*error)();  // Of the last call of this thread that failed.

  // This thread's own, which another thread must not use.
  PmemCachedPool* (*cached_pool)();
  const int* cache_invalidate;

  // tx_begin, of a transaction whose failures return: libpmemobj would otherwise longjmp over
  // frames of C++, or abort the process. Returns an error number; after 0 the stage is kPmemWork,
  // and tx_end has to be called whatever happens.
  int begin_transaction(PmemPool* pool) const;
};

// The library, for as long as the process lasts. Throws Unavailable, with the package, where it is
// not installed or lacks failures that return (before version 1.10).
const Pmemobj& pmemobj();

}  // namespace tierscope
