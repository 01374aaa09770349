// SPDX-License-Identifier: Apache-2.0

// Profiles in files: JSON and back, damaged ones, and what other programs read.

#include <typeflow/profiler/files.hpp>

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "some_profile.hpp"
#include "support/folder.hpp"
#include "support/message_of.hpp"

namespace {

namespace tf = typeflow;

const tf::Profile profile = some_profile();

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
int count(const std::string& text, const std::string& what) {
  int number = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++number;
  return number;
}
/// The number behind `name="`, from `at` on.
double number_in(const std::string& svg, const std::string& name, std::size_t at) {
  return std::atof(svg.c_str() + svg.find(name + "=\"", at) + name.size() + 2);
}

std::string unpacked(const std::string& packed) {
  std::string out(1 << 16, '\0');
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

/// What pprof sees of a profile.
struct Pprof {
  std::vector<std::string> texts;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> types;
  struct Sample {
    std::vector<std::uint64_t> stack;
    std::vector<std::int64_t> values;
    std::map<std::uint64_t, std::uint64_t> labels;
  };
  std::vector<Sample> samples;
  struct Frame {
    std::uint64_t function = 0;
    std::int64_t line = 0;
  };
  std::map<std::uint64_t, Frame> locations;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> functions;  // name, file

  explicit Pprof(const std::string& bytes) {
    protozero::pbf_reader all(bytes);
    while (all.next()) {
      if (all.tag() == 1) {
        auto [type, unit] = numbers_of(all.get_message());
        types.emplace_back(type, unit);
      } else if (all.tag() == 2) {
        protozero::pbf_reader in = all.get_message();
        Sample sample;
        while (in.next()) {
          if (in.tag() == 1) {
            for (const std::uint64_t id : in.get_packed_uint64()) sample.stack.push_back(id);
          } else if (in.tag() == 2) {
            for (const std::int64_t value : in.get_packed_int64()) sample.values.push_back(value);
          } else {
            sample.labels.insert(numbers_of(in.get_message()));
          }
        }
        samples.push_back(sample);
      } else if (all.tag() == 4) {
        protozero::pbf_reader in = all.get_message();
        std::uint64_t id = 0;
        Frame frame;
        while (in.next()) {
          if (in.tag() == 1) {
            id = in.get_uint64();
          } else if (in.tag() == 4) {
            const auto [function, line] = numbers_of(in.get_message());
            frame = {function, static_cast<std::int64_t>(line)};
          } else {
            in.skip();
          }
        }
        locations[id] = frame;
      } else if (all.tag() == 5) {
        protozero::pbf_reader in = all.get_message();
        std::map<int, std::uint64_t> fields;
        while (in.next()) fields[static_cast<int>(in.tag())] = in.get_uint64();
        functions[fields[1]] = {fields[2], fields[4]};
      } else if (all.tag() == 6) {
        texts.push_back(all.get_string());
      } else {
        all.skip();
      }
    }
  }
  static std::pair<std::uint64_t, std::uint64_t> numbers_of(protozero::pbf_reader in) {
    std::map<int, std::uint64_t> fields;
    while (in.next()) fields[static_cast<int>(in.tag())] = in.get_uint64();
    return {fields[1], fields[2]};
  }
  /// "net/fc1/Relu@net.cpp:5<net/fc1@:0<net@:0"
  std::string stack(const Sample& sample) const {
    std::string text;
    for (const std::uint64_t id : sample.stack) {
      const Frame& frame = locations.at(id);
      const auto [name, file] = functions.at(frame.function);
      text += (text.empty() ? "" : "<") + texts.at(name) + "@" + texts.at(file) + ":" +
              std::to_string(frame.line);
    }
    return text;
  }
};

}  // namespace

TEST_CASE("a profile that was saved is loaded as it was") {
  const Folder folder;
  const std::string path = (folder / "a.json").string();
  tf::save_profile(profile, path);
  CHECK(tf::load_profile(path) == profile);
  tf::save_profile(tf::Profile{}, path);
  CHECK(tf::load_profile(path) == tf::Profile{});
}

TEST_CASE("a damaged profile is refused, with its file and field") {
  const Folder folder;
  const std::string path = (folder / "a.json").string();
  tf::save_profile(profile, path);
  const std::string right = read(path);
  const auto message_with = [&](const std::string& what, const std::string& instead) {
    std::string text = right;
    const std::size_t at = text.find(what);
    REQUIRE(at != text.npos);
    std::ofstream(path) << text.replace(at, what.size(), instead);
    return message_of([&] { tf::load_profile(path); });
  };
  const auto of = [&](const std::string& field) { return path + ", field \"" + field + "\": "; };
  CHECK(message_with("{", "[") == path + ": expected JSON of a profile, got no JSON");
  CHECK(message_with("profile 1", "profile 2") ==
        of("format") + "expected typeflow profile 1, got typeflow profile 2");
  CHECK(message_with("\"line\": 9", "\"line\": -9") ==
        of("steps[1].line") + "expected a whole number below 2147483648, got -9");
  CHECK(message_with("\"device\": 1", "\"device\": 2") ==
        of("steps[3].device") + "expected a whole number below 2, got 2");
  CHECK(message_with("\"step\": 4", "\"step\": 5") ==
        of("calls[1].step") + "expected a whole number below 5, got 5");
  CHECK(message_with("\"flops\": 4000000", "\"flops\": 4e6") ==
        of("steps[0].flops") + "expected a whole number >= 0, got 4000000.0");
  const std::string nested = std::string(400000, '[') + std::string(400000, ']');
  CHECK(message_with("\"flops\": 4000000", "\"flops\": " + nested) ==
        of("steps[0].flops") + "expected a whole number >= 0, got array");
  CHECK(message_with("\"line\": 9", "\"line\": " + nested) ==
        of("steps[1].line") + "expected a whole number below 2147483648, got array");
  CHECK(message_with("\"seconds\": 0.008", "\"seconds\": \"long\"") ==
        of("steps[0].seconds") + "expected a number, got string");
  CHECK(message_with("\"trainable\": true", "\"trainable\": 1") ==
        of("variables[0].trainable") + "expected true or false, got number");
  CHECK(message_with("\"peak_bytes\"", "\"peek\"") ==
        of("devices[0].peek") + "expected no such field, got one");
  CHECK(message_with("\"wall_seconds\": 0.0175,", "") ==
        of("wall_seconds") + "expected a value, got none");
  CHECK(message_with("\"begin\": 0.003", "\"begin\": 0.3") ==
        of("calls[1].end") + "expected a number >= begin, got 0.007");
  CHECK(message_of([&] { tf::load_profile((folder / "no").string()); }).find("cannot be opened") !=
        std::string::npos);
}

TEST_CASE("every part of a file that is cut off is refused") {
  const Folder folder;
  const std::string path = (folder / "a.json").string();
  tf::save_profile(profile, path);
  const std::string right = read(path);
  for (std::size_t size = 0; size + 3 < right.size(); size += 7) {
    std::ofstream(path) << right.substr(0, size);
    CHECK_THROWS_AS(tf::load_profile(path), tf::Error);
  }
}

TEST_CASE("a trace for Chrome has an event for each call, with flops and bytes") {
  const Folder folder;
  const std::string path = (folder / "trace.json").string();
  tf::save_chrome_trace(profile, path);
  const nlohmann::json trace = nlohmann::json::parse(read(path));
  const nlohmann::json& events = trace["traceEvents"];
  REQUIRE(events.size() == 2 + 7);
  CHECK(events[0]["args"]["name"] == "/cpu:0");
  CHECK(events[1]["tid"] == 1);
  const nlohmann::json& first = events[2];
  CHECK(first["ph"] == "X");
  CHECK(first["name"] == "net/fc1/Relu");
  CHECK(first["ts"].get<double>() == 0);
  CHECK(first["dur"].get<double>() == doctest::Approx(3000));
  CHECK(first["args"]["flops"] == 2e6);
  CHECK(first["args"]["bytes"] == 1e6);
  CHECK(first["args"]["Gflop/s"].get<double>() == doctest::Approx(2e6 / 3e-3 * 1e-9));
  CHECK(first["args"]["source"] == "net.cpp:5");
  CHECK(first["args"]["operations"] == std::vector<std::string>{"MatMul", "Add", "Relu"});
  CHECK(events[3]["name"] == "a<b>&\"c\"");
  CHECK(events[7]["tid"] == 1);
  CHECK(nlohmann::json::parse(tf::chrome_trace({}))["traceEvents"].empty());
}

TEST_CASE("pprof has a sample for each kernel, whose stack are its scopes") {
  const Folder folder;
  const std::string path = (folder / "a.pb.gz").string();
  tf::save_pprof(profile, path);
  const Pprof pprof(unpacked(read(path)));
  REQUIRE(pprof.texts[0].empty());
  REQUIRE(pprof.types.size() == 4);
  CHECK(pprof.texts[pprof.types[0].first] == "time");
  CHECK(pprof.texts[pprof.types[0].second] == "nanoseconds");
  REQUIRE(pprof.samples.size() == 4);
  CHECK(pprof.stack(pprof.samples[0]) == "net/fc1/Relu@net.cpp:5<net/fc1@:0<net@:0");
  CHECK(pprof.stack(pprof.samples[1]) == "net/While/Tanh@net.cpp:9<net/While@:0<net@:0");
  CHECK(pprof.stack(pprof.samples[2]) == "loss@net.cpp:9");
  CHECK(pprof.stack(pprof.samples[3]) == "a<b>&\"c\"@dir \\ \"x\".cpp:1");
  CHECK(pprof.samples[0].values == std::vector<std::int64_t>{8'000'000, 2, 4'000'000, 2'000'000});
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : pprof.samples[0].labels) {
    labels[pprof.texts[key]] = pprof.texts[value];
  }
  CHECK(labels["device"] == "/cpu:0");
  CHECK(labels["operation"] == "MatMul");
  CHECK(labels["operations"] == "MatMul + Add + Relu");
}

