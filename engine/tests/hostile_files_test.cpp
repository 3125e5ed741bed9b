// Whatever others do to names in a directory, before or meanwhile: no file that is not tierscope's
// is written, removed or renamed by it.
//
// Each attempt makes files of others, does some hostile things, has tierscope make, write, clean
// and remove its own files, while in half of the attempts a second thread goes on swapping names,
// and looks at every file of others then. They are held open, so that they are found under any
// name. A hundred attempts; TIERSCOPE_HOSTILE_ATTEMPTS says how many else.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "errors.h"
#include "scratch_directory.h"
#include "storage/foreign_file.h"
#include "storage/leftovers.h"
#include "storage/owned_files.h"
#include "storage/small_files.h"

namespace tierscope {
namespace {

namespace fs = std::filesystem;

using Random = std::mt19937_64;

constexpr std::size_t kSmallFiles = 4;
constexpr std::uint64_t kSmallBytes = 100;

// A file of others, under whatever name.
class Theirs {
 public:
  explicit Theirs(const std::string& path) : content_("theirs: " + path) {
    content_.resize(20000, 'x');
    write_text(path, content_);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    fstat(file_, &before_);
  }
  ~Theirs() { close(file_); }
  Theirs(const Theirs&) = delete;
  Theirs& operator=(const Theirs&) = delete;

  void linked() { ++before_.st_nlink; }  // The attacker gave it another name.

  std::string damage() const {
    struct stat now{};
    fstat(file_, &now);
    if (now.st_nlink != before_.st_nlink) {
      return fmt::format("has {} names, not {}", now.st_nlink, before_.st_nlink);
    }
    if (now.st_mode != before_.st_mode) return "has another mode";
    if (now.st_size != before_.st_size) return fmt::format("has {} bytes", now.st_size);
    std::string found(content_.size(), '\0');
    if (pread(file_, found.data(), found.size(), 0) != static_cast<ssize_t>(found.size()) ||
        found != content_) {
      return "has other contents";
    }
    return "";
  }
  int file() const { return file_; }

 private:
  std::string content_;
  int file_;
  struct stat before_{};
};

void swap_names(const std::string& a, const std::string& b) {
  renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
}

class Attempt {
 public:
  explicit Attempt(std::uint64_t seed) : random_(seed), root_(seed % 2 == 0 ? "/tmp" : "/dev/shm") {
    fs::create_directories(ours());
    fs::create_directories(root_.path("elsewhere/empty"));
    struct stat found{};
    stat(root_.path("elsewhere/empty").c_str(), &found);
    empty_directory_ = found.st_ino;
    for (const char* name : {"ours/a", "ours/data.1.txt", "elsewhere/b", "elsewhere/c"}) {
      theirs_.push_back(std::make_unique<Theirs>(root_.path(name)));
      paths_.push_back(root_.path(name));
    }
  }
  ~Attempt() { unmount(); }

  void run() {
    if (chance(2)) attempt([&] { FilePool().lease(wanted(true)); });
    if (chance(4)) leave_leftovers();
    for (std::uint64_t acts = pick(4); acts > 0; --acts) act();
    std::atomic<bool> stop{false};
    std::thread racer;
    if (chance(2)) racer = std::thread([&, seed = random_()] { race(seed, stop); });
    attempt([&] { use_files(); });
    attempt([&] { use_small_files(); });
    attempt([&] { close(open_foreign(name("data.0"), false, O_RDWR)); });
    attempt([&] { clean(ours()); });
    if (racer.joinable()) {
      stop = true;
      racer.join();
    }
    attempt([&] { clean(ours()); });
    unmount();  // So that nothing is hidden below.
  }

  void check() const {
    for (std::size_t i = 0; i < theirs_.size(); ++i) {
      EXPECT_EQ(theirs_[i]->damage(), "") << paths_[i];
    }
    // Nothing was moved away for good.
    std::set<ino_t> seen;
    for (const auto& entry : fs::recursive_directory_iterator(root_.path())) {
      struct stat found{};
      if (lstat(entry.path().c_str(), &found) == 0) seen.insert(found.st_ino);
      const std::string file = entry.path().filename();
      EXPECT_FALSE(file.starts_with(".tierscope-") && file != kManifestName) << entry.path();
    }
    for (std::size_t i = 0; i < theirs_.size(); ++i) {
      struct stat found{};
      fstat(theirs_[i]->file(), &found);
      EXPECT_TRUE(seen.contains(found.st_ino)) << paths_[i];
    }
    EXPECT_TRUE(seen.contains(empty_directory_)) << "an empty directory of others";
  }

