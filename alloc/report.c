// ts_print_statistics. Without stdio's buffers: it may run while a program ends.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

enum { kMaxNodesShown = 64 };

struct writer {
  int file;
  int error;  // An errno; nothing is written after it.
};

static void put(struct writer* writer, const char* text, size_t length) {
  while (length > 0 && writer->error == 0) {
    const ssize_t written = write(writer->file, text, length);
    if (written >= 0) {
      text += written;
      length -= (size_t)written;
    } else if (errno != EINTR) {
      writer->error = errno;
    }
  }
}

__attribute__((format(printf, 2, 3))) static void say(struct writer* writer, const char* format,
                                                      ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (length > 0) put(writer, text, strnlen(text, sizeof text));
}

struct size_text size_text(size_t bytes) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  struct size_text result;
  size_t unit = 0;
  double value = (double)bytes;
  for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; ++unit) value /= 1024;
  snprintf(result.text, sizeof result.text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return result;
}

struct snapshot {
  char name[kMaxName + 1];
  struct ts_statistics statistics;
  size_t pages[kMaxNodesShown];
};

static bool take(ts_arena* arena, struct snapshot* snapshot) {
  pthread_mutex_lock(&table_lock);  // Another thread may make an arena there.
  const bool exists = is_arena(arena);
  if (exists) memcpy(snapshot->name, arena->name, sizeof snapshot->name);
  pthread_mutex_unlock(&table_lock);
  if (!exists) return false;
  if (ts_arena_statistics(arena, &snapshot->statistics) != 0) return false;
  ts_arena_pages(arena, snapshot->pages, kMaxNodesShown);  // What it cannot read stays 0.
  return true;
}

static void say_text(struct writer* writer, const struct snapshot* snapshot) {
  const struct ts_statistics* const is = &snapshot->statistics;
  say(writer, "tierscope-alloc: arena %s: %s committed", snapshot->name,
      size_text(is->committed).text);
  if (is->capacity != 0) say(writer, " of %s", size_text(is->capacity).text);
  say(writer, ", %s in blocks, %s mapped", size_text(is->allocated).text,
      size_text(is->mapped).text);
  if (is->spilled_count != 0) {
    say(writer, "; %s in %zu calls spilled", size_text(is->spilled).text, is->spilled_count);
  }
  if (is->failed_count != 0) say(writer, "; %zu calls failed", is->failed_count);
  if (is->reclaimed != 0) say(writer, "; %s reclaimed", size_text(is->reclaimed).text);
  say(writer, "\n");
  for (size_t node = 0; node < kMaxNodesShown; ++node) {
    if (snapshot->pages[node] == 0) continue;
    say(writer, "tierscope-alloc: arena %s: %s on node %zu\n", snapshot->name,
        size_text(snapshot->pages[node]).text, node);
  }
}

static void say_json(struct writer* writer, const struct snapshot* snapshot) {
  say(writer, "{\"name\": \"");
  for (const char* at = snapshot->name; *at != '\0'; ++at) {
    say(writer, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
  }
  const struct ts_statistics* const is = &snapshot->statistics;
  say(writer,
      "\", \"capacity\": %zu, \"committed\": %zu, \"allocated\": %zu, \"mapped\": %zu, "
      "\"spilled\": %zu, \"spilled_count\": %zu, \"failed_count\": %zu, \"reclaimed\": %zu, "
      "\"bytes_per_node\": {",
      is->capacity, is->committed, is->allocated, is->mapped, is->spilled, is->spilled_count,
      is->failed_count, is->reclaimed);
  const char* separator = "";
  for (size_t node = 0; node < kMaxNodesShown; ++node) {
    if (snapshot->pages[node] == 0) continue;
    say(writer, "%s\"%zu\": %zu", separator, node, snapshot->pages[node]);
    separator = ", ";
  }
  say(writer, "}}");
}

int ts_print_statistics(int file, enum ts_format format) {
  if (format != TS_TEXT && format != TS_JSON) {
    errno = EINVAL;
    return -1;
  }
  const int before = errno;
  struct writer writer = {file, 0};
  if (format == TS_JSON) say(&writer, "{\"arenas\": [");
  const char* separator = "";
  for (size_t i = 0; i < kMaxArenas; ++i) {
    struct snapshot snapshot;
    if (!take(&arena_table[i], &snapshot)) continue;
    if (format == TS_JSON) {
      say(&writer, "%s", separator);
      say_json(&writer, &snapshot);
      separator = ", ";
    } else {
      say_text(&writer, &snapshot);
    }
  }
  if (format == TS_JSON) say(&writer, "]}\n");
  errno = writer.error != 0 ? writer.error : before;
  return writer.error != 0 ? -1 : 0;
}
