// SPDX-License-Identifier: Apache-2.0

// The converters of tools/: files are made, converted, converted back and compared.

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <typeflow/data.hpp>
#include <typeflow/image.hpp>
#include <typeflow/jpeg.hpp>
#include <typeflow/records.hpp>

#include "support/folder.hpp"

namespace {

namespace tf = typeflow;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

struct Result {
  int code;
  std::string output;
};
/// Runs a tool in the folder, with arguments for a shell, which does `before` first.
Result run(const Folder& folder, const std::string& command, const std::string& before = "") {
  const std::string line = "cd '" + folder.path().string() + "' && " + before + " '" +
                           TYPEFLOW_TOOLS + "/'" + command + " 2>&1";
  std::FILE* const pipe = ::popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Result result{};
  char part[256];
  while (std::fgets(part, sizeof part, pipe) != nullptr) result.output += part;
  const int status = ::pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}
void succeeds(const Folder& folder, const std::string& command) {
  const Result result = run(folder, command);
  CHECK_MESSAGE(result.code == 0, command << ": " << result.output);
  CHECK_MESSAGE(result.output.empty(), result.output);
}
/// Exit code 2 and this line; `output` is not there, and nothing of another name is left.
void fails(const Folder& folder, const std::string& command, const std::string& message,
           const std::string& output, const std::string& before_it = "") {
  const auto count = [&] {
    return std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
  };
  const auto before = count();
  const Result result = run(folder, command, before_it);
  CHECK_MESSAGE(result.code == 2, command);
  CHECK(result.output == command.substr(0, command.find(' ')) + ": " + message + "\n");
  CHECK_FALSE(fs::exists(folder / output));
  CHECK(count() == before);
}
std::vector<std::string> records_of(const fs::path& path) {
  std::vector<std::string> out;
  for (const std::string& record : tf::tf_records(path.string())) out.push_back(record);
  return out;
}

tf::Image picture(int height, int width, int channels, int seed) {
  tf::Image image{.height = height, .width = width, .channels = channels, .pixels = {}};
  for (int i = 0; i < height * width * channels; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>((i * 7 + seed * 31) % 256));
  }
  return image;
}
/// The files of a folder of folders, by their names in it.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      out[fs::relative(entry.path(), folder).string()] = read(entry.path());
    }
  }
  return out;
}
void make_images(const Folder& folder) {
  for (const char* label : {"cat", "dog"}) fs::create_directories(folder / "images" / label);
  tf::write_png((folder / "images/cat/a.png").string(), picture(3, 4, 3, 1));
  tf::write_png((folder / "images/cat/b.png").string(), picture(5, 2, 1, 2));
  tf::write_png((folder / "images/dog/a.png").string(), picture(1, 1, 3, 3));
}

}  // namespace

TEST_CASE("tools: folders of images become records, and the same folders again") {
  const Folder folder;
  make_images(folder);
  write(folder / "images/.hidden", "left out");
  succeeds(folder, "images_to_records images images.tfrecord --packing gzip");
  const auto records = records_of(folder / "images.tfrecord");
  REQUIRE(records.size() == 3);
  const auto [height, width, label, text, name, encoded] = tf::parse_single_example(
      records[2], tf::FixedLen<std::int64_t>{"image/height"},
      tf::FixedLen<std::int64_t>{"image/width"}, tf::FixedLen<std::int64_t>{"image/class/label"},
      tf::FixedLen<std::string>{"image/class/text"}, tf::FixedLen<std::string>{"image/filename"},
      tf::FixedLen<std::string>{"image/encoded"});
  CHECK(height == 1);
  CHECK(width == 1);
  CHECK(label == 1);
  CHECK(text == "dog");
  CHECK(name == "a.png");
  CHECK(encoded == read(folder / "images/dog/a.png"));
  succeeds(folder, "records_to_images images.tfrecord again");
  auto expected = files_of(folder / "images");
  expected.erase(".hidden");
  CHECK(files_of(folder / "again") == expected);

  // The same by pixels.
  succeeds(folder, "images_to_records images pixels.tfrecord --pixels");
  const auto [channels, pixels] = tf::parse_single_example(
      records_of(folder / "pixels.tfrecord").at(1), tf::FixedLen<std::int64_t>{"image/channels"},
      tf::FixedLen<std::string>{"image/pixels"});
  CHECK(channels == 1);
  const auto plain = picture(5, 2, 1, 2).pixels;
  CHECK(pixels == std::string(plain.begin(), plain.end()));
  succeeds(folder, "records_to_images pixels.tfrecord from_pixels");
  CHECK(files_of(folder / "from_pixels").size() == 3);
  for (const auto& [file, bytes] : expected) {
    const tf::Image image = tf::read_image((folder / "from_pixels" / file).string());
    const tf::Image first = tf::read_image((folder / "images" / file).string());
    CHECK(image.pixels == first.pixels);
    CHECK(image.height == first.height);
    CHECK(image.channels == first.channels);
  }
}