 private:
  // By the names that the mount points have now; the one that was mounted last goes first.
  void unmount() const {
    std::vector<std::string> points;
    std::ifstream mounts("/proc/self/mounts");
    for (std::string source, line; std::getline(mounts, line);) {
      std::string point;
      std::istringstream(line) >> source >> point;
      if (point.starts_with(root_.path())) points.insert(points.begin(), point);
    }
    for (const std::string& point : points) umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  }

  std::string ours() const { return root_.path("ours"); }
  std::string name(const std::string& file) const { return ours() + "/" + file; }
  std::uint64_t pick(std::uint64_t count) { return random_() % count; }
  bool chance(std::uint64_t one_in) { return pick(one_in) == 0; }

  FilesWanted wanted(bool keep) const {
    return {.directory = ours(),
            .stem = "data.",
            .count = 2,
            .size = 65536,
            .keep = keep,
            .cell = 4096};
  }

  // What it refuses, it refuses by these.
  static void attempt(const std::function<void()>& work) {
    try {
      work();
    } catch (const Unavailable&) {
    } catch (const Failure&) {
    }
  }

  void leave_leftovers() {
    const pid_t child = fork();
    if (child == 0) {
      attempt([&] { (new FilePool)->lease(wanted(chance(2))); });
      attempt([&] { create_some(*new SmallFiles(ours(), kSmallFiles, kSmallBytes)); });
      _exit(0);  // Without destructors, as after SIGKILL.
    }
    int status = 0;
    waitpid(child, &status, 0);
  }

  void use_files() {
    bool disturbed = false;
    FilePool pool;
    pool.report_to([&](auto, auto, auto, auto) {
      if (!disturbed && chance(3)) act();
      disturbed = true;
    });
    const std::vector<OwnedFile*> files = pool.lease(wanted(chance(2)));
    if (chance(3)) act();
    for (const OwnedFile* file : files) {
      const Descriptor opened(file->open(O_RDWR));
      std::vector<std::byte> block(4096);
      prepare(block, 1, 0);
      stamp(block, file->number, 0, 2);
      EXPECT_EQ(pwrite(opened.get(), block.data(), block.size(), 0), 4096);
    }
    if (chance(3)) act();
  }

  static void create_some(SmallFiles& files) {
    for (std::size_t i = 0; i < kSmallFiles; ++i) files.create(i, FileSync::kNone);
  }

  // Hostile things happen between samples.
  void use_small_files() {
    SmallFiles files(ours(), kSmallFiles, kSmallBytes);
    if (chance(3)) act();
    create_some(files);
    std::vector<std::byte> buffer(kSmallBytes + 1);
    for (std::size_t i = 0; i < kSmallFiles; ++i) {
      if (chance(4)) act();
      attempt([&] { files.read(i, buffer); });
      attempt([&] { files.remove(i); });
      attempt([&] { files.create(i, FileSync::kNone); });
    }
  }

  // A name that tierscope will use or has used, or its manifest's.
  std::string victim() {
    std::vector<std::string> names{name("data.0"), name("data.1"), name(kManifestName)};
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(ours(), gone)) {
      const std::string file = entry.path().filename();
      if (file.starts_with("data.") && file != "data.1.txt") names.push_back(entry.path());
      if (!file.starts_with("tierscope-files.")) continue;
      names.push_back(entry.path());
      for (const auto& small : fs::directory_iterator(entry.path(), gone)) {
        names.push_back(small.path());
      }
    }
    return names[pick(names.size())];
  }

  // Whatever has the name makes room for something else.
  std::string vacated() {
    std::string path = victim();
    renameat2(AT_FDCWD, path.c_str(), AT_FDCWD,
              root_.path(fmt::format("elsewhere/moved-{}", random_())).c_str(), RENAME_NOREPLACE);
    return path;
  }

  // By its descriptor: the racer may give its name to something else.
  static void link_to(Theirs& theirs, const std::string& name) {
    const std::string file = fmt::format("/proc/self/fd/{}", theirs.file());
    if (linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      theirs.linked();
    }
  }

