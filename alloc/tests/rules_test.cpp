// The rules of the preloaded allocator: what is read, and what is said of what is wrong.
#include "rules.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <tuple>

#include "text.h"

namespace {

class Rules : public testing::Test {
 protected:
  std::string read(const std::string& text) {
    char message[kMaxMessage] = "";
    const bool right = parse_rules(found_.get(), text.data(), text.size(), "f", ";\n", message);
    EXPECT_EQ(right, message[0] == '\0');
    return message;
  }
  const rule& first() { return found_->rules[0]; }

  std::unique_ptr<rules> found_ = std::make_unique<rules>();
};

TEST_F(Rules, AnArenaHasNodesCapacityAndWhatToDoWhenFull) {
  ASSERT_EQ(read("# tiers\n\narena slow 0@2,2@1 full=reclaim capacity=8GiB # more\narena b bind:1"),
            "");
  const arena_line& slow = found_->arenas[0];
  EXPECT_STREQ(slow.name, "slow");
  EXPECT_STREQ(slow.nodes, "0@2,2@1");
  EXPECT_EQ(slow.capacity, std::size_t{8} << 30);
  EXPECT_EQ(slow.when_full, TS_RECLAIM);
  EXPECT_EQ(slow.line, 3);
  EXPECT_EQ(found_->arenas[1].when_full, TS_SPILL);
  EXPECT_EQ(found_->arenas[1].capacity, 0U);
}

TEST_F(Rules, MappingsCannotLieInPersistentMemory) {
  EXPECT_EQ(read("arena p pmem:/mnt/pmem;size >= 1M -> p;map >= 1M -> plain"), "");
  EXPECT_STREQ(found_->arenas[0].nodes, "pmem:/mnt/pmem");
  EXPECT_EQ(read("arena p pmem:/mnt/pmem;map >= 1M -> p"),
            "f:2: no mappings can lie in 'p', which is persistent memory; blocks can");
}

TEST_F(Rules, SizesAreRangesWithoutTheirEnd) {
  const std::tuple<const char*, std::size_t, std::size_t> cases[] = {
      {">= 1M", 1 << 20, SIZE_MAX}, {"> 1M", (1 << 20) + 1, SIZE_MAX}, {"< 2k", 0, 2047},
      {"<= 2KB", 0, 2048},          {"64K..1MiB", 65536, 1048575},     {"0..1", 0, 0}};
  for (const auto& [text, low, high] : cases) {
    ASSERT_EQ(read("arena a 0;size " + std::string(text) + " -> a"), "") << text;
    EXPECT_EQ(first().low, low) << text;
    EXPECT_EQ(first().high, high) << text;
  }
}

TEST_F(Rules, SitesAreFunctionsOrOffsets) {
  ASSERT_EQ(read("arena a 0;site redis-server:z* -> a;site lib+0x.so+0x1aF -> plain"), "");
  EXPECT_STREQ(first().object, "redis-server");
  EXPECT_STREQ(first().pattern, "z*");
  EXPECT_STREQ(found_->rules[1].object, "lib+0x.so");
  EXPECT_EQ(found_->rules[1].pattern, nullptr);
  EXPECT_EQ(found_->rules[1].offset, 0x1AFU);
  EXPECT_EQ(found_->rules[1].bit, 1);
  EXPECT_EQ(found_->rules[1].arena, kPlain);
}

TEST_F(Rules, QuotationMarksKeepBlanks) {
  ASSERT_EQ(read("arena a 0\nthread \"C2 Comp*\" -> a"), "");
  EXPECT_STREQ(first().pattern, "C2 Comp*");
}

TEST_F(Rules, ARatioHasTheDefaultsOfMemkindButForItsBounds) {
  ASSERT_EQ(read("arena a 0;ratio plain:a 2:1"), "");
  const ratio_line& ratio = found_->ratio;
  EXPECT_EQ(ratio.arenas[0], kPlain);
  EXPECT_EQ(ratio.arenas[1], 0);
  EXPECT_EQ(ratio.shares[0], 2U);
  EXPECT_EQ(ratio.shares[1], 1U);
  EXPECT_EQ(ratio.start, 1024U);
  EXPECT_EQ(ratio.window, 20U);
  EXPECT_EQ(ratio.step, 15U);
  EXPECT_EQ(ratio.trigger, 2U);
  ASSERT_EQ(
      read("arena a 0;ratio a:plain 1:9 start=4K min=16 max=1M window=5 step=50% trigger=10%"), "");
  EXPECT_EQ(ratio.least, 16U);
  EXPECT_EQ(ratio.most, 1U << 20);
}

TEST_F(Rules, WhatIsWrongIsSaidWithItsLineAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"sise >= 1M -> a",
       "f:1: 'sise' begins no rule; arena, size, thread, site, map and ratio do"},
      {"\n\nsize >= 1M -> slow", "f:3: no arena 'slow'; define it above, as in: arena slow 2"},
      {"arena a 0\nsize >= 1Q -> a",
       "f:2: this size is not understood; write: size >= 1M -> ARENA"},
      {"arena a 0\nsize 2M..1M -> a", "f:2: this size is not understood"},
      {"arena a 0\nsize >= 1M a", "f:2: a rule ends in '-> ARENA'; write: size >= 1M -> ARENA"},
      {"arena a 0\nsite malloc -> a", "f:2: this site is not understood; write: site OBJECT:FUNC"},
      {"arena a 0 capacity=0", "f:1: 'capacity=0' is not a size; write capacity=8G"},
      {"arena a 0 full=stop",
       "f:1: 'full=stop' is unknown; choose full=spill, full=fail or full=re"},
      {"arena a 0 size=1", "f:1: an arena has no 'size=1'; write: arena NAME NODES"},
      {"arena a", "f:1: an arena needs a name and nodes; write: arena NAME NODES"},
      {"arena plain 0", "f:1: 'plain' is not a name for an arena"},
      {"arena a 0;arena a 1", "f:2: arena 'a' is defined above; give it another name"},
      {"arena a 0;ratio a 2:1", "f:2: 'a' is not two sides; write: ratio plain:ARENA 2:1"},
      {"arena a 0;ratio plain:a 2", "f:2: '2' is not two shares from 1 to 65535, as in 2:1"},
      {"arena a 0;ratio plain:plain 2:1", "f:2: both sides are 'plain'; name two"},
      {"arena a 0;ratio plain:a 2:1 step=0%", "f:2: 'step=0%' is not understood; write: ratio"},
      {"arena a 0;ratio plain:a 2:1 min=2K", "f:2: start=1024 is not between min=2048 and max="},
      {"arena a 0;ratio plain:a 2:1;size > 1 -> a", "f:3: no block comes here, as the ratio above"},
      {"thread \"a -> b", "f:1: a quotation mark (\") without a second one"},
      {"arena \x01\x7f 0", "f:1: '?\?' is not a name for an arena"},
  };
  for (const auto& [text, complaint] : cases) {
    const std::string message = read(text);
    EXPECT_EQ(message.substr(0, std::string(complaint).size()), complaint) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(read(std::string("arena a\0b", 9)), "f: a zero byte; rules are text");
}

