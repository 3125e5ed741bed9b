// Words of the rules: numbers, sizes, options, globs.
#ifndef TIERSCOPE_ALLOC_TEXT_H
#define TIERSCOPE_ALLOC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Cuts a line into words at blanks, in place; quotation marks keep blanks, # begins a remark.
// Returns NULL, or what is wrong.
const char* cut_words(char* line, char** words, int most, int* count);

// Reads a decimal number of at most `most`, 10 or more. Returns what follows it; NULL where there
// is none, or a larger one.
const char* read_number(const char* text, size_t most, size_t* number);

// Reads a size up to PTRDIFF_MAX bytes: 4096, 64K, 1M, 8G, 1T, with i, B or iB behind it. Returns
// what follows it; NULL where there is none, or a larger one.
const char* read_size(const char* text, size_t* size);

// Whether the text is a size and nothing else.
bool is_size(const char* text, size_t* size);

// Returns VALUE of NAME=VALUE, NULL of other words.
const char* value_of(const char* word, const char* name);

// Whether a list, words with blanks or commas between them, has this word; NULL has none.
bool has_word(const char* list, const char* word);

// Whether a name fits a glob: * stands for any characters, ? for any one.
bool fits_glob(const char* glob, const char* name);

// Prints a text as a JSON string to a file descriptor; bytes that are not ASCII as "?".
void print_json(int file, const char* text);

#ifdef __cplusplus
}
#endif

#endif
