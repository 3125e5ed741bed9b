#include "memory/mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "errors.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr int kHugetlbSizeShift = 26;  // MAP_HUGE_SHIFT

[[noreturn]] void refuse(std::size_t bytes, int error) {
  throw Unavailable(
      Cause::kMemory,
      fmt::format("{} bytes of address space cannot be reserved: {}", bytes, std::strerror(error)),
      "raise `ulimit -v`, or look at vm.overcommit_memory and at hugetlb reservations");
}

Mapping map_hugetlb(std::size_t bytes, std::size_t page_bytes) {
  const int size_flag = std::countr_zero(page_bytes) << kHugetlbSizeShift;
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size_flag, -1, 0);
  if (start == MAP_FAILED) refuse(bytes, errno);
  auto* data = static_cast<std::byte*>(start);
  return Mapping(data, Unmap{data, bytes});
}

// Inaccessible pages on both sides keep the kernel from merging the mapping with a neighbour, so
// that what it states for mappings (smaps) holds for this region alone.
Mapping map_guarded(std::size_t bytes, std::size_t alignment) {
  const std::size_t guard = base_page_bytes();
  const std::size_t all = guard + alignment + bytes + guard;
  void* start = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) refuse(all, errno);
  auto* first = static_cast<std::byte*>(start);
  const auto address = reinterpret_cast<std::uintptr_t>(first) + guard;
  const std::size_t skip = (alignment - address % alignment) % alignment;
  Mapping mapping(first + guard + skip, Unmap{first, all});
  if (mprotect(mapping.get(), bytes, PROT_READ | PROT_WRITE) != 0) refuse(bytes, errno);
  return mapping;
}

}  // namespace

void Unmap::operator()(std::byte* /*data*/) const { munmap(start, bytes); }

Mapping map_pages(std::size_t bytes, Pages pages, std::size_t page_bytes) {
  if (is_hugetlb(pages)) return map_hugetlb(bytes, page_bytes);
  Mapping mapping = map_guarded(bytes, page_bytes);
  const bool thp = pages == Pages::kThp;
  // Without huge pages in the kernel, asking for none fails, and there is nothing to prevent.
  if (madvise(mapping.get(), bytes, thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) != 0 && thp) {
    throw Failure(fmt::format("madvise(MADV_HUGEPAGE): {}", std::strerror(errno)));
  }
  return mapping;
}

}  // namespace tierscope
