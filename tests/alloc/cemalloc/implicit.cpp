// A program that knows nothing of cemalloc, for CE_MODE=CE_IMPLICIT: started with the library in
// LD_PRELOAD, all of its memory is placed.
#include <malloc.h>
#include <sys/mman.h>

#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "pages.h"

namespace {

constexpr size_t kSize = 4 << 20;

// Blocks of many sizes, each filled with a value of its own, that are resized and freed in another
// order than they were made.
void churn(int seed) {
  struct Block {
    unsigned char* at;
    size_t size;
    unsigned char value;
  };
  std::vector<Block> blocks;
  unsigned state = static_cast<unsigned>(seed) * 2654435761U + 1;
  const auto next = [&state](unsigned below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % below;
  };
  for (int round = 0; round < 20000; ++round) {
    if (blocks.size() < 200) {
      const size_t size = 1 + next(next(50) == 0 ? 300000 : 2000);
      const auto value = static_cast<unsigned char>(next(256));
      void* block = nullptr;
      switch (next(5)) {
        case 0:
          block = malloc(size);
          break;
        case 1:
          block = calloc(1, size);
          for (size_t i = 0; i < size; ++i) CLAIM(static_cast<unsigned char*>(block)[i] == 0);
          break;
        case 2:
          block = memalign(256, size);
          break;
        case 3:
          CLAIM(posix_memalign(&block, 4096, size) == 0);
          break;
        default:
          block = aligned_alloc(64, size);
          break;
      }
      CLAIM(block != nullptr && malloc_usable_size(block) >= size);
      memset(block, value, size);
      blocks.push_back({static_cast<unsigned char*>(block), size, value});
      continue;
    }
    const size_t chosen = next(static_cast<unsigned>(blocks.size()));
    Block& block = blocks[chosen];
    CLAIM(block.at[0] == block.value && block.at[block.size - 1] == block.value);
    if (next(2) == 0) {
      const size_t size = 1 + next(5000);
      block.at = static_cast<unsigned char*>(realloc(block.at, size));
      CLAIM(block.at != nullptr && block.at[0] == block.value);
      memset(block.at, block.value, size);
      block.size = size;
    } else {
      free(block.at);
      block = blocks.back();
      blocks.pop_back();
    }
  }
  for (const Block& block : blocks) free(block.at);
}

// Blocks that one thread makes and another one frees.
void hand_over() {
  std::vector<std::unique_ptr<std::string>> made;
  std::thread([&] {
    for (int i = 0; i < 10000; ++i) made.push_back(std::make_unique<std::string>(i % 300, 'x'));
  }).join();
  std::thread([&] { made.clear(); }).join();
}

void touch_and_print(const char* what, void* block) {
  memset(block, 1, kSize);
  print_pages(what, block, kSize);
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int seed = 0; seed < 4; ++seed) threads.emplace_back(churn, seed);
  for (std::thread& thread : threads) thread.join();
  hand_over();
  const std::list<int> list(100000, 7);
  CLAIM(list.size() == 100000 && list.back() == 7);

  touch_and_print("malloc", malloc(kSize));
  touch_and_print("realloc", realloc(malloc(10), kSize));
  touch_and_print("memalign", memalign(1 << 16, kSize));
  touch_and_print("new", new char[kSize]);
  touch_and_print("mmap",
                  mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::thread([] { touch_and_print("thread", malloc(kSize)); }).join();
  return 0;
}
