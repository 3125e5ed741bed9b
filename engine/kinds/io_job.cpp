#include "kinds/io_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "errors.h"
#include "storage/contents.h"
#include "storage/device_counters.h"

namespace tierscope {
namespace {

// Headers are stamped by the CPU. A block in a GPU's memory would have to be copied there before
// each write, inside the figure: that is done only where every block is verified.
std::uint32_t cell_bytes_of(const IoWork& spec) {
  if (spec.backend->gpu && spec.pattern.writes() && !spec.verify) return 0;
  if (!spec.backend->moves || spec.duplicates) return 0;
  const IoPattern& pattern = spec.pattern;
  std::uint64_t step = std::gcd(pattern.align, pattern.misalign);
  for (const BlockShare& block : pattern.blocks) step = std::gcd(step, std::uint64_t{block.bytes});
  return cell_bytes_for(step);
}

// Nothing orders the stores of several threads to the same place of a mapping: so all threads store
// the same there, and whatever mixes is a whole cell.
void same_in_all_cells(std::span<std::byte> buffer, std::uint32_t cell_bytes, int compressible) {
  const std::span<std::byte> first = buffer.first(cell_bytes);
  prepare(first, 1, compressible, cell_bytes);
  for (std::size_t at = cell_bytes; at < buffer.size(); at += cell_bytes) {
    std::ranges::copy(first, buffer.subspan(at).begin());
  }
}

IoRule rule_of(const IoWork& spec, bool own_ends) {
  const auto threads = static_cast<double>(spec.threads);
  IoRule rule{.backend = spec.backend,
              .depth = spec.depth,
              .batch = spec.batch,
              .amount = spec.amount,
              .fsync = spec.fsync,
              .fdatasync = spec.fdatasync,
              .end_fsync = spec.end_fsync,
              .rate = spec.pattern.rate.value_or(0) / threads,
              .write_rate = spec.pattern.write_rate.value_or(0) / threads,
              .delay_s = spec.delay_s,
              .think_every = spec.think_every,
              .think_s = spec.think_s,
              .think_spin_s = spec.think_spin_s,
              .search = spec.search,
              .priority = spec.priority,
              .command_priorities = spec.command_priorities};
  if (own_ends) {
    rule.time_limit_s = spec.time_limit_s;
    rule.ramp_s = spec.ramp_s;
  }
  return rule;
}

}  // namespace

IoJob::IoJob(const IoJobSpec& job, FilePool& pool, std::size_t first, bool own_ends,
             IoCompany company)
    : job_(job),
      spec_(job.work),
      first_(first),
      cell_bytes_(cell_bytes_of(spec_)),
      files_(job.files, pool, cell_bytes_, spec_.compressible, spec_.pattern.writes()),
      buffered_(files_.open(false, false)),
      verification_(files_, cell_bytes_, spec_.duplicates.has_value()),
      stride_((std::size_t{spec_.pattern.largest_block()} + kCellBytes - 1) / kCellBytes *
              kCellBytes),
      rule_(rule_of(spec_, own_ends)),
      company_(company),
      work_(job.threads.size()) {
  if (spec_.backend->cuts && !files_.ours()) {
    throw Unavailable(Cause::kOwnership,
                      fmt::format("{} would lose what it holds by backend {}",
                                  files_.names().front(), spec_.backend->name),
                      "name a directory, in which files are made");
  }
  make_threads();
}

std::size_t IoJob::slots() const {
  return spec_.pattern.operation == IoOperation::kMix ? 2 * spec_.depth : spec_.depth;
}

// What all blocks that are written consist of.
std::size_t IoJob::unit_bytes() const {
  const IoPattern& pattern = spec_.pattern;
  std::size_t unit = 0;
  for (const BlockShare& one :
       pattern.write_blocks.empty() ? pattern.blocks : pattern.write_blocks) {
    unit = std::gcd(unit, std::size_t{one.bytes});
  }
  return unit;
}

// Where in its ranges a sequential thread begins, 0..1: threads, and hosts that read one file, are
// spread over it.
double IoJob::begin_of(std::size_t thread) const {
  const CommonFile& common = job_.files.common;
  const double own =
      job_.shared ? static_cast<double>(thread) / static_cast<double>(job_.threads.size()) : 0;
  if (spec_.pattern.writes() || common.parts == 1) return own;
  const double parts = common.parts;
  const double within = job_.shared ? own / parts : 0;
  return static_cast<double>(common.part) / parts + within;
}

// Random numbers go on from repetition to repetition, and sequential threads from where they were.
void IoJob::make_threads() {
  const std::size_t threads = job_.threads.size();
  for (std::size_t i = 0; i < threads; ++i) {
    const double share = begin_of(i);
    RequestStream stream(spec_.pattern,
                         ranges_of_thread(spec_.pattern, files_.sizes(), i, threads, job_.shared),
                         first_ + i, share);
    threads_.emplace_back(spec_.pattern, rule_, std::move(stream), files_.names(), hooks_of(i),
                          spec_.pattern.seed + first_ + i, company_);
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
  if (verification_.cell_bytes() != 0 && spec_.verify) {
    hooks.after_read = [this, &work](const IoRequest& operation) {
      verification_.check_read(work.buffers, operation.slot, operation);
    };
  }
  return hooks;
}

void IoJob::open(Leases& leases, Team& team, const IoRepetition& repetition) {
  if (spec_.pattern.writes()) files_.will_write(spec_.backend->cuts);
  check_verifiable();
  set_page_cache(repetition.cacheable_bytes);
  lease_buffers(leases, team);
  verification_.begin(repetition.generation);
  for (std::size_t i = 0; i < work_.size(); ++i) {
    work_[i].written.clear();
    if (!spec_.pattern.writes()) continue;
    fill_buffers(i);
    if (spec_.duplicates) {
      work_[i].units.emplace(*spec_.duplicates, spec_.pattern.seed + first_ + i);
    }
  }
}

// Another measurement of this run may have written blocks of other cells to a file of ours.
void IoJob::check_verifiable() const {
  if (!spec_.verify || !spec_.pattern.reads() || cell_bytes_ == 0 || !files_.ours()) return;
  for (std::size_t i = 0; i < files_.names().size(); ++i) {
    if (files_.number(static_cast<int>(i))) continue;
    throw Unavailable(
        Cause::kVerification,
        fmt::format("{} holds blocks that were written with headers of another size, "
                    "and cannot be verified",
                    files_.names()[i]),
        fmt::format("verify blocks of one size, or remove the file: rm '{}'", files_.names()[i]));
  }
}

// What is going to be written; headers are stamped before each write.
void IoJob::fill_buffers(std::size_t index) {
  Work& work = work_[index];
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    const std::span<std::byte> buffer = work.buffers.block(slot, stride_);
    make_contents(buffer, spec_.pattern.seed + ((first_ + index) << 32U) + ++work.refills);
    work.buffers.send(slot, stride_);
    verification_.add_image(buffer.first(spec_.pattern.largest_block()));
  }
}

void IoJob::make_contents(std::span<std::byte> buffer, std::uint64_t seed) const {
  const std::uint32_t cell_bytes = cell_bytes_ != 0 ? cell_bytes_ : kCellBytes;
  if (spec_.fill.empty() && spec_.backend->maps) {
    same_in_all_cells(buffer, cell_bytes, spec_.compressible);
  } else if (spec_.fill.empty()) {
    tierscope::prepare(buffer, seed, spec_.compressible, cell_bytes);
  } else {
    tierscope::repeat(buffer, std::as_bytes(std::span(spec_.fill)), cell_bytes);
  }
}

void IoJob::set_page_cache(std::uint64_t room) {
  for (std::size_t i = 0; i < buffered_.size(); ++i) {
    const int file = buffered_[i].get();
    if (spec_.cache == CacheState::kCold && files_.ours()) forget_cached(file, files_.sizes()[i]);
    if (spec_.cache != CacheState::kWarm) continue;
    FileSpan span = used_span(i);
    span.bytes = std::min(span.bytes, room);
    room -= span.bytes;
    read_through(file, span);
  }
  cached_before_ = cached_share();
}

// What the pattern uses of a file.
FileSpan IoJob::used_span(std::size_t file) const {
  const std::uint64_t size = files_.sizes()[file];
  const std::uint64_t first = std::min(spec_.pattern.offset, size);
  return {.first = first, .bytes = std::min(spec_.pattern.range.value_or(size), size - first)};
}

// Of what is used of the files, the share that the page cache holds, 0..1; absent where the kernel
// does not tell.
std::optional<double> IoJob::cached_share() const {
  double cached = 0;
  double all = 0;
  for (std::size_t i = 0; i < buffered_.size(); ++i) {
    const FileSpan span = used_span(i);
    const std::optional<std::uint64_t> bytes = cached_bytes(buffered_[i].get(), span);
    if (!bytes || span.bytes == 0) return std::nullopt;
    cached += static_cast<double>(*bytes);
    all += static_cast<double>(span.bytes);
  }
  return std::min(1.0, cached / all);
}

void IoJob::lease_buffers(Leases& leases, Team& team) {
  const std::optional<Placement>& placement = job_.buffers.placement;
  if (!placement) {
    refuse_unsound(*spec_.backend, job_.buffers.memory);
    const bool registered = spec_.registered_buffers && spec_.backend->name.starts_with("cufile");
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
  const std::array keys{RegionKey{bytes * job_.threads.size(), spec_.pages, *placement}};
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
                           .registered_buffers = spec_.registered_buffers,
                           .registered_files = spec_.registered_files,
                           .sqpoll = spec_.sqpoll,
                           .iopoll = spec_.iopoll,
                           .non_temporal = spec_.non_temporal,
                           .drain = spec_.drain,
                           .gpu = job_.buffers.gpu});
}

