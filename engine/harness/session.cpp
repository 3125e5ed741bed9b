#include "harness/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <new>
#include <variant>

#include "errors.h"
#include "harness/repetition.h"
#include "harness/repetition_event.h"
#include "interrupt.h"
#include "protocol/events.h"
#include "protocol/exchange.h"
#include "protocol/json_text.h"
#include "protocol/line_reader.h"
#include "protocol/object_reader.h"
#include "protocol/repetition_line.h"
#include "sampling/clock.h"

namespace tierscope {
namespace {

constexpr int kUnusable = 70;  // EX_SOFTWARE of sysexits.h: start another process for the rest.
constexpr double kSecondsBetweenProgress = 0.5;  // Drawing it takes CPU time, too.

Progress throttled_progress(const std::string& id) {
  return [id, next = now_seconds() + kSecondsBetweenProgress](double elapsed_s, std::size_t samples,
                                                              double latest) mutable {
    if (now_seconds() < next) return;
    next = now_seconds() + kSecondsBetweenProgress;
    events::progress(id, elapsed_s, samples, latest);
  };
}

// Files that are soon filled or checked need no progress.
FileProgress throttled_file_progress(const std::string& id) {
  constexpr double kSoon = 2.0;
  return [id, next = now_seconds() + kSoon](std::string_view what, const std::string& name,
                                            std::uint64_t done, std::uint64_t total) mutable {
    if (now_seconds() < next) return;
    next = now_seconds() + kSecondsBetweenProgress;
    events::preparing(id, what, name, done, total);
  };
}

}  // namespace

std::vector<std::string> Session::add(const nlohmann::json& plan) {
  std::vector<std::string> ids;
  for (Measurement& measurement :
       parse_plan(plan, [this](const std::string& id) { return entries_.contains(id); })) {
    ids.push_back(measurement.id);
    entries_.emplace(ids.back(),
                     Entry{.measurement = std::move(measurement), .state = nullptr, .regions = {}});
  }
  return ids;
}

void Session::repetition(const std::string& id, double seconds, bool fresh) {
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) {
    throw PlanError("line.repetition", fmt::format("no measurement has the id '{}'", id));
  }
  events::started(id);
  try {
    events::write_line(repetition_entry(entry->second, seconds, fresh));
    return;
  } catch (const OutputError&) {
    throw;
  } catch (const Interrupted&) {
    events::skipped(id, Cause::kInterrupted, "interrupted before its first sample", "");
  } catch (const Unavailable& error) {
    events::skipped(id, error.cause(), error.what(), error.remedy());
  } catch (const UnusableProcess& error) {
    events::failed(id, error.cause(), error.what());
    // No destructor may touch the GPU's context, and the process's end frees what it holds anyway.
    std::_Exit(kUnusable);
  } catch (const Failure& error) {
    events::failed(id, error.cause(), error.what());
  } catch (const std::bad_alloc&) {
    events::failed(id, Cause::kMemory, "the engine ran out of memory for itself");
  } catch (const std::exception& error) {
    events::failed(id, Cause::kOther, error.what());
  }
  entry->second.state.reset();
}

std::string Session::repetition_entry(Entry& entry, double seconds, bool fresh) {
  leases_.begin_repetition(fresh);
  if (!entry.state) entry.state = entry.measurement.make();
  const std::string& id = entry.measurement.id;
  if (lines_) {
    leases_.exchange_by(
        [this, id](const nlohmann::json& said) { return exchange(id, said, *lines_); });
  }
  leases_.files().report_to(throttled_file_progress(id));
  const Repetition repeated = tierscope::repetition(*entry.state, leases_, seconds,
                                                    real_surroundings(), throttled_progress(id));
  const bool new_pages = fresh || entry.regions != leases_.leased();
  entry.regions = leases_.leased();
  return repetition_event(id, new_pages, repeated);
}

bool run_plan(const nlohmann::json& plan) {
  Session session;
  const std::vector<std::string> ids = session.add(plan);
  watch_signals();
  for (const std::string& id : ids) {
    if (interrupted()) break;
    session.repetition(id, session.budget_s(id), false);
    session.close(id);
  }
  events::finished(interrupted());
  return interrupted();
}

bool run_repetitions() {
  watch_signals();
  LineReader lines(STDIN_FILENO);
  Session session(lines);
  while (const std::optional<std::string> text = lines.next()) {
    const RepetitionLine line = parse_repetition_line(*text);
    if (const auto* added = std::get_if<AddPlan>(&line)) {
      session.add(added->plan);
    } else {
      const auto& [id, seconds, fresh] = std::get<RepetitionRequest>(line);
      session.repetition(id, seconds, fresh);
    }
    if (interrupted()) break;
  }
  events::finished(interrupted());
  return interrupted();
}

}  // namespace tierscope
