#include "choose.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"
#include "heat.h"
#include "ratio.h"
#include "sites.h"
#include "text.h"

enum { kThreadName = 16 };
static const size_t kWorthReporting = UINT64_C(1) << 20;  // Bytes.

bool (*follows_rules)(void);

static const struct rules* rules;
static struct wishes wished;
static ts_arena* arenas[kMaxArenaLines];
static bool has_block_rules;

static struct {
  atomic_size_t blocks, bytes;
} used[kMaxRules];  // Where statistics are asked for.

static atomic_uint name_changes = 1;

// What this thread's name fits, as of so many changes of names.
struct thread_name {
  unsigned changes;
  uint64_t fitting;
};

bool chooses_blocks(void) { return has_block_rules; }
bool chooses_mappings(void) { return rules != NULL && rules->map_rules > 0; }
static bool counts_sites(void) { return wished.sites || wished.heat; }
bool counts_bytes(void) { return rules != NULL && rules->has_ratio; }

// That a rule takes into an arena, or that is counted.
static size_t least_taken(const struct rule* rule) {
  switch (rule->kind) {
    case kSizeRule:
      return rule->arena == kPlain && !wished.statistics ? SIZE_MAX : rule->low;
    case kMapRule:
      return SIZE_MAX;
    default:
      return 0;
  }
}

size_t least_chosen(void) {
  size_t least = counts_sites() ? 0 : SIZE_MAX;
  for (int i = 0; i < rules->rule_count; ++i) {
    const size_t taken = least_taken(&rules->rules[i]);
    if (taken < least) least = taken;
  }
  return least;
}

void forget_thread_names(void) { atomic_fetch_add(&name_changes, 1); }

static const char* why_not(int error, const struct arena_line* line) {
  switch (error) {
    case EINVAL:
      if (line->capacity != 0 && line->capacity < (size_t)sysconf(_SC_PAGESIZE)) {
        return "its capacity is less than a page; write capacity=8G";
      }
      return "its nodes are not understood; write 2, 0,2, bind:0,2, interleave:0,2, 0@2,2@1 or "
             "pmem:DIRECTORY";
    case ENODEV:
      return "a node of it does not exist or has no memory; `numactl -H` lists those there are";
    case ENOTSUP:
      if (strncmp(line->nodes, "pmem:", 5) == 0) {
        return "its file system cannot allocate blocks of a file ahead; ext4, xfs and tmpfs can";
      }
      return "this kernel has no such policy; weights as in 0@2,2@1 work on every kernel";
    case EFBIG:
      return "files may not be that large here (see `ulimit -f`)";
    case EPERM:
      return "a sandbox forbids memory policies (mbind)";
    case ENOMEM:
      return "there is no address space for it (see `ulimit -v`)";
    default:
      return strerror(error);
  }
}

bool make_arenas(const struct rules* read, const char* source, char message[kMaxMessage]) {
  for (int i = 0; i < read->arena_count; ++i) {
    const struct arena_line* const line = &read->arenas[i];
    arenas[i] = ts_arena_create(line->name, line->nodes, line->capacity, line->when_full);
    if (arenas[i] != NULL) continue;
    snprintf(message, kMaxMessage, "%.200s:%d: arena %s: %s", source, line->line, line->name,
             why_not(errno, line));
    while (--i >= 0) ts_arena_destroy(arenas[i]);
    return false;
  }
  return true;
}

void begin_choosing(const struct rules* read, struct wishes wishes) {
  rules = read;
  wished = wishes;
  has_block_rules = counts_sites() || read->rule_count > read->map_rules;
  if (read->has_ratio) begin_ratio(&read->ratio);
  if (read->site_rules > 0 || counts_sites()) begin_sites(read);
}

static uint64_t rules_of_thread(void) {
  static _Thread_local struct thread_name name;
  const unsigned changes = atomic_load_explicit(&name_changes, memory_order_relaxed);
  if (name.changes == changes) return name.fitting;
  char text[kThreadName + 1] = "";
  syscall(SYS_prctl, PR_GET_NAME, text, 0, 0, 0);
  uint64_t fitting = 0;
  for (int i = 0; i < rules->rule_count; ++i) {
    const struct rule* const rule = &rules->rules[i];
    if (rule->kind == kThreadRule && fits_glob(rule->pattern, text)) {
      fitting |= UINT64_C(1) << rule->bit;
    }
  }
  name = (struct thread_name){.changes = changes, .fitting = fitting};
  return fitting;
}

static bool fits_site(const struct site* site, const struct rule* rule) {
  return (atomic_load_explicit(&site->fitting, memory_order_relaxed) >> rule->bit & 1) != 0;
}

// The first rule for a block; NULL where none fits.
static const struct rule* rule_for(size_t size, const struct site* site) {
  for (int i = 0; i < rules->rule_count; ++i) {
    const struct rule* const rule = &rules->rules[i];
    switch (rule->kind) {
      case kSizeRule:
        if (size >= rule->low && size <= rule->high) return rule;
        break;
      case kThreadRule:
        if (rules_of_thread() >> rule->bit & 1) return rule;
        break;
      case kSiteRule:
        if (site != NULL && fits_site(site, rule)) return rule;
        break;
      case kRatioRule:
        return rule;
      case kMapRule:
        break;
    }
  }
  return NULL;
}

static void count_use(const struct rule* rule, size_t size) {
  if (!wished.statistics) return;
  atomic_fetch_add_explicit(&used[rule - rules->rules].blocks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&used[rule - rules->rules].bytes, size, memory_order_relaxed);
}

static ts_arena* arena_number(int number) { return number == kPlain ? NULL : arenas[number]; }

