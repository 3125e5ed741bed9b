// A hash join whose hash table lies in fast memory and whose rows lie in slow memory.
//
//   cc -O2 hash_join.c $(tierscope alloc flags) -o hash_join
//   ./hash_join [FAST_NODES [SLOW_NODES [ROWS]]]          e.g. ./hash_join 0 2 1000000
//
// The table, which each probe reads at random, is small: 16 bytes for each row. The rows, 128 bytes
// each, are read for matches only.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tierscope_alloc.h>
#include <unistd.h>

struct slot {
  uint64_t key;  // 0: empty.
  uint64_t row;
};
struct row {
  uint64_t key;
  uint64_t amount;
  char text[112];
};

static uint64_t hash(uint64_t key) { return key * UINT64_C(0x9E3779B97F4A7C15) >> 20; }

static struct slot* find(struct slot* table, uint64_t mask, uint64_t key) {
  uint64_t at = hash(key) & mask;
  while (table[at].key != 0 && table[at].key != key) at = (at + 1) & mask;
  return &table[at];
}

static void* need(void* memory, const char* what) {
  if (memory == NULL) {
    perror(what);
    exit(1);
  }
  return memory;
}

int main(int count, char** words) {
  const char* fast_nodes = count > 1 ? words[1] : "0";
  const char* slow_nodes = count > 2 ? words[2] : "0";
  const uint64_t rows = count > 3 ? strtoull(words[3], NULL, 10) : 100000;
  uint64_t slots = 1;
  while (slots < 2 * rows) slots *= 2;

  ts_arena* fast = need(ts_arena_create("fast", fast_nodes, 0, TS_SPILL), fast_nodes);
  ts_arena* slow = need(ts_arena_create("slow", slow_nodes, 0, TS_FAIL), slow_nodes);
  struct slot* table = need(ts_calloc(fast, slots, sizeof *table), "the hash table");
  struct row* payload = need(ts_calloc(slow, rows, sizeof *payload), "the rows");

  for (uint64_t row = 0; row < rows; ++row) {
    payload[row].key = 2 * row + 1;
    payload[row].amount = row % 100;
    snprintf(payload[row].text, sizeof payload[row].text, "row %llu", (unsigned long long)row);
    struct slot* slot = find(table, slots - 1, payload[row].key);
    slot->key = payload[row].key;
    slot->row = row;
  }

  uint64_t matches = 0;
  uint64_t sum = 0;
  for (uint64_t key = 1; key <= 2 * rows; ++key) {  // Every other key has a row.
    const struct slot* slot = find(table, slots - 1, key);
    if (slot->key == 0) continue;
    ++matches;
    sum += payload[slot->row].amount;
  }

  printf("%llu matches, sum %llu\n", (unsigned long long)matches, (unsigned long long)sum);
  printf("table on node %d, rows on node %d\n", ts_tier_of(table), ts_tier_of(payload));
  fflush(stdout);
  ts_print_statistics(STDOUT_FILENO, TS_TEXT);
  ts_arena_destroy(slow);  // Frees what is in it, too.
  ts_arena_destroy(fast);
  return 0;
}
