#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(char sign) { return sign == ' ' || sign == '\t' || sign == '\r'; }

const char* cut_words(char* line, char** words, int most, int* count) {
  char* at = line;
  *count = 0;
  for (;;) {
    while (is_blank(*at)) *at++ = '\0';
    if (*at == '\0' || *at == '#') break;
    if (*count == most) return "too many words; 'tierscope alloc check --help' shows the lines";
    const bool quoted = *at == '"';
    if (quoted) ++at;
    words[(*count)++] = at;
    while (*at != '\0' && (quoted ? *at != '"' : !is_blank(*at))) ++at;
    if (!quoted) continue;
    if (*at == '\0') return "a quotation mark (\") without a second one";
    *at++ = '\0';
    if (*at != '\0' && !is_blank(*at)) return "write a blank behind the second quotation mark";
  }
  *at = '\0';
  return NULL;
}

const char* read_number(const char* text, size_t most, size_t* number) {
  if (*text < '0' || *text > '9') return NULL;
  size_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    const size_t digit = (size_t)(*text - '0');
    if (value > (most - digit) / 10) return NULL;
    value = value * 10 + digit;
  }
  *number = value;
  return text;
}

const char* read_size(const char* text, size_t* size) {
  static const char units[] = "kKmMgGtT";
  const char* end = read_number(text, PTRDIFF_MAX, size);
  if (end == NULL) return NULL;
  const char* const unit = *end != '\0' ? strchr(units, *end) : NULL;
  if (unit != NULL) {
    const int shift = 10 * (int)((unit - units) / 2 + 1);
    if (*size > (size_t)PTRDIFF_MAX >> shift) return NULL;
    *size <<= shift;
    ++end;
    if (*end == 'i') ++end;
  }
  if (*end == 'B') ++end;
  return end;
}

bool is_size(const char* text, size_t* size) {
  const char* const end = read_size(text, size);
  return end != NULL && *end == '\0';
}

const char* value_of(const char* word, const char* name) {
  const size_t length = strlen(name);
  return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

bool has_word(const char* list, const char* word) {
  static const char ends[] = ", ";
  const size_t length = strlen(word);
  for (size_t found = 1; list != NULL && found != 0; list += found) {
    list += strspn(list, ends);
    found = strcspn(list, ends);
    if (found == length && strncmp(list, word, length) == 0) return true;
  }
  return false;
}

bool fits_glob(const char* glob, const char* name) {
  const char* star = NULL;
  const char* from = NULL;
  while (*name != '\0') {
    if (*glob == '*') {
      star = glob++;
      from = name;
    } else if (*glob == '?' || *glob == *name) {
      ++glob;
      ++name;
    } else if (star != NULL) {
      glob = star + 1;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*glob == '*') ++glob;
  return *glob == '\0';
}

void print_json(int file, const char* text) {
  char line[4096];
  size_t length = 0;
  line[length++] = '"';
  for (; *text != '\0' && length + 3 < sizeof line; ++text) {
    const bool printable = *text >= ' ' && *text <= '~';
    if (*text == '"' || *text == '\\') line[length++] = '\\';
    line[length++] = printable ? *text : '?';
  }
  dprintf(file, "%.*s\"", (int)length, line);
}
