#include "protocol/exchange.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "errors.h"
#include "protocol/line_reader.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

std::vector<nlohmann::json> answered(const std::string& line) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  close(ends[1]);
  LineReader lines(ends[0]);
  testing::internal::CaptureStdout();
  try {
    std::vector<nlohmann::json> all = exchange("a", {{"rank", 0}}, lines);
    testing::internal::GetCapturedStdout();
    close(ends[0]);
    return all;
  } catch (...) {
    testing::internal::GetCapturedStdout();
    close(ends[0]);
    throw;
  }
}

std::string complaint(const std::string& line) {
  try {
    answered(line);
    return "";
  } catch (const PlanError& error) {
    return error.what();
  }
}

TEST(Exchange, GivesWhatAllRanksSaid) {
  const std::vector<nlohmann::json> expected{{{"rank", 0}}, {{"rank", 1}}};
  EXPECT_EQ(answered("{\"exchanged\": [{\"rank\": 0}, {\"rank\": 1}]}\n"), expected);
}

TEST(Exchange, FailsWhereARankIsLost) {
  try {
    answered("{\"lost\": \"rank 1 died\"}\n");
    FAIL() << "it has to fail";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "rank 1 died");
  }
}

TEST(Exchange, IsStrict) {
  EXPECT_EQ(complaint("{}\n"), "line.exchanged: is missing");
  EXPECT_EQ(complaint("{\"exchanged\": null}\n"), "line.exchanged: is missing");
  EXPECT_EQ(complaint("{\"exchanged\": [1], \"lost\": \"rank 1\"}\n"),
            "line.lost: goes with nothing else");
}

}  // namespace
}  // namespace tierscope
