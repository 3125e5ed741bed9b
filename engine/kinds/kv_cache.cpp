// A cache of keys and values: pieces that are gathered into objects, or scattered out of them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "errors.h"
#include "harness/kind.h"
#include "harness/leases.h"
#include "interrupt.h"
#include "kinds/kv_cache_file.h"
#include "kinds/kv_cache_order.h"
#include "kinds/kv_cache_pool.h"
#include "kinds/kv_cache_spec.h"
#include "sampling/clock.h"
#include "storage/aligned_buffer.h"
#include "storage/gpu_io.h"
#include "threads/disturbance.h"

namespace tierscope {
namespace {

// Bytes of a window that contents are written and compared in; about so many.
constexpr std::size_t kWindow = std::size_t{32} << 20;

class KvCache : public State {
 public:
  explicit KvCache(KvCacheSpec spec)
      : spec_(std::move(spec)), order_(spec_), pool_(make_kv_pool(spec_)) {}

  void open(Leases& leases) override {
    const double begin = now_seconds();
    team_ = &leases.team(spec_.cpus);
    if (file_) file_->close();
    watch_gpu();
    pool_->open(leases, *team_);
    if (spec_.in_file() && !file_) file_ = std::make_unique<KvFile>(spec_, leases.files());
    if (file_) prepare();
    fill();
    pool_->set(order_);
    pool_->send();
    pool_->tune({0, file_ ? spec_.pieces : spec_.all_pieces()}, first_buffer());
    if (file_) file_->settle();
    watch_threads();
    transfers_ = 0;
    set_up_s_ = now_seconds() - begin;
    if (watch_) watch_->restart();
    if (file_) file_->restart(set_up_s_);
  }

  std::vector<Series> series() override {
    Series series{
        .name = "transfers",
        .columns = {{.metric = "bandwidth", .part = ""}, {.metric = "transfer_time", .part = ""}},
        .take = [this] { return take(); },
        .keep_disturbed = spec_.in_file()};
    series.watched_cpus =
        spec_.on_gpu() ? std::vector<int>{spec_.cpus.front()} : watched_cpus(*team_);
    return {series};
  }

  void observe(nlohmann::ordered_json& evidence) override {
    if (watch_) watch_->stop();
    pool_->observe(evidence);
    if (file_) {
      file_->settle();
      file_->observe(evidence, transfers_);
    }
    evidence["verified"] = verify();
    if (file_) file_->close();
    evidence["kv_cache"] = {{"transfers", transfers_},
                            {"pieces", spec_.all_pieces()},
                            {"bytes", transfers_ * spec_.all_bytes()},
                            {"set_up_s", set_up_s_}};
    if (watch_) watch_->report(evidence, "", spec_.direct);
  }

 private:
  void watch_gpu() {
    watch_.reset();
    if (!bypasses_host(spec_)) return;
    watch_ = watch_gpu_io({spec_.pool.gpu}, spec_.backend->name, spec_.cpus.front());
  }

  // What objects go through between a file and the pool.
  void prepare() {
    if (bypasses_host(spec_) && !through_) {
      through_ = make_gpu_buffers({.gpu = spec_.pool.gpu,
                                   .memory = spec_.pool.memory,
                                   .count = spec_.depth,
                                   .bytes = spec_.stride(),
                                   .registered = false});
    }
    buffers_.clear();
    if (through_) {
      buffers_.assign(through_->slots().begin(), through_->slots().end());
    } else {
      const std::span<std::byte> store = pool_->store();
      for (std::size_t at = 0; at < store.size(); at += spec_.stride()) {
        buffers_.push_back(store.data() + at);
      }
    }
    if (spec_.on_gpu()) return file_->prepare(0, buffers_);
    team_->run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      file_->prepare(index, std::span(buffers_).subspan(index * spec_.depth, spec_.depth));
    });
  }

  std::byte* first_buffer() const {
    return buffers_.empty() ? pool_->store().data() : buffers_.front();
  }

  // Objects [0, count) as the threads share them, or anything else that is counted.
  void share(std::size_t count, const std::function<void(std::size_t)>& work) {
    const auto threads = static_cast<std::size_t>(team_->size());
    team_->run([&](int thread) {
      for (auto i = static_cast<std::size_t>(thread); i < count; i += threads) {
        if (interrupted()) throw Interrupted();
        work(i);
      }
    });
  }

