// The events that go out on stdout; their schema is src/tierscope/model/schema/event.schema.json.
#pragma once

#include <string>

#include "benches/bench.h"

namespace tierscope::events {

// Each writes one line and flushes it.
void started(const std::string& id);
void progress(const std::string& id, double elapsed_s, std::size_t n, double estimate);
void result(const std::string& id, const Outcome& outcome);
void skipped(const std::string& id, const std::string& reason, const std::string& remedy);
void failed(const std::string& id, const std::string& reason);
void finished(bool interrupted);

}  // namespace tierscope::events
