// Objects of many sizes by new and delete, in threads that end, with an allocation that fails.
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(128) Wide {
  char bytes[4096];
};

int main() {
  std::vector<std::thread> threads;
  std::vector<std::string> kept[4];
  for (auto& mine : kept) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 5000; ++i) mine.emplace_back(std::string(i % 9000, 'x'));
    });
  }
  for (auto& thread : threads) thread.join();
  const auto wide = std::make_unique<Wide[]>(3);
  volatile std::size_t most = std::size_t{1} << 60;
  try {
    const std::unique_ptr<char[]> huge(new char[most]);
    return 1;
  } catch (const std::bad_alloc&) {
  }
  if (new (std::nothrow) char[most] != nullptr) return 1;
  std::size_t bytes = 0;
  for (const auto& mine : kept)
    for (const auto& text : mine) bytes += text.size();
  std::printf("%zu\n", bytes);
}
