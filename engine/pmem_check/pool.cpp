#include "pmem_check/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "errors.h"

namespace tierscope {
namespace {

constexpr const char* kCheckLayout = "tierscope-pmem-check";
constexpr std::uint64_t kType = 1;
constexpr std::uint64_t kMostNodes = 16;

struct Node {
  std::uint64_t generation;
  std::array<std::uint64_t, 8> copies;
  PmemId next;
};

// Changed a block at a time, so that there is more than one moment at which it is wrong.
struct Root {
  std::uint64_t generation;
  std::array<std::array<std::uint64_t, 32>, 4> blocks;
  std::uint64_t nodes;
  PmemId head;
};

// Undone unless it is committed.
class Transaction {
 public:
  Transaction(const Pmemobj& pmem, PmemPool* pool) : pmem_(pmem) {
    if (pmem_.begin_transaction(pool) != 0) {
      throw Failure(fmt::format("a transaction does not begin: {}", pmem_.error()));
    }
  }
  ~Transaction() {
    if (pmem_.tx_stage() == kPmemWork) pmem_.tx_abort(0);
    if (pmem_.tx_stage() != kPmemNone) pmem_.tx_end();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit() {
    pmem_.tx_commit();
    if (pmem_.tx_end() != 0) {
      throw Failure(fmt::format("a transaction is not committed: {}", pmem_.error()));
    }
  }

 private:
  const Pmemobj& pmem_;
};

template <std::size_t kCount>
bool all_are(const std::array<std::uint64_t, kCount>& words, std::uint64_t value) {
  return std::all_of(words.begin(), words.end(), [value](auto word) { return word == value; });
}

// What is wrong in an open pool; empty where nothing is.
std::string problem_of(const Pmemobj& pmem, PmemPool* pool, const Root& root) {
  for (const auto& block : root.blocks) {
    if (!all_are(block, root.generation)) {
      return fmt::format("the root is of generation {} in part only", root.generation);
    }
  }
  const std::uint64_t expected = std::min(root.generation, kMostNodes);
  if (root.nodes != expected) {
    return fmt::format("the list counts {} objects, not {}", root.nodes, expected);
  }
  PmemId id = root.head;
  for (std::uint64_t i = 0; i < expected; ++i) {
    const auto* const node = static_cast<const Node*>(pmem.direct(id));
    if (!node) return fmt::format("the list ends after {} of {} objects", i, expected);
    const std::uint64_t generation = root.generation - i;
    if (node->generation != generation || !all_are(node->copies, generation)) {
      return fmt::format("object {} of the list is not of generation {}", i, generation);
    }
    id = node->next;
  }
  if (id.offset != 0) return fmt::format("the list does not end after {} objects", expected);
  std::uint64_t objects = 0;
  for (id = pmem.first(pool); id.offset != 0; id = pmem.next(id)) ++objects;
  if (objects == expected) return "";
  return fmt::format("the pool has {} objects, and the list {}", objects, expected);
}

}  // namespace

PoolWriter::PoolWriter(const std::string& path, bool transactions)
    : pmem_(pmemobj()), transactions_(transactions) {
  constexpr unsigned kMode = 0600;
  pool_ = pmem_.create(path.c_str(), kCheckLayout, 0, kMode);
  if (!pool_) {
    throw Unavailable(Cause::kStorage,
                      fmt::format("libpmemobj makes no pool of {}: {}", path, pmem_.error()));
  }
  root_ = pmem_.direct(pmem_.root(pool_, sizeof(Root)));
  if (!root_) {
    pmem_.close(pool_);
    throw Failure(fmt::format("{}: no root object: {}", path, pmem_.error()));
  }
}

PoolWriter::~PoolWriter() { pmem_.close(pool_); }

void PoolWriter::write(std::uint64_t generation) {
  if (!transactions_) {
    change_root(generation);
    change_list(generation);
    return;
  }
  Transaction transaction(pmem_, pool_);
  change_root(generation);
  change_list(generation);
  transaction.commit();
}

void PoolWriter::change_root(std::uint64_t generation) {
  Root& root = *static_cast<Root*>(root_);
  changing(&root.generation, sizeof root.generation);
  root.generation = generation;
  changed(&root.generation, sizeof root.generation);
  for (auto& block : root.blocks) {
    changing(&block, sizeof block);
    block.fill(generation);
    changed(&block, sizeof block);
  }
}

void PoolWriter::change_list(std::uint64_t generation) {
  Root& root = *static_cast<Root*>(root_);
  const PmemId id = allocate();
  Node& node = *static_cast<Node*>(pmem_.direct(id));
  node.generation = generation;
  node.copies.fill(generation);
  node.next = root.head;
  changed(&node, sizeof node);
  changing(&root.nodes, sizeof root.nodes + sizeof root.head);
  root.head = id;
  changed(&root.head, sizeof root.head);
  if (root.nodes == kMostNodes) {
    drop_last();
  } else {
    ++root.nodes;
    changed(&root.nodes, sizeof root.nodes);
  }
}

void PoolWriter::drop_last() {
  PmemId* link = &static_cast<Root*>(root_)->head;
  for (std::uint64_t i = 0; i < kMostNodes; ++i) {
    link = &static_cast<Node*>(pmem_.direct(*link))->next;
  }
  const PmemId last = *link;
  changing(link, sizeof *link);
  *link = {};
  changed(link, sizeof *link);
  release(last);
}

PmemId PoolWriter::allocate() {
  PmemId id;
  if (transactions_) {
    id = pmem_.tx_alloc(sizeof(Node), kType);
  } else {
    pmem_.alloc(pool_, &id, sizeof(Node), kType, nullptr, nullptr);
  }
  if (id.offset == 0) throw Failure(fmt::format("no object is allocated: {}", pmem_.error()));
  return id;
}

void PoolWriter::release(PmemId id) {
  if (!transactions_) {
    pmem_.free(&id);
  } else if (pmem_.tx_free(id) != 0) {
    throw Failure(fmt::format("an object is not freed: {}", pmem_.error()));
  }
}

void PoolWriter::changing(const void* at, std::size_t bytes) {
  if (transactions_ && pmem_.tx_add_range_direct(at, bytes) != 0) {
    throw Failure(fmt::format("no room in the undo log: {}", pmem_.error()));
  }
}

void PoolWriter::changed(const void* at, std::size_t bytes) {
  if (!transactions_) pmem_.persist(pool_, at, bytes);
}

Survivor read_pool(const std::string& path) {
  const Pmemobj& pmem = pmemobj();
  PmemPool* const pool = pmem.open(path.c_str(), kCheckLayout);
  if (!pool) return {0, fmt::format("libpmemobj does not open the pool: {}", pmem.error())};
  Survivor found{0, "the pool has no root object"};
  if (const void* const root = pmem.direct(pmem.root(pool, sizeof(Root)))) {
    found.generation = static_cast<const Root*>(root)->generation;
    found.problem = problem_of(pmem, pool, *static_cast<const Root*>(root));
  }
  pmem.close(pool);
  if (found.problem.empty() && pmem.check(path.c_str(), kCheckLayout) != 1) {
    found.problem = fmt::format("libpmemobj's check: {}", pmem.error());
  }
  return found;
}

}  // namespace tierscope