TEST_CASE("tools: JPEG files become records, and the same files again") {
  const Folder folder;
  make_images(folder);
  tf::write_jpeg((folder / "images/dog/b.jpg").string(), picture(9, 8, 3, 4));
  tf::write_jpeg((folder / "images/dog/c.JPEG").string(), picture(2, 8, 1, 5));
  succeeds(folder, "images_to_records images images.tfrecord");
  const auto records = records_of(folder / "images.tfrecord");
  REQUIRE(records.size() == 5);
  const auto [height, channels, format, encoded] = tf::parse_single_example(
      records[4], tf::FixedLen<std::int64_t>{"image/height"},
      tf::FixedLen<std::int64_t>{"image/channels"}, tf::FixedLen<std::string>{"image/format"},
      tf::FixedLen<std::string>{"image/encoded"});
  CHECK(height == 2);
  CHECK(channels == 1);
  CHECK(format == "jpeg");
  CHECK(encoded == read(folder / "images/dog/c.JPEG"));
  succeeds(folder, "records_to_images images.tfrecord again");
  CHECK(files_of(folder / "again") == files_of(folder / "images"));

  // By pixels they become PNG files.
  succeeds(folder, "images_to_records images pixels.tfrecord --pixels");
  succeeds(folder, "records_to_images pixels.tfrecord from_pixels");
  CHECK(files_of(folder / "from_pixels").size() == 5);
  CHECK(tf::read_image((folder / "from_pixels/dog/b.png").string()).pixels ==
        tf::read_jpeg((folder / "images/dog/b.jpg").string()).pixels);

  tf::TfRecordWriter writer(folder / "gif.tfrecord");
  writer.write(tf::encode(tf::Example{{{"image/encoded", std::vector<std::string>{encoded}},
                                       {"image/format", std::vector<std::string>{"GIF"}},
                                       {"image/class/label", std::vector<std::int64_t>{0}}}}));
  writer.finish();
  fails(folder, "records_to_images gif.tfrecord out",
        "gif.tfrecord: record 0: expected a PNG or JPEG file as feature 'image/format', got 'GIF'",
        "out");
}

