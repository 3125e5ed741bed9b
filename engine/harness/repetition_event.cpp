#include "harness/repetition_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tierscope {
namespace {

using nlohmann::ordered_json;

class Line {
 public:
  void text(std::string_view raw) { line_ += raw; }

  void string(const std::string& value) {
    line_ += ordered_json(value).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  void number(double value, int digits) {
    if (!std::isfinite(value)) {
      line_ += "null";
    } else {
      fmt::format_to(std::back_inserter(line_), "{:.{}g}", value, digits);
    }
  }

  // "key":[...] with one element for each item, as `write` writes it.
  template <typename Items, typename Write>
  void array(std::string_view key, const Items& items, const Write& write) {
    fmt::format_to(std::back_inserter(line_), "\"{}\":[", key);
    bool first = true;
    for (const auto& item : items) {
      if (!first) line_ += ',';
      first = false;
      write(item);
    }
    line_ += ']';
  }

  void histogram(const BucketCounts& counts) {
    line_ += '[';
    bool first = true;
    for (const auto& [bucket, count] : counts) {
      if (!std::exchange(first, false)) line_ += ',';
      fmt::format_to(std::back_inserter(line_), "{},{}", bucket, count);
    }
    line_ += ']';
  }

  std::string take() { return std::move(line_); }

 private:
  std::string line_;
};

constexpr int kDigits = 10;
constexpr int kPartDigits = 6;
constexpr int kLostDigits = 3;

void write_column(Line& line, const SeriesSamples& series, std::size_t column) {
  const std::string& metric = series.columns[column].metric;
  const std::string& part = series.columns[column].part;
  line.text("{\"metric\":");
  line.string(metric);
  line.text(",\"part\":");
  line.string(part);
  line.text(",");
  line.array("values", series.samples, [&](const Sample& sample) {
    line.number(sample.values[column], part.empty() ? kDigits : kPartDigits);
  });
  line.text("}");
}

// Each sample as [bucket, count, bucket, count, ...].
void write_distribution(Line& line, const SeriesSamples& series, std::size_t number) {
  line.text("{\"metric\":");
  line.string(series.distributions[number].metric);
  line.text(",\"part\":");
  line.string(series.distributions[number].part);
  line.text(",");
  line.array("samples", series.samples, [&](const Sample& sample) {
    if (sample.histograms.empty()) {
      line.text("[]");
    } else {
      line.histogram(sample.histograms[number]);
    }
  });
  line.text("}");
}

void write_series(Line& line, const SeriesSamples& series, double zero) {
  line.text("{\"name\":");
  line.string(series.name);
  line.text(",");
  line.array("starts", series.samples,
             [&](const Sample& sample) { line.number(sample.start_s - zero, kDigits); });
  line.text(",");
  line.array("durations", series.samples,
             [&](const Sample& sample) { line.number(sample.duration_s, kDigits); });
  if (series.watched) {
    line.text(",");
    line.array("lost", series.samples, [&](const Sample& sample) {
      line.number(std::min(sample.lost_share, 1.0), kLostDigits);
    });
  }
  if (std::ranges::any_of(series.samples, [](const Sample& one) { return one.stolen_s > 0; })) {
    line.text(",");
    line.array("stolen", series.samples,
               [&](const Sample& sample) { line.number(sample.stolen_s, kLostDigits); });
  }
  if (series.keep_disturbed) line.text(",\"keep_disturbed\":true");
  line.text(",");
  line.text("\"columns\":[");
  for (std::size_t column = 0; column < series.columns.size(); ++column) {
    if (column > 0) line.text(",");
    write_column(line, series, column);
  }
  line.text("]");
  if (!series.distributions.empty()) {
    line.text(",\"distributions\":[");
    for (std::size_t number = 0; number < series.distributions.size(); ++number) {
      if (number > 0) line.text(",");
      write_distribution(line, series, number);
    }
    line.text("]");
  }
  line.text("}");
}

}  // namespace

std::string repetition_event(const std::string& id, bool fresh, const Repetition& repetition) {
  Line line;
  line.text("{\"event\":\"repetition\",\"id\":");
  line.string(id);
  const double zero = repetition.series.front().samples.front().start_s;
  line.text(fmt::format(",\"seconds\":{:.6g},\"fresh\":{},\"interrupted\":{},\"began_s\":{:.6f},",
                        repetition.seconds, fresh, repetition.interrupted, zero));
  line.array("series", repetition.series,
             [&](const SeriesSamples& series) { write_series(line, series, zero); });
  line.text(",\"evidence\":");
  line.text(repetition.evidence.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  line.text("}");
  return line.take();
}

}  // namespace tierscope
