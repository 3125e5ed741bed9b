#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "trusted.h"

enum { kMaxWords = 12, kMaxName = 63, kQuoted = 60 };

static const char kArenaForm[] = "write: arena NAME NODES [capacity=8G] [full=spill|fail|reclaim]";
static const char kRatioForm[] =
    "write: ratio plain:ARENA 2:1 [start=1K] [min=1] [max=1G] [window=20] [step=15%] [trigger=2%]";

struct reader {
  struct rules* rules;
  const char* source;
  char* message;
  int line;
  char* words[kMaxWords];
  int word_count;
};

__attribute__((format(printf, 2, 3))) static bool refuse(struct reader* reader, const char* form,
                                                         ...) {
  char what[kMaxMessage];
  va_list rest;
  va_start(rest, form);
  vsnprintf(what, sizeof what, form, rest);
  va_end(rest);
  char at[16] = "";
  if (reader->line > 0) snprintf(at, sizeof at, ":%d", reader->line);
  const int length =
      snprintf(reader->message, kMaxMessage, "%.200s%s: %.280s", reader->source, at, what);
  for (int i = 0; i < length; ++i) {  // What is quoted may be any bytes.
    const unsigned char sign = (unsigned char)reader->message[i];
    if (sign < ' ' || sign == 0x7F) reader->message[i] = '?';
  }
  return false;
}

static int arena_named(const struct rules* rules, const char* name) {
  for (int i = 0; i < rules->arena_count; ++i) {
    if (strcmp(rules->arenas[i].name, name) == 0) return i;
  }
  return -2;
}

static bool find_arena(struct reader* reader, const char* name, int* arena) {
  *arena = strcmp(name, "plain") == 0 ? kPlain : arena_named(reader->rules, name);
  if (*arena >= kPlain) return true;
  return refuse(reader, "no arena '%.*s'; define it above, as in: arena %.*s 2 (or write plain)",
                kQuoted, name, kQuoted, name);
}

static bool is_name(const char* name) {
  const size_t length = strlen(name);
  for (size_t i = 0; i < length; ++i) {
    if (name[i] <= ' ' || name[i] > '~' || name[i] == ':') return false;
  }
  return length >= 1 && length <= kMaxName && strcmp(name, "plain") != 0;
}

static bool read_when_full(const char* value, enum ts_when_full* when_full) {
  static const char* const names[] = {"fail", "spill", "reclaim"};
  static const enum ts_when_full rules[] = {TS_FAIL, TS_SPILL, TS_RECLAIM};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp(value, names[i]) != 0) continue;
    *when_full = rules[i];
    return true;
  }
  return false;
}

static bool read_arena(struct reader* reader) {
  struct rules* const rules = reader->rules;
  if (reader->word_count < 3)
    return refuse(reader, "an arena needs a name and nodes; %s", kArenaForm);
  if (rules->arena_count == kMaxArenaLines)
    return refuse(reader, "more than %d arenas", kMaxArenaLines);
  const char* const name = reader->words[1];
  if (!is_name(name)) {
    return refuse(
        reader,
        "'%.*s' is not a name for an arena; up to %d letters, digits and signs but ':', not plain",
        kQuoted, name, kMaxName);
  }
  if (arena_named(rules, name) >= 0) {
    return refuse(reader, "arena '%s' is defined above; give it another name", name);
  }
  struct arena_line arena = {
      .name = name, .nodes = reader->words[2], .when_full = TS_SPILL, .line = reader->line};
  for (int i = 3; i < reader->word_count; ++i) {
    const char* const word = reader->words[i];
    const char* value = value_of(word, "capacity");
    if (value != NULL && is_size(value, &arena.capacity) && arena.capacity > 0) continue;
    if (value != NULL)
      return refuse(reader, "'%.*s' is not a size; write capacity=8G", kQuoted, word);
    value = value_of(word, "full");
    if (value != NULL && read_when_full(value, &arena.when_full)) continue;
    if (value != NULL) {
      return refuse(reader, "'%.*s' is unknown; choose full=spill, full=fail or full=reclaim",
                    kQuoted, word);
    }
    return refuse(reader, "an arena has no '%.*s'; %s", kQuoted, word, kArenaForm);
  }
  rules->arenas[rules->arena_count++] = arena;
  return true;
}

// Reads `>= 1M`, `> 1M`, `<= 1M` or `< 1M`.
static bool read_bound(const char* sign, const char* text, struct rule* rule) {
  size_t size = 0;
  if (!is_size(text, &size)) return false;
  if (strcmp(sign, ">=") == 0) {
    rule->low = size;
  } else if (strcmp(sign, ">") == 0) {
    rule->low = size + 1;
  } else if (strcmp(sign, "<=") == 0) {
    rule->high = size;
  } else if (strcmp(sign, "<") == 0 && size > 0) {
    rule->high = size - 1;
  } else {
    return false;
  }
  return true;
}

