#include "storage/in_flight.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "errors.h"

namespace tierscope {

InFlight::InFlight(const InFlightWish& wish)
    : path_(wish.file->path),
      descriptors_{wish.descriptor},
      sizes_{wish.file->size},
      buffers_(wish.buffers),
      numbers_(buffers_.size()),
      requests_(buffers_.size()),
      done_(buffers_.size()),
      backend_(wish.backend->make({.files = descriptors_,
                                   .sizes = sizes_,
                                   .buffers = buffers_,
                                   .buffer_bytes = wish.buffer_bytes,
                                   .writes = wish.writes,
                                   .direct = wish.direct,
                                   .gpu = wish.gpu})) {}

void InFlight::carry_out(std::size_t count, const Begin& begin, const Ended& ended) {
  std::vector<std::uint32_t> idle(depth());
  std::iota(idle.rbegin(), idle.rend(), 0U);
  std::size_t next = 0;
  while (next < count || idle.size() < depth()) {
    for (; next < count && !idle.empty(); ++next) {
      const std::uint32_t slot = idle.back();
      idle.pop_back();
      const Operation one = begin(next, slot);
      numbers_[slot] = next;
      buffers_[slot] = one.data;
      requests_[slot] = {.offset = one.offset,
                         .bytes = static_cast<std::uint32_t>(one.bytes),
                         .slot = slot,
                         .file = 0,
                         .write = one.write};
      backend_->submit({&requests_[slot], 1});
    }
    const std::size_t got = backend_->reap(done_, 1, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < got; ++i) {
      const std::uint32_t slot = done_[i].slot;
      check(done_[i]);
      ended(numbers_[slot], slot);
      idle.push_back(slot);
    }
  }
}

void InFlight::check(const Completion& one) const {
  const IoRequest& asked = requests_[one.slot];
  if (one.result == static_cast<std::int64_t>(asked.bytes)) return;
  const std::string what = one.result < 0
                               ? std::strerror(static_cast<int>(-one.result))
                               : fmt::format("{} of {} bytes were moved", one.result, asked.bytes);
  throw Failure(fmt::format("{}: {} at offset {} failed: {}", path_,
                            asked.write ? "writing" : "reading", asked.offset, what),
                Cause::kStorage);
}

}  // namespace tierscope
