#include "trusted.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Whose files root follows: its own, and those of the user for whom sudo made this process root's.
static bool is_own(uid_t owner) {
  const char* const caller = secure_getenv("SUDO_UID");
  return owner == 0 || (caller != NULL && strtoul(caller, NULL, 10) == owner);
}

static const char kAsked[] = "root reads what root, or the caller of sudo, alone may write";

// In a folder with the sticky bit nobody replaces another one's file.
static bool is_safe(const struct stat* is, const char* what, char* why, size_t size) {
  if (!is_own(is->st_uid)) {
    snprintf(why, size, "%s belongs to user %u; %s (chown root)", what, is->st_uid, kAsked);
    return false;
  }
  const bool by_group = (is->st_mode & S_IWGRP) != 0 && is->st_gid != 0;
  const bool sticky = S_ISDIR(is->st_mode) && (is->st_mode & S_ISVTX) != 0;
  if (sticky || (!by_group && (is->st_mode & S_IWOTH) == 0)) return true;
  snprintf(why, size, "%s is writable by others (mode %04o); %s (chmod go-w)", what,
           is->st_mode & 07777U, kAsked);
  return false;
}

bool is_trusted(int file, char* why, size_t size) {
  if (geteuid() != 0) return true;
  struct stat is;
  if (fstat(file, &is) != 0) return true;  // Reading it says what is wrong.
  if (!is_safe(&is, "the file", why, size)) return false;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0 || path[0] != '/') return true;  // It has no path.
  path[length] = '\0';
  for (char* slash = strrchr(path, '/'); slash != NULL; slash = strrchr(path, '/')) {
    slash[slash == path ? 1 : 0] = '\0';
    if (stat(path, &is) == 0 && !is_safe(&is, path, why, size)) return false;
    if (slash == path) break;
  }
  return true;
}
