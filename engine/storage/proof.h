// Whether a file is the one that a manifest speaks of.
#pragma once

#include "storage/descriptor.h"
#include "storage/manifest.h"

namespace tierscope {

// Own: it gets locked; borrowed: whoever has it locked lets others use it.
enum class Use { kOwn, kBorrowed };

// Opens the entry's file for reading and writing, and locks it. Empty, with the reason, where it is
// missing, is not proven to be the one that tierscope made, or is in use. The device has to be the
// directory's; it need not have the number that was written down, which changes at boot.
PlainFile open_proven(const Descriptor& directory, const FileEntry& entry, Use use = Use::kOwn);

// The same of an entry for a directory of small files, opened for reading: besides, only this user
// may enter it.
PlainFile open_proven_directory(const Descriptor& directory, const FileEntry& entry);

// Whether a directory belongs to this user, who alone may enter it.
bool is_private(const Descriptor& directory);

// Fills in what will prove that this file, made just now, is the entry's; gives it the token.
// Throws Unavailable where its file system has nothing that could. `path` is for the message.
void make_proof(const Descriptor& file, const std::string& path, FileEntry& entry);

}  // namespace tierscope