// Reads a bound, or `64K..1M`, which does not include its end.
static bool read_range(char** words, int count, struct rule* rule) {
  rule->low = 0;
  rule->high = SIZE_MAX;
  if (count == 2) return read_bound(words[0], words[1], rule);
  size_t size = 0;
  const char* const end = count == 1 ? read_size(words[0], &rule->low) : NULL;
  if (end == NULL || end[0] != '.' || end[1] != '.' || !is_size(end + 2, &size)) return false;
  rule->high = size - 1;
  return size > rule->low;
}

// Reads OBJECT:FUNCTION or OBJECT+0xOFFSET.
static bool read_site(char* word, struct rule* rule) {
  rule->object = word;
  char* const colon = strrchr(word, ':');
  if (colon != NULL) {
    *colon = '\0';
    rule->pattern = colon + 1;
    return *word != '\0' && *rule->pattern != '\0';
  }
  char* plus = NULL;
  for (char* found = strstr(word, "+0x"); found != NULL; found = strstr(found + 1, "+0x"))
    plus = found;
  if (plus == NULL || plus == word || strspn(plus + 3, "0123456789abcdefABCDEF") == 0) return false;
  *plus = '\0';
  rule->pattern = NULL;
  char* end = NULL;
  errno = 0;
  rule->offset = strtoull(plus + 3, &end, 16);
  return errno == 0 && *end == '\0';
}

struct form {
  const char* name;
  enum rule_kind kind;
  const char* text;
};

static const struct form kForms[] = {
    {"size", kSizeRule, "write: size >= 1M -> ARENA, or: size 64K..1M -> ARENA"},
    {"map", kMapRule, "write: map >= 64M -> ARENA, or: map 64M..1G -> ARENA"},
    {"thread", kThreadRule, "write: thread NAME -> ARENA, where * and ? stand for any characters"},
    {"site", kSiteRule, "write: site OBJECT:FUNCTION -> ARENA, or: site OBJECT+0xOFFSET -> ARENA"},
};

static bool count_rule(struct reader* reader, struct rule* rule) {
  struct rules* const rules = reader->rules;
  if (rules->rule_count == kMaxRules) return refuse(reader, "more than %d rules", kMaxRules);
  int* const patterns = rule->kind == kThreadRule ? &rules->thread_rules : &rules->site_rules;
  if (rule->kind == kThreadRule || rule->kind == kSiteRule) {
    if (*patterns == kMaxPatterns) {
      return refuse(reader, "more than %d rules for threads, or for sites", kMaxPatterns);
    }
    rule->bit = (*patterns)++;
  }
  if (rule->kind == kMapRule) {
    ++rules->map_rules;
  } else if (rules->has_ratio) {
    return refuse(reader,
                  "no block comes here, as the ratio above takes all; put this line above it");
  }
  rule->line = reader->line;
  rules->rules[rules->rule_count++] = *rule;
  return true;
}

static bool read_rule(struct reader* reader, const struct form* form) {
  char** const words = reader->words;
  const int count = reader->word_count;
  if (count < 4 || strcmp(words[count - 2], "->") != 0) {
    return refuse(reader, "a rule ends in '-> ARENA'; %s", form->text);
  }
  struct rule rule = {.kind = form->kind, .arena = kPlain};
  bool read = false;
  if (form->kind == kSizeRule || form->kind == kMapRule) {
    read = read_range(words + 1, count - 3, &rule);
  } else if (count == 4) {
    rule.pattern = words[1];
    read = form->kind == kThreadRule ? *rule.pattern != '\0' : read_site(words[1], &rule);
  }
  if (!read) return refuse(reader, "this %s is not understood; %s", form->name, form->text);
  if (!find_arena(reader, words[count - 1], &rule.arena)) return false;
  if (form->kind == kMapRule && rule.arena >= 0 &&
      strncmp(reader->rules->arenas[rule.arena].nodes, "pmem:", 5) == 0) {
    return refuse(reader, "no mappings can lie in '%.*s', which is persistent memory; blocks can",
                  kQuoted, words[count - 1]);
  }
  return count_rule(reader, &rule);
}

static bool read_percent(const char* value, unsigned* percent) {
  size_t number = 0;
  const char* const end = read_number(value, 100, &number);
  *percent = (unsigned)number;
  return end != NULL && strcmp(end, "%") == 0 && number > 0;
}

static bool read_ratio_option(const char* word, struct ratio_line* ratio) {
  const struct {
    const char* name;
    size_t* size;
  } sizes[] = {{"start", &ratio->start}, {"min", &ratio->least}, {"max", &ratio->most}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const char* const value = value_of(word, sizes[i].name);
    if (value != NULL) return is_size(value, sizes[i].size) && *sizes[i].size > 0;
  }
  const char* value = value_of(word, "window");
  if (value != NULL) {
    const char* const end = read_number(value, 1000000, &ratio->window);
    return end != NULL && *end == '\0' && ratio->window > 0;
  }
  value = value_of(word, "step");
  if (value != NULL) return read_percent(value, &ratio->step);
  value = value_of(word, "trigger");
  return value != NULL && read_percent(value, &ratio->trigger);
}

