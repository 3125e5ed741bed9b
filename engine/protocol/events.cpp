#include "protocol/events.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tierscope::events {
namespace {

using nlohmann::ordered_json;

void write(const ordered_json& event) {
  // A host or file name may hold bytes that are no UTF-8; they must not end the run.
  const std::string line = event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

std::string_view name_of(Stop stop) {
  switch (stop) {
    case Stop::kPrecision:
      return "precision";
    case Stop::kBudget:
      return "budget";
    case Stop::kInterrupted:
      return "interrupted";
  }
  return "";
}

}  // namespace

void started(const std::string& id) { write({{"event", "started"}, {"id", id}}); }

void progress(const std::string& id, double elapsed_s, std::size_t n, double estimate) {
  write({{"event", "progress"},
         {"id", id},
         {"elapsed_s", elapsed_s},
         {"n", n},
         {"estimate", estimate}});
}

void result(const std::string& id, const Outcome& outcome) {
  ordered_json figures = ordered_json::array();
  for (const Figure& figure : outcome.figures) {
    figures.push_back({{"metric", figure.metric},
                       {"unit", figure.unit},
                       {"estimate", figure.estimate},
                       {"ci_low", figure.low},
                       {"ci_high", figure.high}});
  }
  const Sampled& sampled = outcome.sampled;
  write({{"event", "result"},
         {"id", id},
         {"metric", outcome.metric},
         {"unit", outcome.unit},
         {"estimate", sampled.estimate.median},
         {"ci_low", sampled.estimate.low},
         {"ci_high", sampled.estimate.high},
         {"n", sampled.samples.size()},
         {"stop", name_of(sampled.stop)},
         {"samples", sampled.samples},
         {"figures", figures},
         {"evidence", outcome.evidence}});
}

void skipped(const std::string& id, const std::string& reason, const std::string& remedy) {
  write({{"event", "skipped"}, {"id", id}, {"reason", reason}, {"remedy", remedy}});
}

void failed(const std::string& id, const std::string& reason) {
  write({{"event", "failed"}, {"id", id}, {"reason", reason}});
}

void finished(bool interrupted) { write({{"event", "finished"}, {"interrupted", interrupted}}); }

}  // namespace tierscope::events
