#include "kinds/io_job.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>

#include "errors.h"
#include "interrupt.h"
#include "storage/contents.h"
#include "storage/device_counters.h"
#include "storage/page_cache.h"

namespace tierscope {
namespace {

// Blocks that each thread keeps in mind of those it wrote, to read them back after the visit.
constexpr std::size_t kSample = 64;

// Later than every generation that this process or an earlier one has written.
std::uint64_t next_generation() {
  static std::atomic<std::uint64_t> last{0};
  const auto now = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  return last = std::max(last + 1, now);
}

// Headers are stamped by the CPU. A block in a GPU's memory would have to be copied there before
// each write, inside the figure: that is done only where every block is verified.
std::uint32_t cell_bytes_of(const IoSpec& spec) {
  if (spec.backend->gpu && spec.pattern.writes() && !spec.verify) return 0;
  const IoPattern& pattern = spec.pattern;
  std::uint64_t step = std::gcd(pattern.align, pattern.misalign);
  for (const BlockShare& block : pattern.blocks) step = std::gcd(step, std::uint64_t{block.bytes});
  return cell_bytes_for(step);
}

IoRule rule_of(const IoSpec& spec) {
  return {.backend = spec.backend,
          .depth = spec.depth,
          .batch = spec.batch,
          .amount = spec.amount,
          .fsync = spec.fsync,
          .fdatasync = spec.fdatasync,
          .end_fsync = spec.end_fsync,
          .rate = spec.pattern.rate.value_or(0) / static_cast<double>(spec.threads())};
}

// Share of the files that the page cache holds, 0..1; absent where the kernel does not tell.
std::optional<double> cached_share(const std::vector<Descriptor>& files,
                                   const std::vector<std::uint64_t>& sizes) {
  double cached = 0;
  double all = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::optional<std::uint64_t> bytes = cached_bytes(files[i].get(), sizes[i]);
    if (!bytes || sizes[i] == 0) return std::nullopt;
    cached += static_cast<double>(*bytes);
    all += static_cast<double>(sizes[i]);
  }
  return std::min(1.0, cached / all);
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

IoJob::IoJob(const IoSpec& spec, const IoJobSpec& job, FilePool& pool, std::size_t first)
    : spec_(spec),
      job_(job),
      first_(first),
      cell_bytes_(cell_bytes_of(spec)),
      files_(job.files, pool, cell_bytes_, spec.compressible, spec.pattern.writes()),
      stride_((std::size_t{spec.pattern.largest_block()} + kCellBytes - 1) / kCellBytes *
              kCellBytes),
      rule_(rule_of(spec)),
      work_(job.cpus.size()) {
  make_threads();
}

std::size_t IoJob::slots() const {
  return spec_.pattern.operation == IoOperation::kMix ? 2 * spec_.depth : spec_.depth;
}

// Random numbers go on from visit to visit, and sequential threads from where they were.
void IoJob::make_threads() {
  const std::size_t threads = job_.cpus.size();
  for (std::size_t i = 0; i < threads; ++i) {
    const double share = job_.shared ? static_cast<double>(i) / static_cast<double>(threads) : 0;
    RequestStream stream(spec_.pattern,
                         ranges_of_thread(spec_.pattern, files_.sizes(), i, threads, job_.shared),
                         first_ + i, share);
    threads_.emplace_back(spec_.pattern, rule_, std::move(stream), files_.names(), hooks_of(i),
                          spec_.pattern.seed + first_ + i);
  }
}

BlockHooks IoJob::hooks_of(std::size_t index) {
  Work& work = work_[index];
  BlockHooks hooks;
  if (spec_.pattern.writes()) {
    hooks.before_write = [this, &work](const IoRequest& operation) {
      before_write(work, operation);
    };
  }
  if (cell_bytes_ != 0 && spec_.verify) {
    hooks.after_read = [this, &work](const IoRequest& operation) { after_read(work, operation); };
  }
  return hooks;
}

void IoJob::open(Leases& leases, Team& team) {
  set_page_cache();
  lease_buffers(leases, team);
  generation_ = next_generation();
  for (std::size_t i = 0; i < work_.size(); ++i) {
    Work& work = work_[i];
    work.written.clear();
    work.writes = 0;
    if (spec_.pattern.writes()) fill_buffers(i);
  }
}

// What is going to be written; headers are stamped before each write.
void IoJob::fill_buffers(std::size_t index) {
  Work& work = work_[index];
  const std::uint32_t cell = cell_bytes_ != 0 ? cell_bytes_ : kCellBytes;
  work.images.clear();
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    const std::span<std::byte> buffer = work.buffers.block(slot, stride_);
    tierscope::prepare(buffer, spec_.pattern.seed + ((first_ + index) << 32U) + ++work.refills,
                       spec_.compressible, cell);
    work.buffers.send(slot, stride_);
    work.images.push_back(XXH3_64bits(buffer.data(), spec_.pattern.largest_block()));
  }
}

void IoJob::set_page_cache() {
  const std::vector<Descriptor> files = files_.open(false, false);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::uint64_t size = files_.sizes()[i];
    if (spec_.cache == CacheState::kCold && files_.ours()) forget_cached(files[i].get(), size);
    if (spec_.cache == CacheState::kWarm) read_through(files[i].get(), size);
  }
  cached_before_ = cached_share(files, files_.sizes());
}

