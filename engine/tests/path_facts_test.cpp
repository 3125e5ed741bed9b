#include "storage/path_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace tierscope {
namespace {

namespace fs = std::filesystem;

// A directory in the system's temporary one, without symbolic links in its own path.
class PathFacts : public testing::Test {
 protected:
  PathFacts()
      : directory_(fs::canonical(fs::temp_directory_path()) /
                   ("path facts." + std::to_string(getpid()))) {
    fs::create_directories(directory_);
  }
  ~PathFacts() override { fs::remove_all(directory_); }

  std::string at(const std::string& name) const { return directory_ / name; }

  static std::string refusal(const std::string& path) {
    try {
      path_facts(path);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "accepted";
  }

  fs::path directory_;
};

TEST_F(PathFacts, OfAFileAreItsSizeItsMountAndItsRealPath) {
  std::ofstream(at("data")) << std::string(5000, 'x');
  fs::create_symlink(at("data"), at("link"));
  const nlohmann::ordered_json facts = path_facts(at("link"));
  EXPECT_EQ(facts["kind"], "file");
  EXPECT_EQ(facts["path"], at("link"));
  EXPECT_EQ(facts["real"], at("data"));
  EXPECT_EQ(facts["size"], 5000);
  EXPECT_TRUE(facts["direct"].is_boolean());
  EXPECT_TRUE(at("data").starts_with(facts["mount"]["point"].get<std::string>()));
  EXPECT_FALSE(facts["mount"]["type"].get<std::string>().empty());
  EXPECT_GT(facts["total_bytes"], facts["free_bytes"]);
  EXPECT_EQ(facts["page_bytes"], sysconf(_SC_PAGESIZE));
}

TEST_F(PathFacts, OfADirectoryHaveNoSize) {
  const nlohmann::ordered_json facts = path_facts(directory_);
  EXPECT_EQ(facts["kind"], "directory");
  EXPECT_FALSE(facts.contains("size"));
  EXPECT_FALSE(facts.contains("direct"));
  struct stat status{};
  ASSERT_EQ(stat(directory_.c_str(), &status), 0);
  if (major(status.st_dev) != 0) {
    EXPECT_EQ(facts["device"],
              std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)));
  }
}

TEST_F(PathFacts, OfAMissingPathAreOfTheNearestDirectoryAndNothingIsMade) {
  const nlohmann::ordered_json facts = path_facts(at("a/b/c"));
  EXPECT_EQ(facts["kind"], "missing");
  EXPECT_EQ(facts["path"], at("a/b/c"));
  EXPECT_EQ(facts["real"], directory_.string());
  EXPECT_TRUE(facts.contains("free_bytes"));
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(PathFacts, AreRefusedOfAPathThatLeadsNowhere) {
  std::ofstream(at("data")) << "x";
  fs::create_symlink(at("gone"), at("link"));
  fs::create_symlink(at("loop"), at("loop"));
  EXPECT_EQ(refusal(at("data/x")), at("data/x") + ": Not a directory");
  EXPECT_EQ(refusal(at("link")),
            at("link") + ": a symbolic link to '" + at("gone") + "', which does not exist");
  EXPECT_EQ(refusal(at("loop")), at("loop") + ": Too many levels of symbolic links");
}

// An open of it for reading would wait for a writer.
TEST_F(PathFacts, OfAPipeDoNotOpenIt) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  const nlohmann::ordered_json facts = path_facts(at("pipe"));
  EXPECT_EQ(facts["kind"], "other");
  EXPECT_FALSE(facts.contains("direct"));
}

TEST(PathFactsOfTmpfs, SayThatItIsOnNoBlockDevice) {
  const nlohmann::ordered_json facts = path_facts("/dev/shm");
  EXPECT_EQ(facts["mount"]["type"], "tmpfs");
  EXPECT_TRUE(facts["device"].get<std::string>().starts_with("0:"));
}

}  // namespace
}  // namespace tierscope
