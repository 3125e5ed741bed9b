// A program that is linked with -lcemalloc and started without LD_PRELOAD, for CE_MODE=CE_IMPLICIT
// and CE_ALLOC=CE_ALLOC_USERDEFINED: its malloc is the library's, its memory lies in shares.
#include <cemalloc.h>
#include <string.h>

#include "pages.h"

enum { kSize = 12 << 20, kPiece = 64 << 10 };

int main(void) {
  char* const large = malloc(kSize);
  memset(large, 1, kSize);
  print_pages("large", large, kSize);
  char* const pieces = cxl_malloc(kSize);
  for (size_t at = 0; at < kSize; at += kPiece) memset(pieces + at, 1, kPiece);
  print_pages("cxl_malloc", pieces, kSize);
  free(large);
  cxl_free(pieces);
  return 0;
}