void IoJob::lease_buffers(Leases& leases, Team& team) {
  const std::optional<Placement>& placement = job_.buffers.placement;
  if (!placement) {
    refuse_unsound(*spec_.backend, job_.buffers.memory);
    const bool registered = spec_.registered && spec_.backend->name.starts_with("cufile");
    for (Work& work : work_) {
      work.buffers.place_beside_gpu({.gpu = job_.buffers.gpu,
                                     .memory = job_.buffers.memory,
                                     .count = slots(),
                                     .bytes = stride_,
                                     .registered = registered});
    }
    return;
  }
  const std::size_t bytes = stride_ * slots();
  const std::array keys{RegionKey{bytes * job_.cpus.size(), Pages::kBase, *placement}};
  region_ = leases.regions(keys, team).front().region;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    work_[i].buffers.place(region_->data() + i * bytes, slots(), stride_);
  }
}

bool IoJob::has(std::size_t thread) const {
  return thread >= first_ && thread < first_ + threads_.size();
}

void IoJob::prepare(std::size_t thread) {
  const std::size_t index = thread - first_;
  Work& work = work_[index];
  if (work.files.empty()) {
    work.files = files_.open(spec_.pattern.writes(), spec_.direct);
    for (const Descriptor& file : work.files) work.fds.push_back(file.get());
  }
  threads_[index].prepare({.files = work.fds,
                           .sizes = files_.sizes(),
                           .buffers = work.buffers.slots(),
                           .buffer_bytes = stride_,
                           .writes = spec_.pattern.writes(),
                           .direct = spec_.direct,
                           .registered = spec_.registered,
                           .sqpoll = spec_.sqpoll,
                           .iopoll = spec_.iopoll,
                           .gpu = job_.buffers.gpu});
}

std::uint32_t IoJob::number_of(int file) const {
  // What is not ours has no number: one that tells the files of a job apart.
  return files_.number(file).value_or(static_cast<std::uint32_t>(file) + 1);
}

void IoJob::before_write(Work& work, const IoRequest& operation) {
  note_written(work, operation);
  if (cell_bytes_ == 0) return;
  const std::span<std::byte> block = work.buffers.block(operation.slot, operation.bytes);
  if (spec_.refill) {
    tierscope::prepare(block, spec_.pattern.seed + (first_ << 32U) + ++work.refills,
                       spec_.compressible, cell_bytes_);
  }
  stamp(block, number_of(operation.file), operation.offset, generation_);
  work.buffers.send(operation.slot, operation.bytes);
}

// All of them where all are verified, else a random sample of those so far (Vitter's algorithm R,
// ACM Transactions on Mathematical Software 11, 1985).
void IoJob::note_written(Work& work, const IoRequest& operation) {
  ++work.writes;
  if (spec_.verify || work.written.size() < kSample) {
    work.written.push_back(operation);
    return;
  }
  work.random = work.random * kRandomMultiplier + kRandomIncrement;
  const auto at =
      static_cast<std::uint64_t>((static_cast<unsigned __int128>(work.random) * work.writes) >> 64);
  if (at < kSample) work.written[at] = operation;
}

void IoJob::after_read(const Work& work, const IoRequest& operation) {
  check(work.buffers.fetch(operation.slot, operation.bytes), operation, 1);
}

void IoJob::check(std::span<const std::byte> data, const IoRequest& operation,
                  std::uint64_t min_generation) const {
  const auto wrong = tierscope::verify(data, number_of(operation.file), operation.offset,
                                       min_generation, cell_bytes_);
  if (wrong) {
    throw Failure(wrong->text(files_.names()[static_cast<std::size_t>(operation.file)]),
                  Cause::kVerification);
  }
}

