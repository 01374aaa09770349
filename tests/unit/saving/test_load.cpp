// SPDX-License-Identifier: Apache-2.0

// Files made by hand, byte by byte, and what load() makes of them.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.hpp"
#include "typeflow/resources.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

/// A file of a header and data.
std::vector<std::byte> file_of(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::vector<std::byte> file(sizeof length + header.size() + data.size());
  std::memcpy(file.data(), &length, sizeof length);
  std::memcpy(file.data() + sizeof length, header.data(), header.size());
  if (!data.empty()) std::memcpy(&file[sizeof length + header.size()], data.data(), data.size());
  return file;
}

/// What load() says of a file for this store; empty if it takes it.
std::string refusal(tf::Variables& variables, const std::vector<std::byte>& file,
                    const tf::LoadOptions& options = {}) {
  try {
    load(variables, file, options);
  } catch (const tf::Error& error) {
    return error.what();
  }
  return "";
}
std::string refusal(std::string_view header, std::string_view data) {
  tf::Variables variables;
  const std::string what = refusal(variables, file_of(header, data));
  CHECK((what.empty() || variables.names().empty()));
  return what;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

void check_refused(std::string_view header, std::string_view data, std::string_view part) {
  const std::string what = refusal(header, data);
  INFO(header);
  INFO(what);
  CHECK(has(what, part));
}

// Little-endian: 1.0f, -2.0f, and the int16 258.
constexpr std::string_view one_and_minus_two("\0\0\x80\x3f\0\0\0\xc0", 8);
constexpr std::string_view two_tensors =
    R"({"__metadata__":{"a":"b","typeflow.draws":"18446744073709551615"},)"
    R"("fc/W":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
    R"("n":{"shape":[],"data_offsets":[8,10],"dtype":"I16"}}   )";

}  // namespace

TEST_CASE("an empty store gets the variables of a file, its draws, and its metadata") {
  tf::Variables variables;
  const auto file = file_of(two_tensors, std::string(one_and_minus_two) + "\x02\x01");
  const tf::Metadata metadata = load(variables, file);
  CHECK(variables.names() == std::vector<std::string>{"fc/W", "n"});
  CHECK(variables.dims("fc/W") == tf::Dims{2, {1, 2}});
  CHECK(variables.get<float>("fc/W")[0] == 1);
  CHECK(variables.get<float>("fc/W")[1] == -2);
  CHECK(variables.dims("n").rank == 0);
  CHECK(variables.get<std::int16_t>("n")[0] == 258);
  CHECK(variables.draws() == UINT64_MAX);
  CHECK(metadata.find("a")->second == "b");
}

TEST_CASE("what is no safetensors file is refused") {
  constexpr std::string_view w = R"({"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  CHECK(refusal(w, "ab").empty());
  CHECK(refusal("{}", "").empty());
  check_refused(w, "a", "is not within the file's 1 bytes of data, but at 0 to 2");
  check_refused(w, "abc", "1 bytes after its last tensor");
  check_refused("", "", "does not begin with '{'");
  check_refused("\xef\xbb\xbf{}", "", "does not begin with '{'");
  check_refused(std::string_view("{}\0{", 4), "", "zero");
  check_refused("{} {}", "", "no JSON");
  check_refused("{", "", "no JSON");
  check_refused(R"({"w)", "", "no JSON");
  check_refused(R"({"w":3})", "", "a number where the format has something else");
  check_refused(R"({"w":[]})", "", "a list where");
  check_refused(R"({"w":{}})", "", "lacks its dtype");
  check_refused(R"({"w":{"dtype":"U8","shape":[2]}})", "ab", "lacks its dtype");
  check_refused(R"({"w":{"dtype":{}}})", "", "an object where");
  check_refused(R"({"w":{"shape":"2"}})", "", "a text where");
  check_refused(R"({"w":{"shape":[[2]]}})", "", "a list where");
  check_refused(R"({"w":{"shape":[-2]}})", "", "a negative number where");
  check_refused(R"({"w":{"shape":[2.0]}})", "", "a fraction where");
  check_refused(R"({"w":{"shape":[18446744073709551616]}})", "",
                "a number of more than 64 bits where");
  check_refused(R"({"w":{"shape":[null]}})", "", "null where");
  check_refused(R"({"w":{"shape":[true]}})", "", "a boolean where");
  check_refused(R"({"w":{"data_offsets":[0,1,2]}})", "", "not two numbers");
  check_refused(R"({"w":{"dtype":"U9"}})", "", "'U9', a type that is not known");
  check_refused(R"({"w":{"color":"red"}})", "", "the unknown property 'color'");
  check_refused(R"({"w":{"dtype":"U8","dtype":"U8"}})", "", "its dtype twice");
  check_refused(R"({"__metadata__":{"a":"b","a":"c"}})", "", "'a' twice");
  check_refused(R"({"__metadata__":{"a":"b"},"__metadata__":{}})", "", "'__metadata__' twice");
  check_refused(R"({"__metadata__":{"a":{}}})", "", "an object where");
  check_refused(R"({"__metadata__":{"a":1}})", "", "a number where");
  check_refused(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                "ab", "'w' twice");
  check_refused("{\"\xff\":{}}", "", "no JSON");  // no UTF-8
  CHECK(has(refusal(std::string("{\"w\":{\"shape\":[1") + std::string(100, ',') + "]}}", ""),
            "no JSON"));
}