TEST_F(Rules, ThereAreLimitsAndTheyAreSaid) {
  std::string text = "arena a 0\n";
  for (int i = 0; i < kMaxRules; ++i) text += "size >= 1 -> a\n";
  EXPECT_EQ(read(text), "");
  EXPECT_EQ(read(text + "size >= 1 -> a"), "f:258: more than 256 rules");
  std::string threads = "arena a 0\n";
  for (int i = 0; i < kMaxPatterns; ++i) threads += "thread t -> a\n";
  EXPECT_EQ(read(threads), "");
  EXPECT_EQ(read(threads + "thread t -> a"), "f:66: more than 64 rules for threads, or for sites");
  EXPECT_EQ(read(std::string(kMaxRulesBytes, '\n')), "");
  EXPECT_EQ(read(std::string(kMaxRulesBytes + 1, '\n')), "f: more than 65536 bytes of rules");
}

TEST_F(Rules, AFileIsReadAndASemicolonMakesRules) {
  char message[kMaxMessage] = "";
  EXPECT_FALSE(read_rules(found_.get(), "/no/such/file", message));
  EXPECT_STREQ(message, "/no/such/file: the rules cannot be read: No such file or directory");
  EXPECT_FALSE(read_rules(found_.get(), "/", message));
  EXPECT_STREQ(message, "/: the rules cannot be read: Is a directory");
  const std::string pipe = testing::TempDir() + "/rules-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_rules(found_.get(), pipe.c_str(), message));
  EXPECT_EQ(message, pipe + ": the rules are not in a regular file; write them to one");
  unlink(pipe.c_str());
  EXPECT_TRUE(read_rules(found_.get(), "arena a 0;", message));
  EXPECT_FALSE(read_rules(found_.get(), "arena a 0;arena", message));
  EXPECT_STREQ(std::string(message).substr(0, 24).c_str(), "TIERSCOPE_ALLOC_RULES:2:");
}

TEST(Globs, StarsAndQuestionMarks) {
  EXPECT_TRUE(fits_glob("", ""));
  EXPECT_TRUE(fits_glob("*", ""));
  EXPECT_TRUE(fits_glob("worker*", "worker-1"));
  EXPECT_TRUE(fits_glob("*.so.*", "libc.so.6"));
  EXPECT_TRUE(fits_glob("a*b*c", "aXbXbc"));
  EXPECT_TRUE(fits_glob("b?o_*", "bio_1"));
  EXPECT_FALSE(fits_glob("worker", "worker-1"));
  EXPECT_FALSE(fits_glob("worker-?", "worker-"));
  EXPECT_FALSE(fits_glob("a*b", "aXc"));
}

}  // namespace