// A block that was written without a header has to be what one of the buffers holds.
void IoJob::check_image(std::span<const std::byte> data, const IoRequest& operation) const {
  const std::uint64_t found = XXH3_64bits(data.data(), data.size());
  for (const Work& work : work_) {
    if (std::ranges::find(work.images, found) != work.images.end()) return;
  }
  throw Failure(
      fmt::format("{} bytes at offset {} of {} are not what any buffer wrote", operation.bytes,
                  operation.offset, files_.names()[static_cast<std::size_t>(operation.file)]),
      Cause::kVerification);
}

std::vector<dev_t> IoJob::devices() const {
  std::vector<dev_t> found;
  for (const Descriptor& file : files_.open(false, false)) found.push_back(device_of(file.get()));
  return found;
}

void IoJob::observe(nlohmann::ordered_json& io) {
  for (const std::string& name : files_.names()) io["files"].push_back(name);
  const std::vector<Descriptor> files = files_.open(false, false);
  const std::optional<double> cached = cached_share(files, files_.sizes());
  if (cached_before_ && cached) {
    io["cached_before"] = *cached_before_;
    io["cached_after"] = *cached;
  }
  if (!spec_.pattern.reads()) return;
  std::uint64_t unwritten = io.value("unwritten_bytes", std::uint64_t{0});
  for (const Descriptor& file : files) {
    const std::optional<Extents> extents = extents_of(file.get());
    if (!extents) return;
    unwritten += extents->holes + extents->unwritten;
  }
  io["unwritten_bytes"] = unwritten;
}

std::string IoJob::verify() {
  // Blocks of several sizes overlap, so that without headers nobody knows which is whose.
  const bool known = cell_bytes_ != 0 || spec_.pattern.blocks.size() == 1;
  if (spec_.pattern.writes()) return known ? verify_written() : "";
  return cell_bytes_ != 0 ? verify_buffers() : "";
}

std::string IoJob::verify_written() {
  const std::unique_ptr<std::byte, Free> block(
      static_cast<std::byte*>(std::aligned_alloc(kCellBytes, stride_)));
  const std::vector<Descriptor> files = files_.open(false, spec_.direct);
  std::uint64_t compared = 0;
  std::uint64_t written = 0;
  for (Work& work : work_) {
    const auto place = [](const IoRequest& operation) {
      return std::tuple(operation.file, operation.offset, operation.bytes);
    };
    std::ranges::sort(work.written, {}, place);
    const auto same = [&](const IoRequest& one, const IoRequest& other) {
      return place(one) == place(other);
    };
    work.written.erase(std::unique(work.written.begin(), work.written.end(), same),
                       work.written.end());
    for (const IoRequest& operation : work.written) {
      const int fd = files[static_cast<std::size_t>(operation.file)].get();
      const ssize_t got =
          pread(fd, block.get(), operation.bytes, static_cast<off_t>(operation.offset));
      if (got != static_cast<ssize_t>(operation.bytes)) {
        throw Failure(
            fmt::format("{} bytes at offset {} of {} cannot be read back: {}", operation.bytes,
                        operation.offset, files_.names()[static_cast<std::size_t>(operation.file)],
                        got < 0 ? strerror(errno) : "the file ends before"),
            Cause::kVerification);
      }
      const std::span<const std::byte> data(block.get(), operation.bytes);
      cell_bytes_ != 0 ? check(data, operation, generation_) : check_image(data, operation);
    }
    compared += work.written.size();
    written += work.writes;
  }
  if (compared == 0) return "";
  return fmt::format("{} of {} blocks written were read back", compared, written);
}

// Without reading anything again: what the last operations left in the buffers.
std::string IoJob::verify_buffers() {
  std::uint64_t compared = 0;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const std::span<const IoRequest> last = threads_[i].last_requests();
    for (std::size_t slot = 0; slot < last.size(); ++slot) {
      const IoRequest& operation = last[slot];
      if (!threads_[i].used()[slot] || !files_.number(operation.file)) continue;
      check(work_[i].buffers.fetch(slot, operation.bytes), operation, 1);
      ++compared;
    }
  }
  if (compared == 0) return "";
  if (spec_.verify) return "every block read";
  return fmt::format("the last {} blocks read", compared);
}

}  // namespace tierscope
