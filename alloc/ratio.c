#include "ratio.h"

#include <stdatomic.h>

enum {
  kShards = 64,
  kCacheLine = 64,
  kFlushBytes = 1 << 20,  // What a shard holds back at most, so that large blocks count at once.
};

static struct ratio_line ratio;
static atomic_size_t threshold;
static atomic_size_t moves;
static atomic_ptrdiff_t total[2];

// Threads add to one of these, most of them alone, and to `total` once a window.
static struct {
  _Alignas(kCacheLine) atomic_ptrdiff_t bytes[2];
  atomic_ptrdiff_t fresh[2];  // Got in this window.
  atomic_size_t blocks;
} shards[kShards];

static atomic_uint threads;

static unsigned shard_of_thread(void) {
  static _Thread_local unsigned number;
  if (number == 0) number = 1 + atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
  return number % kShards;
}

void begin_ratio(const struct ratio_line* line) {
  ratio = *line;
  for (int side = 0; side < 2; ++side) {
    atomic_store(&total[side], 0);
    for (int i = 0; i < kShards; ++i) {
      atomic_store(&shards[i].bytes[side], 0);
      atomic_store(&shards[i].fresh[side], 0);
    }
  }
  for (int i = 0; i < kShards; ++i) atomic_store(&shards[i].blocks, 0);
  atomic_store(&moves, 0);
  atomic_store(&threshold, ratio.start);
}

int side_of(size_t size) {
  return size >= atomic_load_explicit(&threshold, memory_order_relaxed) ? 1 : 0;
}

static void add_up(unsigned shard) {
  for (int side = 0; side < 2; ++side) {
    const ptrdiff_t bytes =
        atomic_exchange_explicit(&shards[shard].bytes[side], 0, memory_order_relaxed);
    if (bytes != 0) atomic_fetch_add_explicit(&total[side], bytes, memory_order_relaxed);
  }
}

static size_t moved(size_t from, bool up) {
  const size_t step = from / 100 * ratio.step + from % 100 * ratio.step / 100;
  const size_t by = step > 0 ? step : 1;
  if (up) return ratio.most - from > by ? from + by : ratio.most;
  return from - ratio.least > by ? from - by : ratio.least;
}

// Moves the threshold by a step where the second side's share is off by the trigger or more, unless
// the window's new blocks make up for it already: blocks that live long change the shares slowly,
// and the threshold would be far off by the time that they are right. (memkind's has narrow bounds
// instead.) `fresh` is the second side's share of the new bytes.
static void compare(double fresh) {
  const double first = (double)atomic_load_explicit(&total[0], memory_order_relaxed);
  const double second = (double)atomic_load_explicit(&total[1], memory_order_relaxed);
  if (first + second <= 0) return;
  const double wanted = (double)ratio.shares[1] / (double)(ratio.shares[0] + ratio.shares[1]);
  const double excess = second / (first + second) - wanted;
  const double trigger = (double)ratio.trigger / 100;
  const double making_up = wanted - 2 * excess;
  const bool up = excess >= trigger && fresh > 0 && fresh > making_up;
  const bool down = excess <= -trigger && fresh < 1 && fresh < making_up;
  if (!up && !down) return;
  size_t from = atomic_load_explicit(&threshold, memory_order_relaxed);
  const size_t to = moved(from, up);
  // Where another thread has just moved it, that is enough.
  if (to != from && atomic_compare_exchange_strong(&threshold, &from, to)) {
    atomic_fetch_add_explicit(&moves, 1, memory_order_relaxed);
  }
}

// The second side's share of what the shard's threads got in this window, which ends.
static double end_window(unsigned shard) {
  const double first =
      (double)atomic_exchange_explicit(&shards[shard].fresh[0], 0, memory_order_relaxed);
  const double second =
      (double)atomic_exchange_explicit(&shards[shard].fresh[1], 0, memory_order_relaxed);
  return first + second > 0 ? second / (first + second) : 0;
}

void count_on_side(int side, ptrdiff_t bytes) {
  const unsigned shard = shard_of_thread();
  const ptrdiff_t held =
      bytes + atomic_fetch_add_explicit(&shards[shard].bytes[side], bytes, memory_order_relaxed);
  bool window = false;
  if (bytes > 0) {
    atomic_fetch_add_explicit(&shards[shard].fresh[side], bytes, memory_order_relaxed);
    const size_t before = atomic_fetch_add_explicit(&shards[shard].blocks, 1, memory_order_relaxed);
    window = (before + 1) % ratio.window == 0;
  }
  if (window || held > kFlushBytes || held < -kFlushBytes) add_up(shard);
  if (window) compare(end_window(shard));
}

struct ratio_state read_ratio_state(void) {
  struct ratio_state state = {.threshold = atomic_load(&threshold), .moves = atomic_load(&moves)};
  for (int side = 0; side < 2; ++side) {
    state.bytes[side] = atomic_load(&total[side]);
    for (int i = 0; i < kShards; ++i) state.bytes[side] += atomic_load(&shards[i].bytes[side]);
  }
  return state;
}