static bool read_ratio(struct reader* reader) {
  struct rules* const rules = reader->rules;
  if (reader->word_count < 3)
    return refuse(reader, "a ratio needs two sides and shares; %s", kRatioForm);
  struct ratio_line ratio = {
      .start = 1024, .least = 1, .most = (size_t)1 << 30, .window = 20, .step = 15, .trigger = 2};
  char* const second = strchr(reader->words[1], ':');
  if (second == NULL)
    return refuse(reader, "'%.*s' is not two sides; %s", kQuoted, reader->words[1], kRatioForm);
  *second = '\0';
  if (!find_arena(reader, reader->words[1], &ratio.arenas[0]) ||
      !find_arena(reader, second + 1, &ratio.arenas[1])) {
    return false;
  }
  if (ratio.arenas[0] == ratio.arenas[1]) {
    return refuse(reader, "both sides are '%s'; name two", second + 1);
  }
  size_t shares[2] = {0, 0};
  const char* end = read_number(reader->words[2], 65535, &shares[0]);
  if (end != NULL) end = *end == ':' ? read_number(end + 1, 65535, &shares[1]) : NULL;
  if (end == NULL || *end != '\0' || shares[0] == 0 || shares[1] == 0) {
    return refuse(reader, "'%.*s' is not two shares from 1 to 65535, as in 2:1", kQuoted,
                  reader->words[2]);
  }
  ratio.shares[0] = (unsigned)shares[0];
  ratio.shares[1] = (unsigned)shares[1];
  for (int i = 3; i < reader->word_count; ++i) {
    if (read_ratio_option(reader->words[i], &ratio)) continue;
    return refuse(reader, "'%.*s' is not understood; %s", kQuoted, reader->words[i], kRatioForm);
  }
  if (ratio.start < ratio.least || ratio.start > ratio.most) {
    return refuse(reader, "start=%zu is not between min=%zu and max=%zu", ratio.start, ratio.least,
                  ratio.most);
  }
  struct rule rule = {.kind = kRatioRule, .arena = kPlain};
  if (rules->has_ratio) return refuse(reader, "a second ratio; there can be one");
  if (!count_rule(reader, &rule)) return false;
  rules->ratio = ratio;
  rules->has_ratio = true;
  return true;
}

static bool read_line(struct reader* reader, char* line) {
  const char* const wrong = cut_words(line, reader->words, kMaxWords, &reader->word_count);
  if (wrong != NULL) return refuse(reader, "%s", wrong);
  if (reader->word_count == 0) return true;
  const char* const word = reader->words[0];
  if (strcmp(word, "arena") == 0) return read_arena(reader);
  if (strcmp(word, "ratio") == 0) return read_ratio(reader);
  for (size_t i = 0; i < sizeof kForms / sizeof *kForms; ++i) {
    if (strcmp(word, kForms[i].name) == 0) return read_rule(reader, &kForms[i]);
  }
  return refuse(reader, "'%.*s' begins no rule; arena, size, thread, site, map and ratio do",
                kQuoted, word);
}

bool parse_rules(struct rules* rules, const char* text, size_t size, const char* source,
                 const char* line_ends, char message[kMaxMessage]) {
  struct reader reader = {.rules = rules, .source = source, .message = message};
  *rules = (struct rules){.arena_count = 0};
  if (size > kMaxRulesBytes) return refuse(&reader, "more than %d bytes of rules", kMaxRulesBytes);
  if (size != 0 && memchr(text, '\0', size) != NULL)
    return refuse(&reader, "a zero byte; rules are text");
  if (size != 0) memcpy(rules->text, text, size);
  char* at = rules->text;
  for (char* line = at; line != NULL; line = at) {
    ++reader.line;
    at = strpbrk(line, line_ends);
    if (at != NULL) *at++ = '\0';
    if (!read_line(&reader, line)) return false;
  }
  return true;
}

bool read_rules(struct rules* rules, const char* path_or_text, char message[kMaxMessage]) {
  struct reader reader = {.source = path_or_text, .message = message};
  if (strpbrk(path_or_text, ";\n") != NULL) {
    return parse_rules(rules, path_or_text, strlen(path_or_text), "TIERSCOPE_ALLOC_RULES", ";\n",
                       message);
  }
  static char text[kMaxRulesBytes + 1];
  // A pipe would make the program wait for whoever writes.
  const int file = open(path_or_text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat is;
  if (file >= 0 && fstat(file, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode)) {
    close(file);
    return refuse(&reader, "the rules are not in a regular file; write them to one");
  }
  char why[kMaxMessage];
  if (file >= 0 && !is_trusted(file, why, sizeof why)) {
    close(file);
    return refuse(&reader, "%s", why);
  }
  size_t size = 0;
  ssize_t got = file < 0 ? -1 : 1;
  while (got > 0 && size < sizeof text) {
    got = read(file, text + size, sizeof text - size);
    if (got > 0) size += (size_t)got;
  }
  char reason[64];
  const int error = errno;
  if (file >= 0) close(file);
  if (got < 0) {
    return refuse(&reader, "the rules cannot be read: %s",
                  strerror_r(error, reason, sizeof reason));
  }
  return parse_rules(rules, text, size, path_or_text, "\n", message);
}
