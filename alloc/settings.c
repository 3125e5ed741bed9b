#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "choose.h"
#include "heat.h"
#include "text.h"

enum { kFirstDescriptor = 400 };  // Out of the way of those that programs count on.

static struct wishes wishes;
static struct rules rules;
static int report_file = -1;
static pid_t first_process;  // What was started; the others are its children.
static struct stat report_is;
static const char* json_path;  // Of a file that each process appends a line to; NULL: none.

void complain(const char* what) {
  char line[2 * kMaxMessage];
  const int length = snprintf(line, sizeof line, "tierscope-alloc: %s\n", what);
  if (length > 0 && write(STDERR_FILENO, line, (size_t)length) < 0) errno = 0;
  if (wishes.strict) _exit(1);
}

// Reads the words of TIERSCOPE_ALLOC; those that are known count, whatever the others are.
static bool read_words(const char* text) {
  const struct {
    const char* word;
    bool* wish;
  } known[] = {{"strict", &wishes.strict},
               {"statistics", &wishes.statistics},
               {"sites", &wishes.sites},
               {"check", &wishes.check}};
  static const char ends[] = ", ";
  bool all_known = true;
  // What strspn skips ends within the text. NOLINTNEXTLINE(clang-analyzer-security.ArrayBound)
  for (const char* at = text + strspn(text, ends); *at != '\0'; at += strspn(at, ends)) {
    const size_t length = strcspn(at, ends);
    bool found = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
      if (strlen(known[i].word) != length || memcmp(at, known[i].word, length) != 0) continue;
      *known[i].wish = found = true;
    }
    all_known = all_known && found;
    at += length;
  }
  return all_known;
}

// Children inherit it, and what a process executes keeps its number.
static void note_first_process(void) {
  static const char name[] = "TIERSCOPE_ALLOC_PROCESS";
  const char* const noted = secure_getenv(name);
  if (noted != NULL) {
    first_process = (pid_t)strtol(noted, NULL, 10);
    return;
  }
  char number[32];
  snprintf(number, sizeof number, "%d", (int)getpid());
  first_process = getpid();
  setenv(name, number, 1);
}

static void keep_stderr(void) {
  report_file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kFirstDescriptor);
  if (report_file < 0) report_file = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (report_file >= 0 && fstat(report_file, &report_is) != 0) report_file = -1;
}

static const char* name_of(const char* source) {
  return strpbrk(source, ";\n") == NULL ? source : "TIERSCOPE_ALLOC_RULES";
}

// Tells `tierscope alloc check` how many arenas and rules there are. The program does not begin.
_Noreturn static void end_check(void) {
  dprintf(STDOUT_FILENO, "%d %d\n", rules.arena_count, rules.rule_count);
  _exit(0);
}

// Of TIERSCOPE_ALLOC_HEAT. False: there is a complaint.
static bool read_heat(void) {
  const char* const setting = secure_getenv("TIERSCOPE_ALLOC_HEAT");
  if (setting == NULL || *setting == '\0') return true;
  const int error = begin_heat(setting);
  wishes.heat = error == 0;
  if (error == 0) return true;
  char message[kMaxMessage];
  snprintf(message, sizeof message, "TIERSCOPE_ALLOC_HEAT='%.200s', which is NODES:FOLDER: %s",
           setting, strerror(error));
  complain(message);
  return false;
}

bool read_settings(void) {
  const char* const words = secure_getenv("TIERSCOPE_ALLOC");
  const char* source = secure_getenv("TIERSCOPE_ALLOC_RULES");
  if (source != NULL && *source == '\0') source = NULL;
  char message[kMaxMessage];
  if (words != NULL && !read_words(words)) {
    snprintf(message, sizeof message,
             "TIERSCOPE_ALLOC='%.100s' is not understood; it takes strict, statistics, sites and "
             "check, with commas between them",
             words);
    complain(message);
    return false;
  }
  const bool printed = wishes.statistics || wishes.sites;
  const char* const json = secure_getenv("TIERSCOPE_ALLOC_JSON");
  if (json != NULL && *json != '\0') wishes.statistics = true;
  if (!read_heat()) return false;
  if (source == NULL && !wishes.statistics && !wishes.sites && !wishes.heat) return false;
  if (source != NULL &&
      (!read_rules(&rules, source, message) || !make_arenas(&rules, name_of(source), message))) {
    complain(message);
    return false;
  }
  if (wishes.check) end_check();
  begin_choosing(&rules, wishes);
  if (json != NULL && *json != '\0') json_path = strdup(json);
  if (printed) {
    note_first_process();
    keep_stderr();
  }
  return true;
}

static void print_text(void) {
  struct stat now;
  // The program may have closed it, and have opened a file of its own in its place.
  if (report_file < 0 || fstat(report_file, &now) != 0 || now.st_dev != report_is.st_dev ||
      now.st_ino != report_is.st_ino) {
    return;
  }
  // A shell script starts many programs; those whose memory no rule took would print zeros only.
  if (getpid() != first_process && !has_taken()) return;
  dprintf(report_file, "tierscope-alloc: %s, process %d\n", program_invocation_short_name,
          (int)getpid());
  report(report_file);
}

// Appends a file to another one by a single write, since other processes may append to it, too.
static void append(int from, const char* path) {
  const off_t size = lseek(from, 0, SEEK_END);
  char* const text =
      size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, from, 0) : MAP_FAILED;
  if (text == MAP_FAILED) return;
  const int to = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (to >= 0 && write(to, text, (size_t)size) < 0) errno = 0;
  if (to >= 0) close(to);
  munmap(text, (size_t)size);
}

static void print_json_line(void) {
  const int draft = memfd_create("tierscope-alloc", MFD_CLOEXEC);
  if (draft < 0) return;
  dprintf(draft, "{\"program\": ");
  print_json(draft, program_invocation_short_name);
  dprintf(draft, ", \"process\": %d", (int)getpid());
  report_json(draft);
  dprintf(draft, ", \"memory\": ");
  ts_print_statistics(draft, TS_JSON);
  lseek(draft, -1, SEEK_END);  // On its line end.
  dprintf(draft, "}\n");
  append(draft, json_path);
  close(draft);
}

void print_report(void) {
  print_text();
  if (json_path != NULL) print_json_line();
}
