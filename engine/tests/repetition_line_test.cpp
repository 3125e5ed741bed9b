#include "protocol/repetition_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "protocol/line_reader.h"
#include "protocol/object_reader.h"

namespace tierscope {
namespace {

std::string complaint_about(const std::string& line) {
  try {
    parse_repetition_line(line);
    return "";
  } catch (const PlanError& error) {
    return error.what();
  }
}

TEST(RepetitionLine, AsksForAVisit) {
  const auto line = parse_repetition_line(R"({"repetition": "a", "seconds": 1.5, "fresh": true})");
  const auto& request = std::get<RepetitionRequest>(line);
  EXPECT_EQ(request.id, "a");
  EXPECT_EQ(request.seconds, 1.5);
  EXPECT_TRUE(request.fresh);
  EXPECT_FALSE(
      std::get<RepetitionRequest>(parse_repetition_line(R"({"repetition":"a","seconds":1})"))
          .fresh);
}

TEST(RepetitionLine, AddsAPlan) {
  const auto line = parse_repetition_line(R"({"plan": {"version": 2}})");
  EXPECT_EQ(std::get<AddPlan>(line).plan["version"], 2);
}

TEST(RepetitionLine, IsStrict) {
  EXPECT_EQ(complaint_about(R"({"repetition": "a"})"), "line.seconds: is missing");
  EXPECT_EQ(complaint_about(R"({"repetition": "a", "seconds": 0})"),
            "line.seconds: 0 is not above 0 and at most 86400");
  EXPECT_EQ(complaint_about(R"({"repetition": "a", "seconds": 1, "soon": 1})"),
            "line.soon: is not a known key");
  EXPECT_EQ(complaint_about(R"({"plan": {}, "repetition": "a"})"),
            "line.repetition: is not a known key");
  EXPECT_EQ(complaint_about(R"({"repetition": "a", "repetition": "b"})"),
            "line: has the key 'repetition' twice");
  EXPECT_EQ(complaint_about("[]"), "line: is not an object");
  EXPECT_NE(complaint_about(""), "");
}

TEST(LineReader, GivesLinesAndALastOneWithoutANewline) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string text = "one\n\nthree";
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  LineReader lines(ends[0]);
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), "three");
  EXPECT_EQ(lines.next(), std::nullopt);
  close(ends[0]);
}

}  // namespace
}  // namespace tierscope
