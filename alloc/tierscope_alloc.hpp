// tierscope_alloc.hpp: arenas of tierscope_alloc.h for C++17: an owner, and a memory resource for
// containers of std::pmr. Header only; link with -ltierscope-alloc.
#ifndef TIERSCOPE_ALLOC_HPP
#define TIERSCOPE_ALLOC_HPP

#include <cerrno>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "tierscope_alloc.h"

namespace tierscope {

// Owns an arena, and frees it with all of its memory at its end: what was allocated from it must
// not be used any more then.
class arena {
 public:
  // As ts_arena_create. Throws std::system_error with its errno.
  explicit arena(const char* name, const char* nodes, std::size_t capacity = 0,
                 ts_when_full when_full = TS_FAIL)
      : arena_(ts_arena_create(name, nodes, capacity, when_full)) {
    check(arena_ != nullptr, "ts_arena_create");
  }
  arena(arena&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)) {}
  arena& operator=(arena&& other) noexcept {
    arena moved(std::move(other));
    std::swap(arena_, moved.arena_);
    return *this;
  }
  ~arena() {
    if (arena_ != nullptr) ts_arena_destroy(arena_);
  }

  // For the functions of tierscope_alloc.h; nullptr once the arena was moved from.
  [[nodiscard]] ts_arena* get() const noexcept { return arena_; }

  // As ts_arena_move. Throws std::system_error; EBUSY: some pages stayed where they were.
  void move_to(const char* nodes) { check(ts_arena_move(arena_, nodes) == 0, "ts_arena_move"); }

  // As ts_arena_statistics. Throws std::system_error.
  [[nodiscard]] ts_statistics statistics() const {
    ts_statistics result{};
    check(ts_arena_statistics(arena_, &result) == 0, "ts_arena_statistics");
    return result;
  }

  // Bytes of the arena on each node, up to the last node that has some; asks the kernel about each
  // page. Throws std::system_error.
  [[nodiscard]] std::vector<std::size_t> bytes_per_node() const {
    constexpr std::size_t most_nodes = 1024;
    std::vector<std::size_t> result(most_nodes);
    check(ts_arena_pages(arena_, result.data(), result.size()) == 0, "ts_arena_pages");
    while (!result.empty() && result.back() == 0) result.pop_back();
    return result;
  }

 private:
  static void check(bool done, const char* what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
  }

  ts_arena* arena_;
};

// Memory of an arena for std::pmr's containers. Full arenas that do not spill throw std::bad_alloc.
// Two resources are equal if they are of the same arena, so that a container that moves to another
// arena's copies its elements there.
class memory_resource final : public std::pmr::memory_resource {
 public:
  // nullptr: the calling thread's arena at each allocation, else plain malloc.
  explicit memory_resource(ts_arena* arena) noexcept : arena_(arena) {}
  explicit memory_resource(const arena& owner) noexcept : arena_(owner.get()) {}

  [[nodiscard]] ts_arena* get() const noexcept { return arena_; }

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    const std::size_t always_aligned = size > 8 ? 16 : 8;  // As tierscope_alloc.h says.
    void* const result = alignment <= always_aligned ? ts_malloc(arena_, size)
                                                     : ts_aligned_alloc(arena_, alignment, size);
    if (result == nullptr) throw std::bad_alloc();
    return result;
  }

  void do_deallocate(void* pointer, std::size_t, std::size_t) override { ts_free(pointer); }

  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* const same = dynamic_cast<const memory_resource*>(&other);
    return same != nullptr && same->arena_ == arena_;
  }

  ts_arena* arena_;
};

}  // namespace tierscope

#endif
