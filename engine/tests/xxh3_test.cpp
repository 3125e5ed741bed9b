// The hash that GPUs compute is the library's.
#define XXH_STATIC_LINKING_ONLY  // For the secret.
#include "gpu/xxh3.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <random>
#include <vector>

namespace tierscope {
namespace {

class XxHash : public testing::Test {
 protected:
  XxHash() { XXH3_generateSecret_fromSeed(xxh3_.secret, 0); }

  std::vector<std::uint64_t> random_words(std::size_t count) {
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t& word : words) word = random_();
    return words;
  }

  Xxh3 xxh3_{};
  std::mt19937_64 random_{1};
};

TEST_F(XxHash, Of32BytesIsTheLibrarys) {
  for (int i = 0; i < 1000; ++i) {
    const auto words = random_words(4);
    EXPECT_EQ(xxh3_.of_32_bytes(words.data()), XXH3_64bits(words.data(), 32));
  }
}

TEST_F(XxHash, OfEveryLengthInWordsIsTheLibrarys) {
  for (int count = 31; count <= 128; ++count) {
    const auto words = random_words(static_cast<std::size_t>(count));
    EXPECT_EQ(xxh3_.of_words(words.data(), count), XXH3_64bits(words.data(), words.size() * 8))
        << count;
  }
}

}  // namespace
}  // namespace tierscope
