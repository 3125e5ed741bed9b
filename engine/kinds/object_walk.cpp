#include "kinds/object_walk.h"

#include <algorithm>
#include <array>

#include "memory/pmemobj.h"

namespace tierscope {
namespace {

// What pmemobj_direct() of libpmemobj's headers does.
class Translator {
 public:
  explicit Translator(const Pmemobj& library)
      : cached_(library.cached_pool()),
        invalidate_(library.cache_invalidate),
        pool_of_(library.pool_of) {}

  double* operator()(PmemId id) const {
    if (id.offset == 0 || id.pool == 0) return nullptr;
    if (*invalidate_ != cached_->invalidate || cached_->id != id.pool) {
      cached_->invalidate = *invalidate_;
      cached_->pool = pool_of_(id);
      cached_->id = cached_->pool == nullptr ? 0 : id.pool;
      if (cached_->pool == nullptr) return nullptr;
    }
    return reinterpret_cast<double*>(reinterpret_cast<std::byte*>(cached_->pool) + id.offset);
  }

 private:
  PmemCachedPool* cached_;  // Of this thread.
  const int* invalidate_;
  PmemPool* (*pool_of_)(PmemId id);
};

// Elements that lie in one object of each array, from `begin` of the object of its array on.
struct Stretch {
  std::array<PmemId, 3> ids{};
  std::array<std::size_t, 3> begin{};
  std::size_t count = 0;
};

void run(Operation operation, const Stretch& at, double s, const Translator& direct) {
  const auto [a, b, c] = at.ids;
  const auto [i, j, k] = at.begin;
  const std::size_t count = at.count;
  if (operation == Operation::kCopy) {
    for (std::size_t n = 0; n < count; ++n) direct(a)[i + n] = direct(b)[j + n];
  } else if (operation == Operation::kScale) {
    for (std::size_t n = 0; n < count; ++n) direct(a)[i + n] = s * direct(b)[j + n];
  } else if (operation == Operation::kAdd) {
    for (std::size_t n = 0; n < count; ++n) direct(a)[i + n] = direct(b)[j + n] + direct(c)[k + n];
  } else {
    for (std::size_t n = 0; n < count; ++n) {
      direct(a)[i + n] = direct(b)[j + n] + s * direct(c)[k + n];
    }
  }
}

// The longest stretch of at most `bytes` that begins at byte `from` of the arrays.
Stretch stretch_at(const ObjectArrays& arrays, std::size_t from, std::size_t bytes) {
  Stretch found;
  for (std::size_t array = 0; array < arrays.size(); ++array) {
    std::size_t before = 0;
    auto piece = arrays[array]->begin();
    while (before + piece->bytes <= from) before += (piece++)->bytes;
    found.ids.at(array) = piece->id;
    found.begin.at(array) = (from - before) / sizeof(double);
    bytes = std::min(bytes, before + piece->bytes - from);
  }
  found.count = bytes / sizeof(double);
  return found;
}

}  // namespace

void walk_objects(Operation operation, const ObjectArrays& arrays, std::size_t first,
                  const Walk& walk, Position& position, std::uint64_t count) {
  // Finding a thread's own variable takes longer than many an access.
  thread_local const Translator direct(pmemobj());
  std::size_t rest = count * walk.access_size;
  while (rest > 0) {
    const std::size_t left = std::min(rest, walk.bytes - position.offset);
    const Stretch stretch = stretch_at(arrays, first + position.offset, left);
    run(operation, stretch, walk.scalar, direct);
    const std::size_t done = stretch.count * sizeof(double);
    rest -= done;
    position.offset += done;
    if (position.offset == walk.bytes) position.offset = 0;
  }
}

}  // namespace tierscope