TEST_CASE("a flame graph's boxes are as wide as their time, and texts are escaped") {
  const Folder folder;
  const std::string path = (folder / "a.svg").string();
  tf::save_flame_graph(profile, path, 1600);
  const std::string svg = read(path);
  // total; net, the odd name, loss; fc1, While; Relu, Tanh. Variables take no time.
  CHECK(count(svg, "<rect ") == 8);
  CHECK(number_in(svg, "height", 0) == 4 * 18);
  const auto box = [&](const std::string& title) {
    const std::size_t at = svg.find("<title>" + title + ": ");
    REQUIRE(at != svg.npos);
    return std::pair(number_in(svg, " x", at), number_in(svg, "width", at));
  };
  CHECK(box("total") == std::pair(0.0, 1600.0));
  CHECK(box("net") == std::pair(0.0, 1100.0));
  CHECK(box("net/fc1/Relu") == std::pair(0.0, 800.0));
  CHECK(box("net/While/Tanh") == std::pair(800.0, 300.0));
  CHECK(box("a&lt;b&gt;&amp;&quot;c&quot;") == std::pair(1100.0, 400.0));
  CHECK(box("loss") == std::pair(1500.0, 100.0));
  CHECK(svg.find("MatMul + Add + Relu, net.cpp:5</title>") != svg.npos);
  CHECK(svg.find("<b>") == svg.npos);
  CHECK(count(svg, "<g>") == count(svg, "</g>"));
  CHECK(tf::flame_graph({}).ends_with("</svg>\n"));
}

TEST_CASE("a file that can't be written is an error that names it") {
  CHECK(message_of([&] {
          tf::save_profile(profile, "/no/such/folder/a.json");
        }).find("/no/such/folder/") != std::string::npos);
}