  void act() {
    const std::size_t which = pick(theirs_.size());
    const std::string theirs = paths_[which];
    switch (pick(13)) {
      case 0:
        symlink(theirs.c_str(), vacated().c_str());
        break;
      case 1:
        link_to(*theirs_[which], vacated());
        break;
      case 2:
        renameat2(AT_FDCWD, theirs.c_str(), AT_FDCWD, vacated().c_str(), RENAME_NOREPLACE);
        break;
      case 3:
        swap_names(theirs, victim());
        break;
      case 4:
        mkdir(vacated().c_str(), 0700);
        break;
      case 5:
        mkfifo(vacated().c_str(), 0600);
        break;
      case 6:
        mknod(vacated().c_str(), S_IFCHR | 0600, makedev(1, 3));
        break;
      case 7:
        damage_manifest();
        break;
      case 8:
        forge_manifest(which);
        break;
      case 9:
        swap_names(ours(), root_.path("elsewhere"));
        break;
      case 10:
        symlink("elsewhere", root_.path("link").c_str());
        swap_names(root_.path("link"), ours());
        break;
      case 11:
        mount_over(theirs, victim());
        break;
      default:
        mount_over("", ours());
        break;
    }
  }

  // By its descriptor: the racer may give its name to something else.
  void damage_manifest() {
    const Descriptor file(open(name(kManifestName).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK));
    std::string text(4096, '\0');
    const ssize_t bytes = pread(file.get(), text.data(), text.size(), 0);
    if (bytes <= 0 || !text.starts_with("{\"tierscope_files\"")) return;
    const auto at = static_cast<off_t>(pick(static_cast<std::uint64_t>(bytes)));
    const bool done =
        chance(2) ? ftruncate(file.get(), at) == 0 : pwrite(file.get(), "?", 1, at) == 1;
    EXPECT_TRUE(done);
  }

  // It says the truth of a file of others, but for the token, which that file does not have.
  void forge_manifest(std::size_t which) {
    const Descriptor seen(dup(theirs_[which]->file()));
    FileEntry entry{.name = fs::path(paths_[which]).filename(),
                    .identity = identity_of(seen),
                    .token = random_token(),
                    .xattr = chance(2),
                    .number = 1,
                    .size = 20000,
                    .filled = true,
                    .keep = chance(2),
                    .files = chance(4) ? kSmallFiles : 0};
    if (chance(2)) entry.name = "data.0";
    vacated();
    const std::string text = manifest_header() + manifest_line(entry);
    const Descriptor file(
        open(name(kManifestName).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (file) {
      EXPECT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    }
  }

  // Another file system or another part of one; read-only where `from` is empty.
  void mount_over(const std::string& from, const std::string& point) {
    if (geteuid() != 0 || !chance(3)) return;
    const std::string source = from.empty() ? point : from;
    if (mount(source.c_str(), point.c_str(), nullptr, MS_BIND, nullptr) != 0) return;
    if (from.empty()) {
      mount(nullptr, point.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr);
    }
  }

  // Swaps names until it is stopped.
  void race(std::uint64_t seed, const std::atomic<bool>& stop) const {
    Random random(seed);
    while (!stop) {
      std::vector<std::string> names{paths_};
      std::error_code gone;
      for (fs::directory_iterator entry(ours(), gone), end; !gone && entry != end;
           entry.increment(gone)) {
        const std::string file = entry->path().filename();
        if (!file.starts_with(".tierscope-") || file == kManifestName) {
          names.push_back(entry->path());
        }
      }
      for (int swaps = 0; swaps < 8; ++swaps) {
        swap_names(names[random() % names.size()], names[random() % names.size()]);
      }
    }
  }

  Random random_;
  ScratchDirectory root_;
  std::vector<std::unique_ptr<Theirs>> theirs_;
  std::vector<std::string> paths_;
  ino_t empty_directory_ = 0;
};

TEST(HostileFiles, NothingOfOthersIsTouched) {
  const char* const wanted = std::getenv("TIERSCOPE_HOSTILE_ATTEMPTS");
  const std::uint64_t attempts = wanted ? std::stoul(wanted) : 100;
  testing::internal::CaptureStderr();  // Files that had to stay are named there.
  for (std::uint64_t seed = 0; seed < attempts && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("attempt {}", seed));
    Attempt attempt(seed);
    attempt.run();
    attempt.check();
  }
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace tierscope
