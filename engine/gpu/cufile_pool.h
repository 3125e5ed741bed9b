// cuFile's pool of host memory, through which operations go that cannot go directly.
//
// A submission that needs more of it than is free never returns, even where the operations in
// flight are the caller's own. So all threads together keep no more operations of batches and
// streams in flight than the pool has room for.
#pragma once

#include <atomic>
#include <cstddef>

#include "gpu/cufile.h"

namespace tierscope {

class CufilePool {
 public:
  // Takes up to `wanted` of the places that are free, and returns how many; none where there are
  // none. Never waits.
  std::size_t take(std::size_t wanted);
  void give_back(std::size_t places);

  std::size_t places() const { return places_; }
  void set_places(std::size_t places) { places_ = places; }

  // Whether there was less room than was wanted, since it was last asked.
  bool was_short() { return was_short_.exchange(false); }

 private:
  std::atomic<std::size_t> places_{0};
  std::atomic<std::size_t> taken_{0};
  std::atomic<bool> was_short_{false};
};

// The process's pool.
CufilePool& cufile_pool();

// Places for blocks of so many bytes. Without compatibility mode nothing goes through the pool, and
// it has no end.
std::size_t pool_places(const Cufile& library, std::size_t block_bytes);

}  // namespace tierscope