TEST_CASE("tools: images that can't be converted leave nothing") {
  const Folder folder;
  make_images(folder);
  fails(folder, "images_to_records nowhere out",
        "nowhere: cannot be read (No such file or directory)", "out");
  fails(folder, "images_to_records images", "OUTPUT is required", "out");
  write(folder / "images/dog/z.png", "no image");
  const Result damaged = run(folder, "images_to_records images out");
  CHECK(damaged.code == 2);
  CHECK(damaged.output.starts_with("images_to_records: images/dog/z.png: "));
  CHECK(std::count(damaged.output.begin(), damaged.output.end(), '\n') == 1);
  CHECK_FALSE(fs::exists(folder / "out"));
  fs::rename(folder / "images/dog/z.png", folder / "images/dog/z.gif");
  fails(folder, "images_to_records images out",
        "images/dog/z.gif: expected a PNG or JPEG file, got another one", "out");
  fs::rename(folder / "images/dog/z.gif", folder / "images/dog/z.jpeg");
  fails(folder, "images_to_records images out",
        "images/dog/z.jpeg: decode_jpeg: expected a JPEG file's first bytes, got others", "out");
  fs::remove(folder / "images/dog/z.jpeg");
  write(folder / "images/file", "");
  fails(folder, "images_to_records images out",
        "images/file: expected a folder of images of one label, got a file", "out");

  write(folder / "bad.tfrecord", "");
  const auto fails_with = [&](const tf::Example& example, const std::string& message) {
    tf::TfRecordWriter writer(folder / "bad.tfrecord");
    writer.write(tf::encode(example));
    writer.finish();
    fails(folder, "records_to_images bad.tfrecord out", "bad.tfrecord: record 0: " + message,
          "out");
  };
  using Texts = std::vector<std::string>;
  using Integers = std::vector<std::int64_t>;
  const std::string png = read(folder / "images/cat/a.png");
  fails_with({{{"image/class/label", Integers{1}}}},
             "has no feature 'image/encoded' or 'image/pixels'");
  fails_with({{{"image/encoded", Texts{png}}}},
             "has no feature 'image/class/text' or 'image/class/label'");
  fails_with({{{"image/encoded", Texts{png}}, {"image/class/text", Texts{"../up"}}}},
             "expected a plain name as feature 'image/class/text', got '../up'");
  fails_with({{{"image/encoded", Texts{png}},
               {"image/class/text", Texts{"cat"}},
               {"image/filename", Texts{"/etc/x.png"}}}},
             "expected a plain name as feature 'image/filename', got '/etc/x.png'");
  fails_with({{{"image/pixels", Texts{"abc"}},
               {"image/height", Integers{1}},
               {"image/width", Integers{2}},
               {"image/channels", Integers{3}},
               {"image/class/label", Integers{0}}}},
             "encode_png: expected 6 bytes for 1 x 2 x 3, got 3");
  fs::create_directory(folder / "there");
  const Result there = run(folder, "records_to_images bad.tfrecord there");
  CHECK(there.code == 2);
  CHECK(there.output == "records_to_images: there: expected a new folder, got one that exists\n");
}

TEST_CASE("tools: lines of a text become records, and the same text again") {
  const Folder folder;
  const std::string text = "one\n\ntwo, three\n" + std::string(100000, 'x') + "\n\xc3\xa4\n";
  write(folder / "text", text);
  for (const std::string options : {" --raw", " --feature line", ""}) {
    succeeds(folder, "text_to_records text out --packing zlib" + options);
    const auto records = records_of(folder / "out");
    REQUIRE(records.size() == 5);
    if (options == " --raw") {
      CHECK(records[2] == "two, three");
    } else {
      const std::string name = options.empty() ? "text" : "line";
      CHECK(std::get<0>(tf::parse_single_example(records[2], tf::FixedLen<std::string>{name})) ==
            "two, three");
    }
    succeeds(folder, "records_to_text out again" + options);
    CHECK(read(folder / "again") == text);
  }
  fs::remove(folder / "again");
  fails(folder, "records_to_text out again --feature line",
        "out: record 0: expected a feature 'line', got 'text'", "again");
  succeeds(folder, "records_to_text out empty --feature line --allow-missing");
  CHECK(read(folder / "empty") == "\n\n\n\n\n");
  // Records that are no Examples, and a file that is cut.
  succeeds(folder, "text_to_records text raw --raw");
  const Result raw = run(folder, "records_to_text raw again");
  CHECK(raw.code == 2);
  CHECK(raw.output.starts_with("records_to_text: raw: record 0: "));
  CHECK_FALSE(fs::exists(folder / "again"));
  succeeds(folder, "text_to_records text out");
  const std::string bytes = read(folder / "out");
  write(folder / "cut", bytes.substr(0, bytes.size() - 3));
  const Result cut = run(folder, "records_to_text cut again");
  CHECK(cut.code == 2);
  CHECK(cut.output.find("cut: record 4 at offset ") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "again"));
  fails(folder, "text_to_records missing again",
        "missing: cannot be opened (No such file or directory)", "again");
  fails(folder, "text_to_records text again --packing zip",
        "--packing: zip not in {plain,gzip,zlib}", "again");
  CHECK(run(folder, "text_to_records --help").code == 0);
}