  void watch_threads() {
    if (spec_.on_gpu()) return;
    queues_.clear();
    queues_.resize(spec_.cpus.size());
    team_->run([&](int thread) {
      queues_[static_cast<std::size_t>(thread)] = watch_run_queue(*team_, thread);
    });
  }

  // The most seconds that a thread lost to others since the last look.
  double look_at_queues() {
    if (queues_.empty()) return 0;
    std::vector<double> lost(queues_.size());
    team_->run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      if (queues_[index]) lost[index] = queues_[index]->lost_s();
    });
    return std::ranges::max(lost);
  }

  // Of the contents of this process: what another one left is wrong.
  static std::uint64_t seed() {
    static const auto it = static_cast<std::uint64_t>(now_ns());
    return it;
  }

  // The side that pieces come from holds the pattern, the other one does not.
  void fill() {
    write_pool([this](std::span<std::byte> data, std::uint64_t first) {
      if (spec_.fetch) {
        std::ranges::fill(data, std::byte{0});
      } else {
        fill_kv_pattern(data, first, seed());
      }
    });
    if (file_) return fill_file();
    const std::span<std::byte> store = pool_->store();
    share(spec_.objects, [&](std::size_t object) {
      const std::span<std::byte> data =
          store.subspan(object * spec_.stride(), spec_.object_bytes());
      if (spec_.fetch) {
        fill_kv_pattern(data, object * spec_.stride(), seed());
      } else {
        std::ranges::fill(data, std::byte{0});
      }
    });
  }

  void fill_file() {
    std::uint64_t& filled = file_->filled();
    const std::uint64_t bytes = spec_.objects * spec_.stride();
    if (spec_.fetch && filled < bytes) {
      const AlignedBuffer window = make_aligned(spec_.stride());
      for (std::uint64_t at = 0; at < bytes; at += spec_.stride()) {
        fill_window({window.get(), spec_.stride()}, at);
        file_->write(at, {window.get(), spec_.stride()});
      }
    }
    filled = spec_.fetch ? std::max(filled, bytes) : 0;
  }

  // Of a window, each thread fills a part.
  void fill_window(std::span<std::byte> window, std::uint64_t first) {
    share(parts_of(window.size()), [&](std::size_t part) {
      const std::size_t at = part * kPart;
      fill_kv_pattern(window.subspan(at, std::min(kPart, window.size() - at)), first + at, seed());
    });
  }

  void write_pool(const std::function<void(std::span<std::byte>, std::uint64_t)>& contents) {
    const std::size_t bytes = spec_.all_bytes();
    std::vector<std::byte> copy(pool_->memory().empty() ? std::min(kWindow, bytes) : 0);
    for (std::size_t first = 0; first < bytes; first += kWindow) {
      const std::size_t length = std::min(kWindow, bytes - first);
      const std::span<std::byte> window =
          copy.empty() ? pool_->memory().subspan(first, length) : std::span(copy).first(length);
      share(parts_of(length), [&](std::size_t part) {
        const std::size_t at = part * kPart;
        contents(window.subspan(at, std::min(kPart, length - at)), first + at);
      });
      if (!copy.empty()) pool_->write(first, window);
    }
  }

  Sample take() {
    order_.next();
    pool_->set(order_);
    if (file_) file_->settle();
    look_at_queues();  // What was lost before does not count.
    Sample sample{};
    const LostTime lost;
    sample.start_s = now_seconds();
    transfer();
    sample.duration_s = now_seconds() - sample.start_s;
    ++transfers_;
    // A thread that waits for a GPU runs all the time; one that waits for a drive sleeps.
    const double share = file_ ? 0 : lost.share();
    sample.lost_share = spec_.on_gpu() ? share : look_at_queues() / sample.duration_s;
    sample.values = {static_cast<double>(spec_.all_bytes()) / sample.duration_s,
                     sample.duration_s * 1e9};
    return sample;
  }

  // From the call until the last piece is in its place.
  void transfer() {
    if (spec_.on_gpu()) {
      pool_->send();
      if (file_) {
        file_->move(0, 0, 1, *pool_, order_);
      } else {
        pool_->move({0, spec_.all_pieces()}, pool_->store().data(), 0);
        pool_->wait(0);
      }
      return;
    }
    const auto threads = static_cast<std::size_t>(team_->size());
    team_->run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      if (file_) {
        file_->move(index, index, threads, *pool_, order_);
      } else {
        const std::size_t first = spec_.all_pieces() * index / threads;
        const std::size_t last = spec_.all_pieces() * (index + 1) / threads;
        pool_->move({first, last - first}, pool_->store().data(), 0);
      }
    });
  }

  std::string verify() {
    if (spec_.fetch) {
      verify_pool();
    } else {
      verify_objects();
    }
    return fmt::format("{} pieces of the last of {} transfers, each at its place",
                       spec_.all_pieces(), transfers_);
  }

  void verify_pool() {
    std::vector<std::size_t> piece_in(spec_.all_pieces());
    for (std::size_t piece = 0; piece < piece_in.size(); ++piece) {
      piece_in[order_.pool_at(piece) / spec_.piece] = piece;
    }
    const std::size_t at_once = std::max<std::size_t>(1, kWindow / spec_.piece);
    std::vector<std::byte> copy;
    for (std::size_t first = 0; first < piece_in.size(); first += at_once) {
      const std::size_t count = std::min(at_once, piece_in.size() - first);
      std::span<const std::byte> window;
      if (pool_->memory().empty()) {
        copy.resize(count * spec_.piece);
        pool_->read(first * spec_.piece, copy);
        window = copy;
      } else {
        window = pool_->memory().subspan(first * spec_.piece, count * spec_.piece);
      }
      share(count, [&](std::size_t i) {
        const std::size_t piece = piece_in[first + i];
        const std::uint64_t from =
            order_.object_at(piece / spec_.pieces) + order_.within_object(piece);
        compare(window.subspan(i * spec_.piece, spec_.piece), piece, from);
      });
    }
  }

  void verify_objects() {
    const AlignedBuffer copy = file_ ? make_aligned(spec_.stride()) : AlignedBuffer();
    if (file_) file_->settle();
    for (std::size_t object = 0; object < spec_.objects; ++object) {
      std::span<const std::byte> data;
      if (file_) {
        file_->read(order_.object_at(object), {copy.get(), spec_.stride()});
        data = {copy.get(), spec_.stride()};
      } else {
        data = pool_->store().subspan(order_.object_at(object), spec_.object_bytes());
      }
      share(spec_.pieces, [&](std::size_t i) {
        const std::size_t piece = object * spec_.pieces + i;
        compare(data.subspan(i * spec_.piece, spec_.piece), piece, order_.pool_at(piece));
      });
    }
  }

  void compare(std::span<const std::byte> found, std::size_t piece, std::uint64_t from) const {
    const std::size_t wrong = kv_difference(found, from, seed());
    if (wrong == found.size()) return;
    throw Failure(
        fmt::format("piece {} of object {}: at its place, bytes from {} on are not those that it "
                    "had",
                    piece % spec_.pieces, piece / spec_.pieces, wrong),
        Cause::kVerification);
  }

  static constexpr std::size_t kPart = std::size_t{1} << 20;  // Of a window.
  static std::size_t parts_of(std::size_t bytes) { return (bytes + kPart - 1) / kPart; }

  const KvCacheSpec spec_;
  KvOrder order_;
  std::unique_ptr<KvPool> pool_;
  Team* team_ = nullptr;
  std::unique_ptr<GpuBuffers> through_;  // Where objects bypass the host.
  std::unique_ptr<KvFile> file_;
  std::vector<std::byte*> buffers_;
  std::vector<std::optional<RunQueueDelay>> queues_;  // Of threads.
  std::unique_ptr<GpuIoWatch> watch_;
  std::uint64_t transfers_ = 0;
  double set_up_s_ = 0;
};

}  // namespace

MakeState parse_kv_cache(const ObjectReader& measurement) {
  return [spec = read_kv_cache_spec(measurement)] { return std::make_unique<KvCache>(spec); };
}

}  // namespace tierscope
