// The events that go out on stdout, one JSON object a line; their schema is
// src/tierscope/model/schema/event.schema.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "errors.h"

namespace tierscope {

// stdout cannot be written, so nobody would learn what is measured.
class OutputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace events {

// Each writes one line and flushes it; throws OutputError.
void started(const std::string& id);
// `samples` of the repetition so far; `latest` is the first column of the last sample.
void progress(const std::string& id, double elapsed_s, std::size_t samples, double latest);
// What its set-up does to a whole file: "filling", "checking"; bytes so far and in all.
void preparing(const std::string& id, std::string_view what, const std::string& file,
               std::uint64_t done, std::uint64_t total);
void skipped(const std::string& id, Cause cause, const std::string& reason,
             const std::string& remedy);
void failed(const std::string& id, Cause cause, const std::string& reason);
// Of measurements that several processes make together: what this one tells all of them.
void exchange(const std::string& id, const nlohmann::json& said);
void finished(bool interrupted);

// An event that is made elsewhere, without its newline.
void write_line(std::string_view line);

}  // namespace events
}  // namespace tierscope
