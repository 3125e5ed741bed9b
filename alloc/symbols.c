#include "symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The library may be built with an older glibc than it runs with.
#if !__GLIBC_PREREQ(2, 35)
struct dl_find_object {
  // NOLINTNEXTLINE(google-runtime-int): glibc's.
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  struct link_map* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long reserved[8];
};
#endif

// In glibc 2.35 and later. Takes no lock: dladdr's is held by threads inside dlopen, which may wait
// for a lock that the caller of malloc holds.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
// NOLINTBEGIN(readability-redundant-declaration)
extern int _dl_find_object(void* address, struct dl_find_object* result) __attribute__((weak));
// NOLINTEND(readability-redundant-declaration)
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

static char program[PATH_MAX];
static const char* program_name = program;

static const char* base_of(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

void begin_symbols(void) {
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) program[0] = '\0';
  program_name = base_of(program);
  // Several names may be links to one program. In scripts this is the script's name.
  const char* const called = (const char*)getauxval(AT_EXECFN);
  struct stat own;
  struct stat its;
  if (called != NULL && stat(called, &its) == 0 && stat(program, &own) == 0 &&
      its.st_dev == own.st_dev && its.st_ino == own.st_ino) {
    program_name = base_of(called);
  }
}

// The program itself has no name in the dynamic loader's list.
static struct object object_of(const char* path, uintptr_t relative) {
  const bool is_program = *path == '\0';
  return (struct object){.name = is_program ? program_name : base_of(path),
                         .path = is_program ? program : path,
                         .relative = relative};
}

bool find_object(uintptr_t address, struct object* object) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  void* const pointer = (void*)address;
  struct link_map* map = NULL;
  if (&_dl_find_object != NULL) {
    struct dl_find_object found;
    if (_dl_find_object(pointer, &found) == 0) map = found.dlfo_link_map;
  } else {
    Dl_info unused;
    if (dladdr1(pointer, &unused, (void**)&map, RTLD_DL_LINKMAP) == 0) map = NULL;
  }
  if (map == NULL) return false;
  *object = object_of(map->l_name, address - map->l_addr);
  return true;
}

struct visit {
  object_visitor* visit;
  void* context;
};

static int visit_segments(struct dl_phdr_info* found, size_t size, void* context) {
  (void)size;
  const struct visit* const visit = context;
  for (size_t i = 0; i < found->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &found->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    const struct object object = object_of(found->dlpi_name, segment->p_vaddr);
    const uintptr_t start = found->dlpi_addr + segment->p_vaddr;
    visit->visit(visit->context, &object, start, start + segment->p_memsz);
  }
  return 0;
}

void visit_objects(object_visitor* visit, void* context) {
  struct visit visiting = {visit, context};
  dl_iterate_phdr(visit_segments, &visiting);
}

static int read_unloaded(struct dl_phdr_info* found, size_t size, void* context) {
  (void)size;
  *(uint64_t*)context = found->dlpi_subs;
  return 1;
}

uint64_t unloaded_objects(void) {
  uint64_t count = 0;
  dl_iterate_phdr(read_unloaded, &count);
  return count;
}

struct image {
  const char* data;
  size_t size;
};

static const void* part(const struct image* image, size_t offset, size_t size) {
  return offset <= image->size && size <= image->size - offset ? image->data + offset : NULL;
}

// The table of all symbols, else that of exported ones; NULL where the file has none.
static const ElfW(Shdr) * symbol_table(const ElfW(Shdr) * sections, size_t count) {
  const ElfW(Shdr)* table = NULL;
  for (size_t i = 0; i < count; ++i) {
    if (sections[i].sh_type == SHT_SYMTAB) return &sections[i];
    if (sections[i].sh_type == SHT_DYNSYM) table = &sections[i];
  }
  return table;
}

static const char* name_in(const struct image* image, uintptr_t relative, size_t* length) {
  const ElfW(Ehdr)* const header = part(image, 0, sizeof *header);
  if (header == NULL || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return NULL;
  const ElfW(Shdr)* const sections =
      part(image, header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr)));
  if (sections == NULL || header->e_shoff % _Alignof(ElfW(Shdr)) != 0) return NULL;
  const ElfW(Shdr)* const table = symbol_table(sections, header->e_shnum);
  if (table == NULL || table->sh_link >= header->e_shnum) return NULL;
  const ElfW(Shdr)* const strings = &sections[table->sh_link];
  const char* const names = part(image, strings->sh_offset, strings->sh_size);
  const ElfW(Sym)* const symbols = part(image, table->sh_offset, table->sh_size);
  if (names == NULL || symbols == NULL || table->sh_offset % _Alignof(ElfW(Sym)) != 0) return NULL;
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; ++i) {
    const ElfW(Sym)* const symbol = &symbols[i];
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
        relative < symbol->st_value || relative - symbol->st_value >= symbol->st_size ||
        symbol->st_name >= strings->sh_size) {
      continue;
    }
    const size_t most = strings->sh_size - symbol->st_name;
    *length = strnlen(names + symbol->st_name, most);
    return *length > 0 && *length < most ? names + symbol->st_name : NULL;
  }
  return NULL;
}

bool find_function(const char* path, uintptr_t relative, char* name, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat about;
  void* data = MAP_FAILED;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
    data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  if (data == MAP_FAILED) return false;
  const struct image image = {.data = data, .size = (size_t)about.st_size};
  size_t length = 0;
  const char* const found = name_in(&image, relative, &length);
  const bool fits = found != NULL && length < size;
  if (fits) {
    memcpy(name, found, length);
    name[length] = '\0';
  }
  munmap(data, image.size);
  return fits;
}