static bool is_left_out(void) { return follows_rules != NULL && !follows_rules(); }

struct choice choose(size_t size, const void* caller) {
  if (is_left_out()) return (struct choice){.arena = NULL};
  struct site* site = NULL;
  if (rules->site_rules > 0 || counts_sites()) site = site_of(caller);
  if (counts_sites()) count_at_site(site, size);
  if (wished.heat) return (struct choice){.arena = site_arena(site)};
  const struct rule* const rule = rule_for(size, site);
  if (rule == NULL) return (struct choice){.arena = NULL};
  count_use(rule, size);
  if (rule->kind != kRatioRule) return (struct choice){.arena = arena_number(rule->arena)};
  return (struct choice){.arena = arena_number(rules->ratio.arenas[side_of(size)]),
                         .may_stay = true};
}

ts_arena* choose_for_mapping(size_t size) {
  if (is_left_out()) return NULL;
  for (int i = 0; i < rules->rule_count; ++i) {
    const struct rule* const rule = &rules->rules[i];
    if (rule->kind != kMapRule || size < rule->low || size > rule->high) continue;
    count_use(rule, size);
    return arena_number(rule->arena);
  }
  return NULL;
}

void count_bytes(const ts_arena* arena, ptrdiff_t bytes) {
  for (int side = 0; side < 2; ++side) {
    if (arena_number(rules->ratio.arenas[side]) == arena) count_on_side(side, bytes);
  }
}

static const char* name_of(int arena) {
  return arena == kPlain ? "plain" : rules->arenas[arena].name;
}

static const char* const kKinds[] = {"size", "thread", "site", "map", "ratio"};

static void report_rule(int file, int number) {
  const struct rule* const rule = &rules->rules[number];
  dprintf(file, "tierscope-alloc: line %d, %s -> %s: %zu %s, %s in all\n", rule->line,
          kKinds[rule->kind], rule->kind == kRatioRule ? "both sides" : name_of(rule->arena),
          used[number].blocks, rule->kind == kMapRule ? "mappings" : "blocks",
          size_text(used[number].bytes).text);
}

static void report_ratio(int file) {
  const struct ratio_line* const ratio = &rules->ratio;
  const struct ratio_state state = read_ratio_state();
  const size_t first = state.bytes[0] > 0 ? (size_t)state.bytes[0] : 0;
  const size_t second = state.bytes[1] > 0 ? (size_t)state.bytes[1] : 0;
  dprintf(file, "tierscope-alloc: ratio %u:%u: %s in %s, %s in %s", ratio->shares[0],
          ratio->shares[1], size_text(first).text, name_of(ratio->arenas[0]),
          size_text(second).text, name_of(ratio->arenas[1]));
  dprintf(file, "; threshold %zu bytes, moved %zu times from %zu\n", state.threshold, state.moves,
          ratio->start);
}

static void report_rules(int file) {
  for (int i = 0; i < rules->rule_count; ++i) report_rule(file, i);
  if (rules->has_ratio) report_ratio(file);
  if (rules->site_rules == 0 && !wished.sites) return;
  const struct sites_cost cost = read_sites_cost();
  dprintf(
      file,
      "tierscope-alloc: call sites: %zu looked up in %.2f ms; finding one again takes %.1f ns\n",
      cost.lookups, cost.lookup_seconds * 1e3, cost.find_seconds * 1e9);
  if (cost.unknown != 0) {
    dprintf(
        file,
        "tierscope-alloc: call sites: %zu calls have none: from code of no file, or while 16,383 "
        "others were loaded\n",
        cost.unknown);
  }
}

bool has_taken(void) {
  for (int i = 0; i < rules->rule_count; ++i) {
    if (atomic_load(&used[i].blocks) != 0) return true;
  }
  return !wished.statistics && sites_bytes() >= kWorthReporting;
}

void report(int file) {
  if (wished.statistics) {
    ts_print_statistics(file, TS_TEXT);
    report_rules(file);
  }
  if (wished.sites) report_sites(file);
}

static void report_rules_json(int file) {
  dprintf(file, ", \"rules\": [");
  for (int i = 0; i < rules->rule_count; ++i) {
    const struct rule* const rule = &rules->rules[i];
    dprintf(file, "%s{\"line\": %d, \"kind\": \"%s\", ", i == 0 ? "" : ", ", rule->line,
            kKinds[rule->kind]);
    if (rule->kind != kRatioRule) {
      dprintf(file, "\"arena\": ");
      print_json(file, name_of(rule->arena));
      dprintf(file, ", ");
    }
    dprintf(file, "\"count\": %zu, \"bytes\": %zu}", used[i].blocks, used[i].bytes);
  }
  dprintf(file, "]");
  if (rules->has_ratio) {
    const struct ratio_state state = read_ratio_state();
    dprintf(file, ", \"ratio\": {\"bytes\": [%td, %td], \"threshold\": %zu, \"moves\": %zu}",
            state.bytes[0], state.bytes[1], state.threshold, state.moves);
  }
  if (rules->site_rules == 0 && !wished.sites) return;
  const struct sites_cost cost = read_sites_cost();
  dprintf(file,
          ", \"lookups\": {\"count\": %zu, \"seconds\": %.9f, \"seconds_again\": %.12f, "
          "\"unknown\": %zu}",
          cost.lookups, cost.lookup_seconds, cost.find_seconds, cost.unknown);
}

void report_json(int file) {
  if (wished.statistics) report_rules_json(file);
  if (wished.sites) {
    dprintf(file, ", \"call_sites\": ");
    report_sites_json(file);
  }
}