void IoJob::before_write(Work& work, const IoRequest& operation) {
  work.written.note(operation, spec_.verify);
  const std::span<std::byte> block = work.buffers.block(operation.slot, operation.bytes);
  if (work.units) write_units(block, unit_bytes(), *work.units, spec_.compressible);
  const std::uint32_t cell_bytes = verification_.cell_bytes();
  if (cell_bytes == 0) return;
  if (spec_.refill) {
    make_contents(block, spec_.pattern.seed + (first_ << 32U) + ++work.refills);
  }
  verification_.stamp(block, operation);
  work.buffers.send(operation.slot, operation.bytes);
}

std::vector<dev_t> IoJob::devices() const {
  std::vector<dev_t> found;
  for (const Descriptor& file : buffered_) found.push_back(device_of(file.get()));
  return found;
}

void IoJob::observe(nlohmann::ordered_json& io) {
  for (const std::string& name : files_.names()) io["files"].push_back(name);
  std::uint64_t used = io.value("used_bytes", std::uint64_t{0});
  for (std::size_t i = 0; i < buffered_.size(); ++i) used += used_span(i).bytes;
  io["used_bytes"] = used;
  if (purged_bytes_ != 0) io["purged_bytes"] = purged_bytes_;
  const std::optional<double> cached = cached_share();
  if (cached_before_ && cached) {
    io["cached_before"] = *cached_before_;
    io["cached_after"] = *cached;
  }
  if (spec_.backend->maps) {
    const bool before = io.value("mapping", "dax") == "dax";
    const bool dax = before && std::ranges::all_of(buffered_, [](const Descriptor& file) {
                       return maps_synchronously(file.get());
                     });
    io["mapping"] = dax ? "dax" : "page-cache";
  }
  if (!spec_.pattern.reads()) return;
  std::uint64_t unwritten = io.value("unwritten_bytes", std::uint64_t{0});
  for (const Descriptor& file : buffered_) {
    const std::optional<Extents> extents = extents_of(file.get());
    if (!extents) return;
    unwritten += extents->holes + extents->unwritten;
  }
  io["unwritten_bytes"] = unwritten;
}