TEST_CASE("tools: rows of a table become records with typed features") {
  const Folder folder;
  write(folder / "t.csv",
        "name,count,size,code,empty\n\"a, b\",3,0.5,007,\nc,-4,2,8,\n,NA,,010,\nd,5,1e-3,1,\n");
  succeeds(folder, "csv_to_records t.csv t.tfrecord --missing NA --text code");
  const auto records = records_of(folder / "t.tfrecord");
  REQUIRE(records.size() == 4);
  using Row = std::tuple<std::string, std::int64_t, float, std::string, std::string>;
  std::vector<Row> rows;
  for (const std::string& record : records) {
    rows.push_back(tf::parse_single_example(
        record, tf::FixedLen<std::string>{"name"}, tf::FixedLen<std::int64_t>{"count", -1},
        tf::FixedLen<float>{"size", -1.0f}, tf::FixedLen<std::string>{"code"},
        tf::FixedLen<std::string>{"empty"}));
  }
  CHECK(rows == std::vector<Row>{{"a, b", 3, 0.5f, "007", ""},
                                 {"c", -4, 2.0f, "8", ""},
                                 {"", -1, -1.0f, "010", ""},
                                 {"d", 5, 1e-3f, "1", ""}});
  // Columns as texts again.
  succeeds(folder, "records_to_text t.tfrecord size --feature size --allow-missing");
  CHECK(read(folder / "size") == "0.5\n2\n\n0.001\n");
  succeeds(folder, "records_to_text t.tfrecord name --feature name");
  CHECK(read(folder / "name") == "a, b\nc\n\nd\n");
  // Some columns, and another delimiter.
  write(folder / "s.csv", "a;b;a\n1;2,5;3\n");
  succeeds(folder, "csv_to_records s.csv s.tfrecord --delimiter ';' --columns b");
  const auto example = tf::decode_example(records_of(folder / "s.tfrecord").at(0));
  CHECK(example == tf::Example{{{"b", std::vector<std::string>{"2,5"}}}});

  fails(folder, "csv_to_records s.csv out --delimiter ';'",
        "s.csv: expected names of columns that differ (--columns chooses some), got one twice",
        "out");
  write(folder / "r.csv", "a,b\n1,2\n3\n");
  fails(folder, "csv_to_records r.csv out", "r.csv:3: expected 2 columns, got 1", "out");
  fails(folder, "csv_to_records r.csv out --columns c", "r.csv:1: there is no column 'c'", "out");
  write(folder / "e.csv", "");
  fails(folder, "csv_to_records e.csv out", "e.csv: expected a row, got an empty file", "out");
}

