// SPDX-License-Identifier: Apache-2.0

// Every writer of files where there is no place: a full disk, a missing folder, a file in place of
// a folder, a folder that can't be written to, a device. The error names the file and the reason,
// what was there stays, and nothing else is left.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/jpeg.hpp>
#include <typeflow/npz.hpp>
#include <typeflow/plots.hpp>
#include <typeflow/profiler/files.hpp>
#include <typeflow/records/event_writer.hpp>
#include <typeflow/records/projector.hpp>
#include <typeflow/records/tf_record.hpp>
#include <typeflow/saving.hpp>
#include <typeflow/saving/cost_models.hpp>

#include "support/folder.hpp"
#include "support/message_of.hpp"
#include "unit/profiler/some_profile.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

/// While it lives, files can't grow beyond a size: as on a full disk, but EFBIG instead of ENOSPC.
class SmallFiles {
 public:
  explicit SmallFiles(::rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const ::rlimit small{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  ::rlimit before_{};
  void (*handler_)(int);
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
auto count(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

struct Writer {
  std::string name;
  std::function<void(const std::string& path)> write;  ///< more than 100 bytes
};
const std::vector<Writer>& writers() {
  static const std::vector<float> values(70'000, 0.5f);
  static const tf::Image image = [] {
    tf::Image out{30, 30, 1, {}};
    for (int i = 0; i < 900; ++i) out.pixels.push_back(static_cast<std::uint8_t>(i * i % 251));
    return out;
  }();
  static const tf::Profile profile = some_profile();
  static const auto records = [](tf::RecordPacking packing) {
    return [packing](const std::string& path) {
      tf::TfRecordWriter writer(path, {.packing = packing});
      std::uint32_t state = 1;  // numbers that can't be packed
      std::string record(100'000, '\0');
      for (char& c : record) c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
      writer.write(record);
      writer.finish();
    };
  };
  static const std::vector<Writer> all = {
      {"write_npy", [](auto& path) { tf::write_npy(path, values, {70, 1000}); }},
      {"write_npz", [](auto& path) { tf::write_npz(path, {{"x", {values, {70'000}}}}); }},
      {"write_npz, deflated",
       [](auto& path) { tf::write_npz(path, {{"x", {values, {70'000}}}}, {.deflate = true}); }},
      {"TfRecordWriter", records(tf::RecordPacking::plain)},
      {"TfRecordWriter, gzip", records(tf::RecordPacking::gzip)},
      {"TfRecordWriter, zlib", records(tf::RecordPacking::zlib)},
      {"write_png", [](auto& path) { tf::write_png(path, image); }},
      {"write_jpeg", [](auto& path) { tf::write_jpeg(path, image); }},
      {"write_plot", [](auto& path) { tf::write_plot(path, std::string(1000, ' ')); }},
      {"save",
       [](auto& path) {
         tf::Variables variables;
         variables.set<float>("w", values, {1, {70'000}});
         save(variables, path);
       }},
      {"save of a cost model", [](auto& path) { tf::save(tf::exec::CostModel(), path); }},
      {"save_profile", [](auto& path) { tf::save_profile(profile, path); }},
      {"save_chrome_trace", [](auto& path) { tf::save_chrome_trace(profile, path); }},
      {"save_pprof", [](auto& path) { tf::save_pprof(profile, path); }},
      {"save_flame_graph", [](auto& path) { tf::save_flame_graph(profile, path); }},
  };
  return all;
}

}  // namespace

TEST_CASE("a full disk: the old file stays, and no temporary one") {
  for (const Writer& writer : writers()) {
    INFO(writer.name);
    const Folder folder;
    const std::string path = (folder / "file").string();
    std::ofstream(path) << "old";
    for (const ::rlim_t bytes : {::rlim_t{0}, ::rlim_t{100}}) {
      std::string message;
      {
        const SmallFiles limit(bytes);
        message = message_of([&] { writer.write(path); });
      }
      CHECK_MESSAGE(message.starts_with(path + ": cannot be written ("), message);
      CHECK_MESSAGE(message.find("File too large") != message.npos, message);
      CHECK(text_of(path) == "old");
      CHECK(count(folder.path()) == 1);
    }
    writer.write(path);
    CHECK(fs::file_size(path) > 100);
    CHECK(count(folder.path()) == 1);
  }
}

TEST_CASE("no folder, a file in its place, a folder or a device in place of the file") {
  for (const Writer& writer : writers()) {
    INFO(writer.name);
    const Folder folder;
    const auto message = [&](const std::string& path) {
      return message_of([&] { writer.write(path); });
    };
    const std::string missing = (folder / "none/file").string();
    CHECK_MESSAGE(message(missing).starts_with(missing + ": cannot be "), message(missing));
    CHECK(message(missing).find("No such file or directory") != std::string::npos);
    std::ofstream(folder / "plain") << "text";
    const std::string below = (folder / "plain/file").string();
    CHECK_MESSAGE(message(below).starts_with(below + ": cannot be "), message(below));
    CHECK(message(below).find("Not a directory") != std::string::npos);
    CHECK(text_of(folder / "plain") == "text");
    const std::string inside = folder.path().string();
    CHECK(message(inside) == inside + ": is no regular file, so it can't be replaced");
    CHECK(message("/dev/full") == "/dev/full: is no regular file, so it can't be replaced");
    CHECK(fs::is_character_file("/dev/full"));
    CHECK(count(folder.path()) == 1);
  }
}

TEST_CASE("a folder without permission") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: the superuser may write anywhere");
    return;
  }
  for (const Writer& writer : writers()) {
    INFO(writer.name);
    const Folder folder;
    const std::string path = (folder / "file").string();
    std::ofstream(path) << "old";
    fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
    const std::string message = message_of([&] { writer.write(path); });
    fs::permissions(folder.path(), fs::perms::owner_all);
    CHECK_MESSAGE(message.starts_with(path + ": cannot be written ("), message);
    CHECK(message.find("Permission denied") != message.npos);
    CHECK(text_of(path) == "old");
    CHECK(count(folder.path()) == 1);
  }
}

TEST_CASE("event files: a full disk loses no event that is flushed later, or none is begun") {
  const Folder folder;
  tf::EventWriter writer(folder / "run", {.flush_after = std::chrono::hours(1)});
  writer.scalar("a", 1, 1);
  writer.flush();
  const auto size = fs::file_size(writer.path());
  writer.scalar("a", 2, 2);
  std::string message;
  {
    const SmallFiles limit(size + 5);  // within the event
    message = message_of([&] { writer.flush(); });
  }
  CHECK(message == writer.path().string() + ": cannot be written (File too large)");
  // What is there is read up to the last whole event.
  const auto events = [&] {
    tf::TfRecordReader reader(writer.path());
    static_cast<void>(message_of([&] {
      while (reader.next()) {
      }
    }));
    return reader.count();
  };
  CHECK(events() == 2);  // the version, and the first
  writer.flush();
  CHECK(events() == 3);

  {
    const SmallFiles limit(3);
    message = message_of([&] { tf::EventWriter(folder / "other"); });
  }
  CHECK_MESSAGE(message.ends_with(": cannot be written (File too large)"), message);
  CHECK(fs::is_empty(folder / "other"));

  std::ofstream(folder / "plain") << "text";
  const std::string below = (folder / "plain/run").string();
  CHECK(message_of([&] { tf::EventWriter writer2(below); }) ==
        below + ": cannot be made (Not a directory)");
}

TEST_CASE("projector: the old configuration stays, and no temporary file") {
  const Folder folder;
  const std::vector<float> points(600, 0.25f);
  const tf::ProjectorTable table{.name = "w", .values = points, .dimensions = 2};
  tf::write_projector(folder.path(), {table});
  const std::string config = text_of(folder / "projector_config.pbtxt");
  std::string message;
  {
    const SmallFiles limit(50);
    message = message_of([&] { tf::write_projector(folder.path(), {table}); });
  }
  CHECK(message == (folder / "w.values.tsv").string() + ": cannot be written (File too large)");
  CHECK(text_of(folder / "projector_config.pbtxt") == config);
  CHECK(count(folder.path()) == 2);

  // A table that is refused leaves all as it was, those before it, too.
  const std::string values = text_of(folder / "w.values.tsv");
  const std::vector<float> other(600, 0.5f);
  const std::vector<float> bad{1, std::numeric_limits<float>::infinity()};
  CHECK(message_of([&] {
          tf::write_projector(folder.path(), {{.name = "w", .values = other, .dimensions = 2},
                                              {.name = "v", .values = bad, .dimensions = 2}});
        }) == "write_projector: \"v\": expected finite values, got inf at 1");
  CHECK(text_of(folder / "w.values.tsv") == values);
}

TEST_CASE("checkpoints: a full disk leaves the earlier ones, the most recent is restored") {
  const Folder folder;
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>(1000, 1.0f), {1, {1000}});
  tf::Checkpoints checkpoints(folder.path().string());
  checkpoints.save(variables, 1);
  const auto files = count(folder.path());
  std::string message;
  {
    const SmallFiles limit(100);
    message = message_of([&] { checkpoints.save(variables, 2); });
  }
  CHECK_MESSAGE(message.ends_with("model-2.safetensors: cannot be written (File too large)"),
                message);
  CHECK(count(folder.path()) == files);
  CHECK(checkpoints.restore_latest(variables) == 1);
  checkpoints.save(variables, 3);
  CHECK(checkpoints.restore_latest(variables) == 3);

  std::ofstream(folder / "plain") << "text";
  CHECK(message_of([&] { tf::Checkpoints((folder / "plain/run").string()); }) != "");
}
