// The rules by which the preloaded allocator chooses an arena: what TIERSCOPE_ALLOC_RULES names or
// holds. One statement a line; docs/allocator.md describes them:
//
//   arena slow 2 capacity=8G full=spill
//   size >= 1M -> slow
//   size 64K..1M -> slow
//   thread worker* -> slow
//   site redis-server:zmalloc -> slow
//   map >= 64M -> slow
//   ratio plain:slow 2:1 start=1K min=1 max=1G window=20 step=15% trigger=2%
#ifndef TIERSCOPE_ALLOC_RULES_H
#define TIERSCOPE_ALLOC_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "tierscope_alloc.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kMaxRulesBytes = 1 << 16,  // Of the text, its end not counted.
  kMaxArenaLines = 64,
  kMaxRules = 256,
  kMaxPatterns = 64,  // Rules of one kind that has patterns: a bit each in a mask.
  kMaxMessage = 512,
  kPlain = -1,  // In place of an arena: malloc as it is without rules.
};

enum rule_kind { kSizeRule, kThreadRule, kSiteRule, kMapRule, kRatioRule };

struct arena_line {
  const char* name;
  const char* nodes;  // As ts_arena_create takes them; not checked.
  size_t capacity;    // Bytes; 0: no limit.
  enum ts_when_full when_full;
  int line;
};

struct rule {
  enum rule_kind kind;
  int line;
  int arena;            // An index, or kPlain; of a ratio unused.
  size_t low, high;     // Bytes that size and map take, both included.
  const char* object;   // Of a site: glob for the name of its object file.
  const char* pattern;  // Glob: of a thread's name, or of a site's function; NULL: by offset.
  size_t offset;        // Of a site without function: the return address in its object file.
  int bit;              // Its number among the thread rules, or among the site rules.
};

// How memkind's dynamic threshold works, with its names: blocks below the threshold go to the first
// side. After each `window` allocations, where the second side's share of the bytes is off by
// `trigger` or more, the threshold moves by `step` (memkind(3), libmemtier(7)).
struct ratio_line {
  int arenas[2];
  unsigned shares[2];         // From 1 to 65535.
  size_t start, least, most;  // Bytes of the threshold.
  size_t window;              // Allocations.
  unsigned step, trigger;     // Percent.
};

struct rules {
  struct arena_line arenas[kMaxArenaLines];
  struct rule rules[kMaxRules];
  struct ratio_line ratio;  // Where `has_ratio` says so.
  int arena_count, rule_count, thread_rules, site_rules, map_rules;
  bool has_ratio;
  char text[kMaxRulesBytes + 1];  // What the strings above point into.
};

// Reads rules. `source` is what messages call the text; `line_ends` lists the characters that end a
// line. Allocates nothing; any bytes may be given. Returns true, or false with one line in
// `message`: "SOURCE:LINE: what is wrong; what is allowed" (without a line where it is the
// whole's).
bool parse_rules(struct rules* rules, const char* text, size_t size, const char* source,
                 const char* line_ends, char message[kMaxMessage]);

// Reads a file, whole, or a text where it holds a `;` or a line end. As parse_rules.
bool read_rules(struct rules* rules, const char* path_or_text, char message[kMaxMessage]);

#ifdef __cplusplus
}
#endif

#endif