TEST_CASE("headers that lie about sizes and places are refused") {
  const auto header = [](std::string_view type, std::string_view shape, std::string_view offsets) {
    return "{\"w\":{\"dtype\":\"" + std::string(type) + "\",\"shape\":[" + std::string(shape) +
           "],\"data_offsets\":[" + std::string(offsets) + "]}}";
  };
  CHECK(refusal(header("F32", "2", "0,8"), one_and_minus_two).empty());
  check_refused(header("F64", "2", "0,8"), one_and_minus_two, "need 16");
  check_refused(header("F32", "3", "0,8"), one_and_minus_two, "has 8 bytes, while");
  check_refused(header("F32", "2", "8,0"), one_and_minus_two, "at 8 to 0");
  check_refused(header("F32", "1", "4,8"), one_and_minus_two, "bytes that belong to none");
  check_refused(header("F32", "1", "0,4"), one_and_minus_two, "4 bytes after its last tensor");
  check_refused(header("F32", "2", "18446744073709551608,0"), one_and_minus_two, "not within");
  check_refused(header("U8", "4294967296,4294967296", "0,0"), "", "63 bits");
  check_refused(header("U8", "18446744073709551615", "0,0"), "", "63 bits");
  check_refused(header("F64", "2305843009213693952", "0,0"), "", "63 bits");
  check_refused(header("U8", "4294967296,4294967296,0", "0,0"), "", "63 bits");
  check_refused(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                "abc", "'w' overlaps another");

  tf::Variables variables;
  auto huge = file_of("{}", "");
  const std::uint64_t two_gigabytes = std::uint64_t{2} << 30;
  std::memcpy(huge.data(), &two_gigabytes, sizeof two_gigabytes);
  CHECK(has(refusal(variables, huge), "2147483648 bytes, more than the format allows"));
  const std::uint64_t three = 3;
  std::memcpy(huge.data(), &three, sizeof three);
  CHECK(has(refusal(variables, huge), "3 bytes, where 2 follow"));
  huge.resize(7);
  CHECK(has(refusal(variables, huge), "it has 7 bytes"));
}

TEST_CASE("lists nested deep, and long ones, end in an Error") {
  const std::string deep(1'000'000, '[');
  CHECK(has(refusal("{\"w\":" + deep, ""), "a list where"));
  std::string many = "{\"w\":{\"dtype\":\"U8\",\"shape\":[1";
  for (int i = 0; i < 1000; ++i) many += ",1";
  CHECK(has(refusal(many + "],\"data_offsets\":[0,1]}}", "a"), "so many numbers"));
}