TEST_CASE("tools: scalars of event files become a table") {
  const Folder folder;
  {
    tf::EventWriter writer(folder / "logs");
    for (int step = 0; step < 5; ++step) writer.scalar("loss", 1.0 / (step + 1), step);
    writer.add(tf::Summary().text("note", "is no scalar"), 6);
    writer.scalar("a, \"b\"", -2.5, 7);
  }
  succeeds(folder, "events_to_csv logs all.csv");
  using Columns = std::tuple<double, std::int64_t, std::string, float>;
  std::vector<Columns> rows;
  for (const auto& row : tf::csv_rows<double, std::int64_t, std::string, float>(
           (folder / "all.csv").string(), {.header = true})) {
    rows.push_back(row);
  }
  REQUIRE(rows.size() == 6);
  for (int step = 0; step < 5; ++step) {
    const auto& [time, at, tag, value] = rows[static_cast<std::size_t>(step)];
    CHECK(time > 1.5e9);
    CHECK(at == step);
    CHECK(tag == "loss");
    CHECK(value == static_cast<float>(1.0 / (step + 1)));
  }
  CHECK(std::get<1>(rows[5]) == 7);
  CHECK(std::get<2>(rows[5]) == "a, \"b\"");
  CHECK(std::get<3>(rows[5]) == -2.5f);
  CHECK(tf::csv_first_row((folder / "all.csv").string()) ==
        std::vector<std::string>{"wall_time", "step", "tag", "value"});
  succeeds(folder, "events_to_csv logs one.csv --tag 'a, \"b\"'");
  const std::string one = read(folder / "one.csv");
  CHECK(std::count(one.begin(), one.end(), '\n') == 2);

  // A file that is cut in its last event.
  const fs::path file = fs::directory_iterator(folder / "logs")->path();
  const std::string bytes = read(file);
  write(folder / "cut", bytes.substr(0, bytes.size() - 1));
  const Result cut = run(folder, "events_to_csv cut out");
  CHECK(cut.code == 2);
  CHECK(cut.output.find("cut: record ") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "out"));
  succeeds(folder, "events_to_csv cut part.csv --partial");
  const std::string part = read(folder / "part.csv");
  CHECK(std::count(part.begin(), part.end(), '\n') == 6);
  CHECK(read(folder / "all.csv").starts_with(part));
  tf::TfRecordWriter writer(folder / "other");
  writer.write("no event");
  writer.finish();
  fails(folder, "events_to_csv other out", "other: record 0: expected an event, got other bytes",
        "out");
  fs::create_directory(folder / "empty");
  fails(folder, "events_to_csv empty out",
        "empty: expected event files, with 'tfevents' in their names, got none", "out");
}

TEST_CASE("tools: a full disk, no folder, what can't be read: one line, and nothing is left") {
  const Folder folder;
  make_images(folder);
  tf::Image noise = picture(40, 50, 1, 0);  // which can't be packed
  std::uint32_t state = 1;
  for (auto& pixel : noise.pixels) {
    pixel = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  }
  tf::write_png((folder / "images/dog/large.png").string(), noise);
  std::string text = "x,y\n";
  for (int i = 0; i < 500; ++i) text += std::to_string(i) + ",a line of the table\n";
  write(folder / "table", text);
  {
    tf::EventWriter writer(folder / "events");
    for (int i = 0; i < 500; ++i) writer.scalar("loss", i, i);
  }
  succeeds(folder, "images_to_records images images.tfrecord");
  succeeds(folder, "text_to_records table text.tfrecord");

  // Files can't grow beyond some 512 bytes: the shell counts in blocks.
  const std::string small = "trap '' XFSZ; ulimit -f 1;";
  for (const std::string command :
       {"images_to_records images out", "text_to_records table out",
        "text_to_records table out --raw", "records_to_text text.tfrecord out",
        "csv_to_records table out", "events_to_csv events out"}) {
    fails(folder, command, "out: cannot be written (File too large)", "out", small);
    fails(folder, command.substr(0, command.find(" out")) + " none/out",
          "none/out: cannot be written (No such file or directory)", "none");
    fails(folder, command.substr(0, command.find(" out")) + " table/out",
          "table/out: cannot be written (Not a directory)", "out");
  }
  // The name of a picture is that in the unfinished folder.
  const Result full = run(folder, "records_to_images images.tfrecord out", small);
  CHECK(full.code == 2);
  CHECK(full.output.find("cannot be written (File too large)\n") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "out"));
  fails(folder, "records_to_images images.tfrecord none/out",
        "none/out: cannot be written (No such file or directory)", "none");

  // There is nothing at address 0 of a process.
  if (fs::exists("/proc/self/mem")) {
    fs::create_directory_symlink("/proc/self/mem", folder / "images/dog/memory.png");
    fails(folder, "images_to_records images out",
          "images/dog/memory.png: cannot be read (Input/output error)", "out");
    fails(folder, "csv_to_records /proc/self/mem out", "/proc/self/mem: cannot be read", "out");
    fails(folder, "text_to_records /proc/self/mem out", "/proc/self/mem: cannot be read", "out");
  }
  for (const std::string command : {"text_to_records none out", "csv_to_records none out",
                                    "records_to_text none out", "events_to_csv none out"}) {
    fails(folder, command, "none: cannot be opened (No such file or directory)", "out");
  }
}
