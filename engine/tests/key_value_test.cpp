#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "errors.h"
#include "key_value/load.h"
#include "key_value/options.h"
#include "key_value/protocols.h"
#include "key_value/records.h"
#include "key_value/server.h"
#include "key_value/worker.h"
#include "storage/pattern.h"

namespace tierscope::key_value {
namespace {

using Kind = Answer::Kind;

constexpr std::size_t kMost = 16;

void expect_answer(Protocol protocol, std::string_view text, Kind kind, std::string_view said) {
  SCOPED_TRACE(in_quotes(text));
  const std::string more = std::string(text) + "$5\r\n";
  const Answer found = parse_answer(protocol, more, kMost);
  EXPECT_EQ(found.kind, kind);
  EXPECT_EQ(found.text, said);
  EXPECT_EQ(found.bytes, text.size());
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const std::string part(text.substr(0, cut));
    EXPECT_EQ(parse_answer(protocol, part, kMost).kind, Kind::kPartial) << cut;
  }
}

TEST(KeyValueAnswers, OfRedisAreTakenWhereverTheyAreCut) {
  expect_answer(Protocol::kRedis, "$5\r\nhello\r\n", Kind::kValue, "hello");
  expect_answer(Protocol::kRedis, "$4\r\n\r\n\r\n\r\n", Kind::kValue, "\r\n\r\n");
  expect_answer(Protocol::kRedis, "$0\r\n\r\n", Kind::kValue, "");
  expect_answer(Protocol::kRedis, "$16\r\n0123456789abcdef\r\n", Kind::kValue, "0123456789abcdef");
  expect_answer(Protocol::kRedis, "$-1\r\n", Kind::kMissing, "");
  expect_answer(Protocol::kRedis, "+OK\r\n", Kind::kDone, "OK");
  expect_answer(Protocol::kRedis, "-LOADING wait\r\n", Kind::kError, "LOADING wait");
}

TEST(KeyValueAnswers, OfMemcachedAreTakenWhereverTheyAreCut) {
  expect_answer(Protocol::kMemcached, "VALUE user1 0 5\r\nhello\r\nEND\r\n", Kind::kValue, "hello");
  expect_answer(Protocol::kMemcached, "VALUE user1 0 5\r\nEND\r\n\r\nEND\r\n", Kind::kValue,
                "END\r\n");
  expect_answer(Protocol::kMemcached, "END\r\n", Kind::kMissing, "");
  expect_answer(Protocol::kMemcached, "STORED\r\n", Kind::kDone, "STORED");
  expect_answer(Protocol::kMemcached, "VERSION 1.6\r\n", Kind::kDone, "VERSION 1.6");
  for (const std::string_view line :
       {"ERROR", "CLIENT_ERROR bad", "SERVER_ERROR full", "NOT_STORED"}) {
    expect_answer(Protocol::kMemcached, std::string(line) + "\r\n", Kind::kError, line);
  }
}

TEST(KeyValueAnswers, ThatAreNotOfTheProtocolAreRefused) {
  for (const std::string_view text :
       {"$17\r\n", "$99999999999999999999\r\n", "$-2\r\n", "$\r\n", "$5x\r\n", "$ 5\r\n",
        "$5\r\nhelloXX", ":1\r\n", "\r\n", "STORED\r\n"}) {
    EXPECT_EQ(parse_answer(Protocol::kRedis, text, kMost).kind, Kind::kMalformed)
        << in_quotes(text);
  }
  for (const std::string_view text :
       {"VALUE user1 0 17\r\n", "VALUE user1 0 99999999999999999999\r\n", "VALUE user1 0 -1\r\n",
        "VALUE user1 0 \r\n", "VALUE \r\n", "VALUE user1 0 5\r\nhello\r\nENDLESS", "+OK\r\n"}) {
    EXPECT_EQ(parse_answer(Protocol::kMemcached, text, kMost).kind, Kind::kMalformed)
        << in_quotes(text);
  }
}

TEST(KeyValueAnswers, ALineWithoutAnEndIsNotWaitedForForEver) {
  const std::string line(kLongestLine + 1, 'x');
  EXPECT_EQ(parse_answer(Protocol::kRedis, "+" + line.substr(1), kMost).kind, Kind::kPartial);
  EXPECT_EQ(parse_answer(Protocol::kRedis, "+" + line, kMost).kind, Kind::kMalformed);
}

TEST(KeyValueAnswers, RequestsAreThoseOfTheProtocols) {
  std::string redis;
  add_get(redis, Protocol::kRedis, "user17");
  add_set(redis, Protocol::kRedis, "user1", "abc");
  EXPECT_EQ(redis,
            "*2\r\n$3\r\nGET\r\n$6\r\nuser17\r\n"
            "*3\r\n$3\r\nSET\r\n$5\r\nuser1\r\n$3\r\nabc\r\n");
  std::string memcached;
  add_get(memcached, Protocol::kMemcached, "user17");
  add_set(memcached, Protocol::kMemcached, "user1", "abc");
  EXPECT_EQ(memcached, "get user17\r\nset user1 0 0 3\r\nabc\r\n");
}

void expect_verified(std::size_t bytes) {
  const Records records(100, bytes);
  const std::string right = records.value_of(17);
  ASSERT_EQ(right.size(), bytes);
  EXPECT_TRUE(records.is_value_of(17, right));
  EXPECT_FALSE(records.is_value_of(17, right + "x"));
  EXPECT_FALSE(records.is_value_of(17, std::string_view(right).substr(1)));
  for (std::size_t i = 0; i < bytes; ++i) {
    std::string wrong = right;
    wrong[i] ^= 1;
    EXPECT_FALSE(records.is_value_of(17, wrong)) << i;
  }
}

TEST(KeyValueRecords, EveryByteOfAValueIsVerified) {
  for (const std::size_t bytes : {1, 7, 8, 9, 1000}) expect_verified(bytes);
}

TEST(KeyValueRecords, EachHasAValueOfItsOwn) {
  const Records records(1000, 8);
  std::vector<std::string> values;
  for (std::uint64_t i = 0; i < records.count(); ++i) values.push_back(records.value_of(i));
  std::ranges::sort(values);
  EXPECT_EQ(std::ranges::adjacent_find(values), values.end());
}

// How often each of `records` is chosen, the most frequent first.
std::vector<int> frequencies(Choices choices, std::uint64_t records, int count) {
  std::vector<int> found(records);
  for (int i = 0; i < count; ++i) ++found.at(choices.next().record);
  std::ranges::sort(found, std::greater<>());
  return found;
}

TEST(KeyValueChoices, FollowZipfsLaw) {
  constexpr int kCount = 1'000'000;
  constexpr int kRecords = 1024;  // A power of two: each rank has a record of its own.
  const std::vector<int> found = frequencies(Choices(kRecords, 0.99, 0, 1), kRecords, kCount);
  // Of the continuous law, by which ranks are generated (access/zipf_order.h).
  const auto share = [](double ranks) {
    return (std::pow(ranks + 1, 0.01) - 1) / (std::pow(kRecords + 1, 0.01) - 1);
  };
  for (const int ranks : {1, 10, 100, 1000}) {
    const double sum = std::accumulate(found.begin(), found.begin() + ranks, 0.0);
    EXPECT_NEAR(sum / kCount, share(ranks), 0.02) << ranks;
  }
}

TEST(KeyValueChoices, WithoutSkewAreAllAlike) {
  constexpr int kCount = 1'000'000;
  const std::vector<int> found = frequencies(Choices(1000, 0, 0, 1), 1000, kCount);
  // Six standard deviations of about 32.
  EXPECT_NEAR(found.front(), 1000, 190);
  EXPECT_NEAR(found.back(), 1000, 190);
}

TEST(KeyValueChoices, WriteTheShareThatIsAskedFor) {
  for (const double share : {0.0, 0.1, 1.0}) {
    Choices choices(1000, 0.99, share, 1);
    int writes = 0;
    for (int i = 0; i < 100'000; ++i) writes += choices.next().write ? 1 : 0;
    EXPECT_NEAR(writes / 1e5, share, share == 0.1 ? 0.01 : 0);
  }
}

TEST(KeyValueChoices, DifferFromThreadToThread) {
  Choices one(1'000'000, 0.99, 0, 0);
  Choices other(1'000'000, 0.99, 0, 1);
  int same = 0;
  for (int i = 0; i < 1000; ++i) same += one.next().record == other.next().record ? 1 : 0;
  EXPECT_LT(same, 100);
}

// Threads' schedules are independent, so that together they are a Poisson process too: counts in
// equal windows have a variance that is their mean.
TEST(KeyValueSchedule, OfSeveralThreadsIsAPoissonProcessOfTheWholeRate) {
  constexpr double kRate = 10'000;
  constexpr int kThreads = 4;
  constexpr std::size_t kWindows = 2000;
  constexpr double kWindowNs = 1e7;
  std::vector<int> counts(kWindows);
  for (int thread = 0; thread < kThreads; ++thread) {
    Arrivals arrivals(kRate / kThreads, true, static_cast<std::uint64_t>(thread) + 1);
    while (true) {
      const auto window = static_cast<std::size_t>(arrivals.next_ns() / kWindowNs);
      if (window >= kWindows) break;
      ++counts[window];
    }
  }
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / kWindows;
  double squares = 0;
  for (const int count : counts) squares += (count - mean) * (count - mean);
  EXPECT_NEAR(mean, 100, 1.5);
  EXPECT_NEAR(squares / kWindows / mean, 1, 0.15);
}

TEST(KeyValueOpenLoop, FallsBehindWhereItIsAlwaysLaterThanBefore) {
  std::array<double, kLooks> behind_s{};
  for (std::size_t i = 0; i < kLooks; ++i) behind_s[i] = 0.001 * static_cast<double>(i);
  EXPECT_TRUE(falls_behind(behind_s, 1));
  EXPECT_FALSE(falls_behind(behind_s, 10));  // 5 ms later after 10 s.
}

TEST(KeyValueOpenLoop, DoesNotFallBehindByAStallAnywhere) {
  for (std::size_t stall = 0; stall < kLooks; ++stall) {
    std::array<double, kLooks> behind_s{};
    behind_s[stall] = 0.2;
    if (stall + 1 < kLooks) behind_s[stall + 1] = 0.1;
    EXPECT_FALSE(falls_behind(behind_s, 1));
  }
}

TEST(KeyValueOpenLoop, DoesNotFallBehindWhereTheMachineBecomesBusy) {
  EXPECT_FALSE(falls_behind({0, 0, 0, 0, 0, 0, 0, 0, 0.03, 0.05, 0.04, 0.06}, 1));
  EXPECT_FALSE(falls_behind({0, 0, 0, 0, 0.03, 0.05, 0.04, 0.06, 0.05, 0.04, 0.05, 0.047}, 1));
}

TEST(KeyValueOpenLoop, OfAllThreadsIsAsLateAsTheLatest) {
  OpenLoop one{.due = 10, .in_time = 9, .behind_s = 0.5};
  OpenLoop other{.due = 20, .in_time = 20, .fell_behind = true, .behind_s = 0.25};
  other.latencies.record(100);
  one.add(other);
  EXPECT_EQ(one.due, 30);
  EXPECT_EQ(one.in_time, 29);
  EXPECT_EQ(one.behind_s, 0.5);
  EXPECT_TRUE(one.fell_behind);
  EXPECT_EQ(one.latencies.count(), 1);
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse_options(words);
  } catch (const Unavailable& error) {
    return error.what();
  }
  return "taken";
}

std::vector<std::string> with(std::vector<std::string> more) {
  std::vector<std::string> words{"--protocol", "redis", "--socket", "/s", "--bytes", "10000"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(KeyValueOptions, AreTaken) {
  const LoadOptions options = parse_options({"--protocol", "memcached", "--host", "::1", "--port",
                                             "11211", "--bytes", "10500", "--value", "1000",
                                             "--rate", "2e4", "--writes", "0.5", "--threads", "2"});
  EXPECT_EQ(options.protocol, Protocol::kMemcached);
  EXPECT_EQ(options.address.text(), "::1:11211");
  EXPECT_EQ(options.records(), 10);
  EXPECT_EQ(options.rate, 20000);
  EXPECT_EQ(options.writes, 0.5);
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(options.clients, 50);
}

TEST(KeyValueOptions, ThatAreWrongAreNamed) {
  EXPECT_EQ(refusal(with({})), "taken");
  EXPECT_EQ(refusal(with({"--clients", "0"})),
            "--clients takes a whole number from 1 to 10000, not '0'");
  EXPECT_EQ(refusal(with({"--clients", "5x"})),
            "--clients takes a whole number from 1 to 10000, not '5x'");
  EXPECT_EQ(refusal(with({"--rate", "nan"})), "--rate takes a number from 1 to 1e+08, not 'nan'");
  EXPECT_EQ(refusal(with({"--writes", "1.5"})), "--writes takes a number from 0 to 1, not '1.5'");
  EXPECT_EQ(refusal(with({"--protocol", "http"})),
            "--protocol takes redis or memcached, not 'http'");
  EXPECT_EQ(refusal(with({"--rate"})), "--rate needs a value");
  EXPECT_EQ(refusal(with({"--rat", "1"})), "no option is named '--rat'");
  EXPECT_EQ(refusal(with({"--port", "1"})), "either --socket or --port has to be given");
  EXPECT_EQ(refusal(with({"--host", "a"})), "--host goes with --port, not --socket");
  EXPECT_EQ(refusal(with({"--fill", "--rate", "1"})), "--rate has no meaning with --fill");
  EXPECT_EQ(refusal(with({"--value", "10001"})),
            "--bytes 10000 is less than one record of --value 10001");
  EXPECT_EQ(refusal(with({"--threads", "51"})),
            "--threads 51 is more than --clients 50: each thread drives one or more");
  EXPECT_EQ(refusal({"--bytes", "10000", "--socket", "/s"}), "--protocol is missing");
  EXPECT_EQ(refusal({"--protocol", "redis", "--socket", "/s"}), "--bytes is missing");
}

TEST(KeyValueServer, WordsOfItAreOnePrintableLine) {
  EXPECT_EQ(in_quotes("a\r\nb\x80"), "'a??b?'");
  EXPECT_EQ(in_quotes(std::string(1000, 'x')).size(), 102);
}

}  // namespace
}  // namespace tierscope::key_value