TEST_CASE("what a variable can't hold is refused, and passed over where it is not asked for") {
  constexpr std::string_view header =
      R"({"bits":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]},)"
      R"("deep":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[2,3]},)"
      R"("small":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[3,4]}})";
  tf::Variables variables;
  const auto file = file_of(header, std::string_view("\1\2cd", 4));
  const std::string what = refusal(variables, file);
  INFO(what);
  CHECK(has(what, "'bits' has booleans that are neither 0 nor 1"));
  CHECK(has(what, "no variable can hold the tensor U8 with 9 axes 'deep'"));
  CHECK(has(what, "no variable can hold the tensor F8_E4M3 with 1 axes 'small'"));
  CHECK(variables.names().empty());
  const auto only_bits = [](std::string_view name) { return name == "bits"; };
  load(variables, file_of(header, std::string_view("\1\0cd", 4)), {.only = only_bits});
  CHECK(variables.names() == std::vector<std::string>{"bits"});
  CHECK(variables.get<bool>("bits")[0]);
  load(variables, file_of(header, std::string_view("\0\1cd", 4)), {.partial = true});
  CHECK(variables.get<bool>("bits")[1]);
  tf::Variables empty;
  load(empty, file_of(header, std::string_view("\1\0cd", 4)), {.partial = true});
  CHECK(empty.names() == std::vector<std::string>{"bits"});
  const std::uint8_t small = 0;
  variables.set<std::uint8_t>("small", std::span(&small, 1), {1, {1}});
  CHECK(has(refusal(variables, file_of(header, std::string_view("\1\0cd", 4)), {.partial = true}),
            "no variable can hold the tensor F8_E4M3"));
}

TEST_CASE("a tensor of the name of a resource is refused before the store is changed") {
  tf::Variables variables;
  constexpr auto model = [](tf::Graph& g) { next(tf::counter(g, "b")).named("count"); };
  const tf::Session<model> session(variables);
  const auto file = file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                            "ab");
  CHECK(has(refusal(variables, file),
            "does not fit the store: the store has a resource of the name 'b'"));
  CHECK(variables.names().empty());
  load(variables, file, {.partial = true});
  CHECK(variables.names() == std::vector<std::string>{"a"});
}

namespace {

/// An object whose state is a text, which may refuse one.
struct Note {
  std::string text;
  bool refuses = false;
  std::string state() const { return text; }
  void restore(std::string_view to) {
    if (refuses) throw tf::Error("Note", "refused");
    text = to;
  }
};
/// A sampler that may fail to find its data.
struct Pages {
  std::int64_t page = 0;
  bool fails = false;
  std::int64_t taken() const { return page; }
  void seek(std::int64_t to) {
    if (fails) throw tf::Error("Pages", "are gone");
    page = to;
  }
};

}  // namespace

TEST_CASE("nothing is restored if an object refuses its state or a sampler its position") {
  const Folder folder;
  Note first{"saved"}, second{"saved"};
  Pages pages{3}, others{4};
  tf::Extras extras;
  extras.add("first", first);
  extras.add("second", second);
  extras.add("pages", pages);
  extras.add("others", others);
  tf::Variables variables;
  variables.set<float>("w", std::vector<float>{1}, {1, {1}});
  save(variables, folder / "file", {.extras = &extras});

  SUBCASE("an object") { second.refuses = true; }
  SUBCASE("a sampler") { others.fails = true; }
  first.text = second.text = "now";
  pages.page = others.page = 9;
  variables.set<float>("w", std::vector<float>{2}, {1, {1}});
  CHECK_THROWS_AS(load(variables, folder / "file", {.extras = &extras}), tf::Error);
  CHECK(first.text == "now");
  CHECK(second.text == "now");
  CHECK(pages.page == 9);
  CHECK(others.page == 9);
  CHECK(variables.get<float>("w")[0] == 2);

  second.refuses = others.fails = false;
  load(variables, folder / "file", {.extras = &extras});
  CHECK(first.text == "saved");
  CHECK(others.page == 4);
  CHECK(variables.get<float>("w")[0] == 1);
}

TEST_CASE("elements of 4 and 6 bits are passed over; they must fill whole bytes") {
  constexpr std::string_view header =
      R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
      R"("four":{"dtype":"F4","shape":[3,2],"data_offsets":[1,4]},)"
      R"("six":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[4,7]},)"
      R"("eight":{"dtype":"F8_E4M3FNUZ","shape":[1],"data_offsets":[7,8]}})";
  tf::Variables variables;
  load(variables, file_of(header, "abcdefgh"), {.partial = true});
  CHECK(variables.names() == std::vector<std::string>{"w"});
  CHECK(has(refusal(R"({"w":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", "a"),
            "tensor 'w' has 12 bits, which are no whole bytes"));
}

