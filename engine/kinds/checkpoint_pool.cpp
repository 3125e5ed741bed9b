// Checkpoints in a libpmemobj pool.
#include <fmt/format.h>

#include <cstring>

#include "errors.h"
#include "kinds/checkpoint_target.h"
#include "memory/persistent.h"
#include "memory/pmemobj.h"
#include "memory/pool.h"
#include "memory/read_back.h"
#include "memory/requirements.h"
#include "memory/survival.h"
#include "memory/system_memory.h"

namespace tierscope {
namespace {

// Memory for an object of so many bytes. Throws Unavailable.
PoolWanted wanted(std::size_t bytes, const Placement& placement) {
  const std::size_t page = base_page_bytes();
  const std::size_t whole = (bytes + page - 1) / page * page;
  const PoolWanted found{.bytes = whole, .count = 1, .unit_bytes = page};
  if (cut_into_pieces(found).front().size() > 1) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("an object of a pool has {} at most; {} needed",
                                  size_text(kPmemMaxObject), size_text(bytes)),
                      "ask for a smaller size, or take --backing file");
  }
  if (placement.is_bound()) require_memory(whole, Pages::kBase, placement, true);
  return found;
}

// The slots are one object of the pool.
class PoolTarget : public CheckpointTarget {
 public:
  PoolTarget(std::size_t bytes, const Placement& placement)
      : placement_(placement),
        pool_(wanted(bytes, placement), placement),
        facts_(facts_of(pool_.file())),
        synchronous_(facts_.dax && is_synchronous(data())) {
    if (!placement_.is_bound()) return;
    std::memset(data(), 0, bytes);  // Page tables, which pages are read back by.
    verify_placement(placement_, base_page_bytes(), pages());
  }

  void open() override { pool_.open(); }
  void close() override { pool_.close(); }

  void prepare(std::size_t) override {}

  void write(std::size_t, const CheckpointState& state, BlockRange range,
             std::uint64_t at) override {
    for (std::size_t block = range.first; block < range.last; ++block) {
      const CheckpointState::Block& one = state.blocks()[block];
      std::byte* const to = data() + at + one.offset;
      if (state.on_gpu()) {
        state.copy_out(block, to);
        library_.persist(pool_.get(), to, one.bytes);
      } else {
        library_.memcpy_persist(pool_.get(), to, one.data, one.bytes);
      }
    }
  }

  void read(std::size_t, CheckpointState& state, BlockRange range, std::uint64_t at,
            const std::function<void(std::size_t)>& arrived) override {
    for (std::size_t block = range.first; block < range.last; ++block) {
      state.copy_in(block, data() + at + state.blocks()[block].offset);
      arrived(block);
    }
  }

  // Each thread has waited for its own stores.
  void persist() override { library_.drain(pool_.get()); }

  void write_header(std::uint64_t at, std::span<const std::byte> header) override {
    library_.memcpy_persist(pool_.get(), data() + at, header.data(), header.size());
  }

  void read_header(std::uint64_t at, std::span<std::byte> header) override {
    std::memcpy(header.data(), data() + at, header.size());
  }

  void observe(nlohmann::ordered_json& evidence) const override {
    nlohmann::ordered_json& found = evidence["checkpoint"];
    found["medium"] = "pool";
    found["durable_by"] = "pmemobj_memcpy_persist";
    const Survival survival =
        survival_of(facts_, {.synchronous = synchronous_, .made_durable = true},
                    placement_.persistent.value_or(Persistent{}).backed_by);
    found["survives_power_loss"] = survival.answer;
    found["why"] = survival.why;
    if (!placement_.is_bound()) return;
    for (const auto& [node, count] : pages().pages) found["pages"][std::to_string(node)] = count;
  }

 private:
  const PoolPiece& object() const { return pool_.array(0).front(); }
  std::byte* data() const { return object().data; }
  RegionReport pages() const { return count_pages(data(), object().bytes, base_page_bytes()); }

  Placement placement_;
  Pool pool_;
  PersistentFacts facts_;
  bool synchronous_;
  const Pmemobj& library_ = pmemobj();
};

}  // namespace

std::unique_ptr<CheckpointTarget> make_pool_target(std::size_t bytes, const Placement& placement) {
  return std::make_unique<PoolTarget>(bytes, placement);
}

}  // namespace tierscope
