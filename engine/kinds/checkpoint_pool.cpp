// Checkpoints in a libpmemobj pool.
#include <fmt/format.h>
#include <numaif.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "errors.h"
#include "kinds/checkpoint_target.h"
#include "memory/mapping.h"
#include "memory/numa_policy.h"
#include "memory/persistent.h"
#include "memory/pmemobj.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/survival.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

constexpr const char* kLayout = "tierscope-checkpoint";
constexpr std::size_t kOverhead = std::size_t{16} << 20;  // Of a pool's own data, at most.
constexpr std::size_t kUnit = std::size_t{2} << 20;

// The slots are the pool's root object. The pool's file has no name, so that nothing is left of it;
// the process and its children reach it by its descriptor.
class PoolTarget : public CheckpointTarget {
 public:
  PoolTarget(std::size_t bytes, const Placement& placement)
      : bytes_(bytes), wanted_(placement.persistent.value_or(Persistent{})), library_(pmemobj()) {
    if (bytes > kPmemMaxObject) {
      throw Unavailable(Cause::kStorage,
                        fmt::format("an object of a pool has {} at most; {} needed",
                                    size_text(kPmemMaxObject), size_text(bytes)),
                        "ask for a smaller size, or take --backing file");
    }
    const std::size_t room = bytes + bytes / 64 + kOverhead;
    const std::size_t whole = (room + kUnit - 1) / kUnit * kUnit;
    if (wanted_.bound) require_memory(whole, Pages::kBase, placement, true);
    file_ = make_unnamed_file(wanted_.path, whole);
    if (wanted_.bound) bind(whole, placement);
    facts_ = facts_of(file_);
    path_ = fmt::format("/proc/self/fd/{}", file_.get());
    take(library_.create(path_.c_str(), kLayout, 0, 0600), "made");
  }
  ~PoolTarget() override { PoolTarget::close(); }

  void open() override {
    if (pool_ == nullptr) take(library_.open(path_.c_str(), kLayout), "opened");
  }

  void close() override {
    if (pool_ != nullptr) library_.close(pool_);
    pool_ = nullptr;
  }

  void prepare(std::size_t) override {}

  void write(std::size_t, const CheckpointState& state, BlockRange range,
             std::uint64_t at) override {
    for (std::size_t block = range.first; block < range.last; ++block) {
      const CheckpointState::Block& one = state.blocks()[block];
      std::byte* const to = data_ + at + one.offset;
      if (state.on_gpu()) {
        state.copy_out(block, to);
        library_.persist(pool_, to, one.bytes);
      } else {
        library_.memcpy_persist(pool_, to, one.data, one.bytes);
      }
    }
  }

  void read(std::size_t, CheckpointState& state, BlockRange range, std::uint64_t at,
            const std::function<void(std::size_t)>& arrived) override {
    for (std::size_t block = range.first; block < range.last; ++block) {
      state.copy_in(block, data_ + at + state.blocks()[block].offset);
      arrived(block);
    }
  }

  // Each thread has waited for its own stores.
  void persist() override { library_.drain(pool_); }

  void write_header(std::uint64_t at, std::span<const std::byte> header) override {
    library_.memcpy_persist(pool_, data_ + at, header.data(), header.size());
  }

  void read_header(std::uint64_t at, std::span<std::byte> header) override {
    std::memcpy(header.data(), data_ + at, header.size());
  }

  void observe(nlohmann::ordered_json& evidence) const override {
    nlohmann::ordered_json& found = evidence["checkpoint"];
    found["medium"] = "pool";
    found["durable_by"] = "pmemobj_memcpy_persist";
    const Survival survival =
        survival_of(facts_, {.synchronous = synchronous_, .made_durable = true}, wanted_.backed_by);
    found["survives_power_loss"] = survival.answer;
    found["why"] = survival.why;
    if (!wanted_.bound) return;
    const RegionReport report = count_pages(first_page(), bytes_ / page() * page(), page());
    for (const auto& [node, count] : report.pages) found["pages"][std::to_string(node)] = count;
  }

 private:
  static std::size_t page() { return base_page_bytes(); }
  std::byte* first_page() const { return data_ - reinterpret_cast<std::uintptr_t>(data_) % page(); }

  // Pages of tmpfs stay where they are made; its policy is the file's, whoever maps it later.
  void bind(std::size_t bytes, const Placement& placement) const {
    void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (start == MAP_FAILED) {
      throw Unavailable(Cause::kMemory, fmt::format("{}: a file cannot be mapped: {}", wanted_.path,
                                                    std::strerror(errno)));
    }
    auto* const data = static_cast<std::byte*>(start);
    const Mapping mapping(data, Unmap{.start = data, .bytes = bytes});
    set_range_policy(data, bytes, MPOL_BIND, std::array{placement.nodes.front().node});
    std::memset(data, 0, bytes);
    verify_placement(placement, page(), count_pages(data, bytes, page()));
  }

  void take(PmemPool* pool, const char* what) {
    pool_ = pool;
    const PmemId root = pool != nullptr ? library_.root(pool, bytes_) : PmemId{};
    if (root.offset == 0) {
      throw Unavailable(
          Cause::kStorage,
          fmt::format("{}: a pool cannot be {}: {}", wanted_.path, what, library_.error()),
          "name a directory on fsdax, or any other with room");
    }
    data_ = static_cast<std::byte*>(library_.direct(root));
    if (facts_.dax && !synchronous_)
      synchronous_ = is_synchronous(reinterpret_cast<std::byte*>(pool_));
  }

  std::size_t bytes_;
  Persistent wanted_;
  const Pmemobj& library_;
  Descriptor file_;
  PersistentFacts facts_;
  std::string path_;
  PmemPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  bool synchronous_ = false;
};

}  // namespace

std::unique_ptr<CheckpointTarget> make_pool_target(std::size_t bytes, const Placement& placement) {
  return std::make_unique<PoolTarget>(bytes, placement);
}

}  // namespace tierscope
