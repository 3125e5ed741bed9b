#include "kinds/kv_cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>

#include "errors.h"
#include "storage/page_cache.h"

namespace tierscope {

KvFile::KvFile(const KvCacheSpec& spec, FilePool& files)
    : spec_(spec),
      file_(files
                .lease({.directory = spec.directory,
                        .stem = "tierscope-kv-cache.",
                        .size = spec.stride() * spec.objects,
                        .large = spec.large})
                .front()),
      descriptor_(file_->open(O_RDWR | O_CLOEXEC | (spec.direct ? O_DIRECT : 0))),
      descriptors_{descriptor_.get()},
      sizes_{file_->size} {
  const std::array devices{device_of(descriptor_.get())};
  counters_ = std::make_unique<DeviceCounters>(devices);
  close();
}

void KvFile::close() {
  lanes_.clear();
  lanes_.resize(spec_.cpus.size());
}

void KvFile::prepare(std::size_t thread, std::span<std::byte* const> buffers) {
  Lane& lane = lanes_[thread];
  lane.buffers.assign(buffers.begin(), buffers.end());
  lane.objects.resize(buffers.size());
  lane.done.resize(buffers.size());
  lane.backend = spec_.backend->make({.files = descriptors_,
                                      .sizes = sizes_,
                                      .buffers = lane.buffers,
                                      .buffer_bytes = spec_.stride(),
                                      .writes = !spec_.fetch,
                                      .direct = spec_.direct,
                                      .gpu = spec_.backend->gpu ? spec_.pool.gpu : -1});
}

// Objects are read while pieces of others are scattered, and written while others are gathered. A
// buffer is used again once its pieces have left it.
void KvFile::move(std::size_t thread, std::size_t first, std::size_t step, KvPool& pool,
                  const KvOrder& order) {
  Lane& lane = lanes_[thread];
  std::vector<std::uint32_t> idle;
  for (std::size_t slot = lane.buffers.size(); slot-- > 0;) {
    idle.push_back(static_cast<std::uint32_t>(slot));
  }
  const auto pieces_of = [this](std::size_t object) {
    return PieceRange{object * spec_.pieces, spec_.pieces};
  };
  std::size_t next = first;
  while (next < spec_.objects || idle.size() < lane.buffers.size()) {
    for (; next < spec_.objects && !idle.empty(); next += step) {
      const std::uint32_t slot = idle.back();
      idle.pop_back();
      if (!spec_.fetch) pool.move(pieces_of(next), lane.buffers[slot], slot);
      pool.wait(slot);
      begin(lane, next, slot, order);
    }
    const std::size_t ended =
        lane.backend->reap(lane.done, 1, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < ended; ++i) {
      const std::uint32_t slot = lane.done[i].slot;
      check(lane.done[i], lane.objects[slot]);
      if (spec_.fetch) pool.move(pieces_of(lane.objects[slot]), lane.buffers[slot], slot);
      idle.push_back(slot);
    }
  }
  for (std::size_t slot = 0; slot < lane.buffers.size(); ++slot) pool.wait(slot);
}

void KvFile::begin(Lane& lane, std::size_t object, std::uint32_t slot, const KvOrder& order) const {
  lane.objects[slot] = object;
  const IoRequest operation{.offset = order.object_at(object),
                            .bytes = static_cast<std::uint32_t>(spec_.stride()),
                            .slot = slot,
                            .file = 0,
                            .write = !spec_.fetch};
  lane.backend->submit({&operation, 1});
}

void KvFile::check(const Completion& one, std::size_t object) const {
  if (one.result == static_cast<std::int64_t>(spec_.stride())) return;
  const std::string what =
      one.result < 0 ? std::strerror(static_cast<int>(-one.result))
                     : fmt::format("{} of {} bytes were moved", one.result, spec_.stride());
  throw Failure(fmt::format("{}: {} object {} failed: {}", file_->path,
                            spec_.fetch ? "reading" : "writing", object, what),
                Cause::kStorage);
}

void KvFile::read(std::uint64_t at, std::span<std::byte> to) const {
  for (std::size_t done = 0; done < to.size();) {
    const ssize_t got =
        pread(descriptor_.get(), to.data() + done, to.size() - done, static_cast<off_t>(at + done));
    if (got <= 0) fail("reading objects back");
    done += static_cast<std::size_t>(got);
  }
}

void KvFile::write(std::uint64_t at, std::span<const std::byte> from) {
  for (std::size_t done = 0; done < from.size();) {
    const ssize_t put = pwrite(descriptor_.get(), from.data() + done, from.size() - done,
                               static_cast<off_t>(at + done));
    if (put <= 0) fail("writing objects");
    done += static_cast<std::size_t>(put);
  }
}

std::uint64_t& KvFile::filled() const {
  static auto& by_number = *new std::map<std::uint32_t, std::uint64_t>;
  return by_number[file_->number];
}

void KvFile::settle() {
  if (fdatasync(descriptor_.get()) != 0) fail("fdatasync");
  cached_bytes_ =
      std::max(cached_bytes_, forget_cached(descriptor_.get(), file_->size).value_or(0));
}

void KvFile::count_from_now() {
  before_ = counters_->read();
  cached_bytes_ = 0;
}

void KvFile::count_to_now() { moved_ = counters_->sum(difference(before_, counters_->read())); }

void KvFile::observe(nlohmann::ordered_json& found) const {
  found["cached_bytes"] = cached_bytes_;
  if (!moved_) return;
  found["device_bytes_read"] = moved_->read;
  found["device_bytes_written"] = moved_->written;
}

void KvFile::fail(const char* doing) const {
  throw Failure(fmt::format("{}: {} failed: {}", file_->path, doing, std::strerror(errno)),
                Cause::kStorage);
}

}  // namespace tierscope