std::string IoJob::verify() {
  if (!spec_.backend->moves || !files_.keeps_data()) return "";
  const bool headers = verification_.cell_bytes() != 0;
  if (!spec_.pattern.writes()) return headers ? verify_buffers() : "";
  // Blocks of several sizes overlap, so that without headers nobody knows which is whose.
  return headers || spec_.duplicates || spec_.pattern.blocks.size() == 1 ? verify_written() : "";
}

std::string IoJob::verify_written() {
  std::uint64_t compared = 0;
  std::uint64_t written = 0;
  for (Work& work : work_) {
    const std::span<const IoRequest> blocks = work.written.distinct();
    verification_.read_back(blocks, work.fds, spec_.pattern.largest_block());
    compared += blocks.size();
    written += work.written.writes();
  }
  if (compared == 0) return "";
  return fmt::format("{} of {} blocks written were read back", compared, written);
}

// Without reading anything again: what the last operations left in the buffers.
std::string IoJob::verify_buffers() {
  std::uint64_t compared = 0;
  bool by_gpu = false;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const std::span<const IoRequest> last = threads_[i].last_requests();
    for (std::size_t slot = 0; slot < last.size(); ++slot) {
      const IoRequest& operation = last[slot];
      if (!threads_[i].used()[slot] || !files_.number(operation.file)) continue;
      by_gpu = verification_.check_read(work_[i].buffers, slot, operation);
      ++compared;
    }
  }
  if (compared == 0) return "";
  const std::string what =
      spec_.verify ? "every block read" : fmt::format("the last {} blocks read", compared);
  return by_gpu ? what + ", by the GPU" : what;
}

}  // namespace tierscope