namespace {

/// a: two bytes, b: one, c: one.
const std::vector<std::byte>& letters() {
  static const std::vector<std::byte> file =
      file_of(R"({"__metadata__":{"typeflow.draws":"7"},)"
              R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
              R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
              R"("c":{"dtype":"U8","shape":[],"data_offsets":[3,4]}})",
              "\1\2\3\4");
  return file;
}
void set(tf::Variables& variables, std::string_view name, std::vector<std::uint8_t> values) {
  variables.set<std::uint8_t>(name, values, {1, {static_cast<tf::Extent>(values.size())}});
}
std::uint8_t first(const tf::Variables& variables, std::string_view name) {
  return variables.get<std::uint8_t>(name)[0];
}

}  // namespace

TEST_CASE(
    "a file that does not fit is refused with all that does not, and the store is as it was") {
  tf::Variables variables;
  set(variables, "a", {9, 9});
  set(variables, "b", {9, 9});
  set(variables, "d", {9});
  variables.set_draws(3);
  const std::string what = refusal(variables, letters());
  INFO(what);
  CHECK(has(what, "variable 'b': expected uint8 [2], got uint8 [1]"));
  CHECK(has(what, "the store has no variable 'c' for the tensor uint8 [] 'c'"));
  CHECK(has(what, "it has no tensor 'd' for the variable uint8 [1] 'd'"));
  for (const char* const name : {"a", "b", "d"}) CHECK(first(variables, name) == 9);
  CHECK(variables.names().size() == 3);
  CHECK(variables.draws() == 3);
  CHECK(has(refusal(variables, letters(), {.partial = true}), "variable 'b': expected"));
  CHECK(first(variables, "a") == 9);

  tf::Variables many;
  for (char name = 'k'; name <= 'u'; ++name) set(many, std::string(1, name), {0});
  CHECK(has(refusal(many, letters()), "; and 6 more"));
}

TEST_CASE("a partial load restores what file and store share") {
  tf::Variables variables;
  set(variables, "a", {9, 9});
  set(variables, "d", {9});
  variables.set_draws(3);
  load(variables, letters(), {.partial = true});
  CHECK(first(variables, "a") == 1);
  CHECK(first(variables, "d") == 9);
  CHECK(variables.names() == std::vector<std::string>{"a", "d"});
  CHECK(variables.draws() == 3);

  tf::Variables strangers;
  set(strangers, "x", {9});
  CHECK(has(refusal(strangers, letters(), {.partial = true}), "it has none of the variables"));
}

TEST_CASE("a load of some variables leaves the others, and asks for those") {
  tf::Variables variables;
  set(variables, "a", {9, 9});
  set(variables, "b", {9});
  set(variables, "d", {9});
  load(variables, letters(), {.only = [](std::string_view name) { return name == "b"; }});
  CHECK(first(variables, "a") == 9);
  CHECK(first(variables, "b") == 3);
  CHECK(
      has(refusal(variables, letters(), {.only = [](std::string_view name) { return name > "a"; }}),
          "'d' for the variable"));
}

TEST_CASE("variables take the values of tensors of other names") {
  tf::Variables variables;
  set(variables, "a", {9, 9});
  set(variables, "b", {9});
  load(variables, letters(), {.partial = true, .names = {{"a", "a"}, {"b", "b"}}});
  set(variables, "b", {9});
  // An average into its variable: the tensor of the variable's own name is not needed.
  tf::Variables averages;
  load(averages,
       file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
               R"("w/average":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
               "\1\2"),
       {.names = {{"w", "w/average"}}});
  CHECK(averages.names() == std::vector<std::string>{"w"});
  CHECK(first(averages, "w") == 2);
  // What is named must be there, in a partial load too.
  CHECK(has(refusal(variables, letters(), {.partial = true, .names = {{"b", "x"}}}),
            "it has no tensor 'x' for the variable uint8 [1] 'b'"));
  CHECK(has(refusal(variables, letters(), {.partial = true, .names = {{"x", "b"}}}),
            "the store has no variable 'x' for the tensor uint8 [1] 'b'"));
  CHECK(first(variables, "b") == 9);
}

TEST_CASE("a draw counter that is no number is refused") {
  tf::Variables variables;
  for (const char* const text : {"", "x", "-1", "1x", "18446744073709551616"}) {
    const std::string header =
        "{\"__metadata__\":{\"typeflow.draws\":\"" + std::string(text) + "\"}}";
    CHECK(has(refusal(variables, file_of(header, "")), "which is no number"));
  }
}
