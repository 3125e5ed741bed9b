// What tierscope_alloc.hpp promises; exits with 1 at the first claim that does not hold.
#include <cstdint>
#include <iostream>
#include <map>
#include <memory_resource>
#include <numeric>
#include <string>
#include <system_error>
#include <tierscope_alloc.hpp>
#include <type_traits>
#include <vector>

#define CLAIM(holds)                                                            \
  do {                                                                          \
    if (!(holds)) {                                                             \
      std::cerr << "line " << __LINE__ << " does not hold: " << #holds << '\n'; \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

static_assert(!std::is_copy_constructible_v<tierscope::arena>);
static_assert(std::is_nothrow_move_constructible_v<tierscope::arena>);
static_assert(std::is_nothrow_move_assignable_v<tierscope::arena>);

namespace {

constexpr std::size_t kMiB = 1 << 20;

int error_of(const char* name, const char* nodes) {
  try {
    tierscope::arena(name, nodes);
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

void claim_owner() {
  CLAIM(error_of("x", "nowhere") == EINVAL);
  CLAIM(error_of("x", "1023") == ENODEV);
  CLAIM(error_of("a name", "0") == EINVAL);
  ts_arena* made = nullptr;
  {
    tierscope::arena first("first", "0");
    CLAIM(error_of("first", "0") == EEXIST);
    made = first.get();
    tierscope::arena second(std::move(first));
    CLAIM(second.get() == made && ts_arena_find("first") == made);
    second = tierscope::arena("third", "0");
    CLAIM(ts_arena_find("first") == nullptr && ts_arena_find("third") == second.get());
    second.move_to("bind:0");
    std::error_code code;
    try {
      second.move_to("1023");
    } catch (const std::system_error& error) {
      code = error.code();
    }
    CLAIM(code == std::errc::no_such_device);
  }
  CLAIM(ts_arena_find("third") == nullptr);
}

void claim_containers() {
  tierscope::arena slow("slow", "0");
  tierscope::memory_resource resource(slow);
  {
    std::pmr::vector<std::pmr::string> texts(&resource);
    for (int i = 0; i < 1000; ++i) texts.emplace_back(100, static_cast<char>('a' + i % 26));
    CLAIM(ts_arena_of(texts.data()) == slow.get());
    CLAIM(ts_arena_of(texts[999].data()) == slow.get());
    CLAIM(texts[25] == std::pmr::string(100, 'z'));
    std::pmr::map<int, std::pmr::string> by_number(&resource);
    for (int i = 0; i < 1000; ++i) by_number[i] = texts[static_cast<std::size_t>(i)];
    CLAIM(ts_arena_of(&by_number[7]) == slow.get());
    CLAIM(slow.statistics().allocated >= 200 * 1000);
    const std::vector<std::size_t> bytes = slow.bytes_per_node();
    CLAIM(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}) >= 200 * 1000);

    tierscope::arena other("other", "0");
    tierscope::memory_resource elsewhere(other);
    tierscope::memory_resource same(slow.get());
    CLAIM(resource == same && resource != elsewhere && same.get() == slow.get());
    CLAIM(resource != *std::pmr::new_delete_resource());
    std::pmr::vector<std::pmr::string> moved(std::move(texts), &elsewhere);
    CLAIM(ts_arena_of(moved.data()) == other.get() && ts_arena_of(moved[9].data()) == other.get());
  }
}

void claim_alignment() {
  tierscope::arena arena("aligned", "0");
  tierscope::memory_resource resource(arena);
  for (std::size_t alignment = 1; alignment <= 4 * kMiB; alignment *= 2) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{3}, alignment, 3 * alignment + 1}) {
      void* const block = resource.allocate(size, alignment);
      CLAIM(block != nullptr && reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
      CLAIM(ts_arena_of(block) == arena.get());
      resource.deallocate(block, size, alignment);
    }
  }
}

void claim_full() {
  tierscope::arena small("small", "0", 8 * kMiB);
  tierscope::memory_resource resource(small);
  std::pmr::vector<char> bytes(&resource);
  try {
    for (;;) bytes.resize(bytes.size() + kMiB, 'x');
  } catch (const std::bad_alloc&) {
    CLAIM(!bytes.empty() && bytes.front() == 'x' && bytes.back() == 'x');
  }
  CLAIM(small.statistics().failed_count >= 1 && small.statistics().committed <= 8 * kMiB);

  tierscope::arena spilling("spilling", "0", 8 * kMiB, TS_SPILL);
  tierscope::memory_resource spills(spilling);
  std::pmr::vector<char> many(16 * kMiB, 'x', &spills);
  CLAIM(ts_arena_of(many.data()) == nullptr && many.back() == 'x');
  CLAIM(spilling.statistics().spilled >= 16 * kMiB && spilling.statistics().spilled_count == 1);
}

void claim_thread_arena() {
  tierscope::memory_resource of_thread(nullptr);
  tierscope::arena mine("mine", "0");
  std::pmr::vector<int> plain(1000, 7, &of_thread);
  ts_set_thread_arena(mine.get());
  std::pmr::vector<int> placed(1000, 7, &of_thread);
  ts_set_thread_arena(nullptr);
  CLAIM(ts_arena_of(plain.data()) == nullptr && ts_arena_of(placed.data()) == mine.get());
  placed.clear();
  placed.shrink_to_fit();
}

}  // namespace

int main() {
  claim_owner();
  claim_containers();
  claim_alignment();
  claim_full();
  claim_thread_arena();
  return 0;
}
