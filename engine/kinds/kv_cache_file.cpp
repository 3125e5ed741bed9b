#include "kinds/kv_cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
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
      descriptor_(file_->open(O_RDWR | O_CLOEXEC | (spec.direct ? O_DIRECT : 0))) {
  const std::array devices{device_of(descriptor_.get())};
  drives_ = std::make_unique<DriveWatch>(devices);
  close();
}

void KvFile::close() {
  lanes_.clear();
  lanes_.resize(spec_.cpus.size());
  buffers_.resize(spec_.cpus.size());
}

void KvFile::prepare(std::size_t thread, std::span<std::byte* const> buffers) {
  buffers_[thread].assign(buffers.begin(), buffers.end());
  lanes_[thread] =
      std::make_unique<InFlight>(InFlightWish{.file = file_,
                                              .descriptor = descriptor_.get(),
                                              .backend = spec_.backend,
                                              .buffers = buffers_[thread],
                                              .buffer_bytes = spec_.stride(),
                                              .writes = !spec_.fetch,
                                              .direct = spec_.direct,
                                              .gpu = spec_.backend->gpu ? spec_.pool.gpu : -1});
}

// Objects are read while pieces of others are scattered, and written while others are gathered. A
// buffer is used again once its pieces have left it.
void KvFile::move(std::size_t thread, std::size_t first, std::size_t step, KvPool& pool,
                  const KvOrder& order) {
  const std::vector<std::byte*>& buffers = buffers_[thread];
  const auto move_pieces = [&](std::size_t object, std::uint32_t slot) {
    pool.move({object * spec_.pieces, spec_.pieces}, buffers[slot], slot);
  };
  const auto begin = [&](std::size_t number, std::uint32_t slot) {
    const std::size_t object = first + number * step;
    if (!spec_.fetch) move_pieces(object, slot);
    pool.wait(slot);
    return InFlight::Operation{.data = buffers[slot],
                               .offset = order.object_at(object),
                               .bytes = spec_.stride(),
                               .write = !spec_.fetch};
  };
  const auto ended = [&](std::size_t number, std::uint32_t slot) {
    if (spec_.fetch) move_pieces(first + number * step, slot);
  };
  const std::size_t count = first < spec_.objects ? (spec_.objects - first + step - 1) / step : 0;
  lanes_[thread]->carry_out(count, begin, ended);
  for (std::size_t slot = 0; slot < buffers.size(); ++slot) pool.wait(slot);
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

void KvFile::restart(double set_up_s) {
  drives_->restart();
  cached_bytes_ = 0;
  set_up_s_ = set_up_s;
}

void KvFile::observe(nlohmann::ordered_json& evidence, std::uint64_t transfers) const {
  const std::uint64_t operations = transfers * spec_.objects;
  const std::uint64_t bytes = operations * spec_.stride();
  AskedIo asked{.path = file_->path, .cached_bytes = cached_bytes_, .set_up_s = set_up_s_};
  (spec_.fetch ? asked.reads : asked.writes) = operations;
  (spec_.fetch ? asked.bytes_read : asked.bytes_written) = bytes;
  drives_->observe(evidence, asked);
}

void KvFile::fail(const char* doing) const {
  throw Failure(fmt::format("{}: {} failed: {}", file_->path, doing, std::strerror(errno)),
                Cause::kStorage);
}

}  // namespace tierscope
