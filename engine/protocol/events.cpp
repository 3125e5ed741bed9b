#include "protocol/events.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace tierscope::events {
namespace {

using nlohmann::ordered_json;

void write(const ordered_json& event) {
  // A host or file name may hold bytes that are no UTF-8; they must not end the run.
  write_line(event.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

void write_line(std::string_view line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  if (!written) {
    throw OutputError(fmt::format("stdout cannot be written: {}", std::strerror(errno)));
  }
}

void started(const std::string& id) { write({{"event", "started"}, {"id", id}}); }

void progress(const std::string& id, double elapsed_s, std::size_t samples, double latest) {
  write({{"event", "progress"},
         {"id", id},
         {"elapsed_s", elapsed_s},
         {"samples", samples},
         {"latest", latest}});
}

void preparing(const std::string& id, std::string_view what, const std::string& file,
               std::uint64_t done, std::uint64_t total) {
  write({{"event", "preparing"},
         {"id", id},
         {"what", what},
         {"file", file},
         {"done", done},
         {"total", total}});
}

void skipped(const std::string& id, Cause cause, const std::string& reason,
             const std::string& remedy) {
  write({{"event", "skipped"},
         {"id", id},
         {"cause", name_of(cause)},
         {"reason", reason},
         {"remedy", remedy}});
}

void failed(const std::string& id, Cause cause, const std::string& reason) {
  write({{"event", "failed"}, {"id", id}, {"cause", name_of(cause)}, {"reason", reason}});
}

void exchange(const std::string& id, const nlohmann::json& said) {
  write({{"event", "exchange"}, {"id", id}, {"said", said}});
}

void finished(bool interrupted) { write({{"event", "finished"}, {"interrupted", interrupted}}); }

}  // namespace tierscope::events
