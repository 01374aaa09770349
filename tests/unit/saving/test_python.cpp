// SPDX-License-Identifier: Apache-2.0

// Python's safetensors package reads our files, and we read its. The environment variable
// TYPEFLOW_PYTHON names an interpreter that has the package and numpy; otherwise it is python3.

#include <doctest/doctest.h>

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "support/folder.hpp"
#include "typeflow/saving.hpp"
#include "typeflow/typeflow.hpp"

namespace tf = typeflow;

namespace {

constexpr const char* script = R"(
import sys
import numpy as np
import safetensors
from safetensors.numpy import load_file, save_file

folder = sys.argv[1]
ours = load_file(folder + "/ours")
for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split():
    x = ours[name]
    assert x.dtype == name and x.shape == (2, 3), name
    assert np.array_equal(x, np.arange(6).reshape(2, 3).astype(name)), name
assert ours["bool"].dtype == bool and list(ours["bool"]) == [True, False]
assert ours["scope/scalar"].shape == () and ours["scope/scalar"] == 0.1
assert ours["empty"].shape == (2, 0, 3)
# numpy has no bfloat16.
with open(folder + "/more", "rb") as file:
    raw = {name: tensor for name, tensor in safetensors.deserialize(file.read())}
assert raw["bfloat16"]["dtype"] == "BF16" and bytes(raw["bfloat16"]["data"]) == b"\xc0\x3f"
assert raw["complex"]["dtype"] == "C64"
assert np.array_equal(np.frombuffer(raw["complex"]["data"], np.complex64), [1 + 2j])
with safetensors.safe_open(folder + "/ours", "np") as file:
    assert file.metadata()["typeflow.model"] == "mlp", file.metadata()

by_operation = load_file(folder + "/by_operation")
assert set(by_operation) == {"fc/W", "step"}
assert by_operation["fc/W"].dtype == np.float32
assert np.array_equal(by_operation["fc/W"], np.full((2, 3), 1.5, np.float32))
assert by_operation["step"] == 7 and by_operation["step"].dtype == np.int64

theirs = {name: np.arange(6).reshape(2, 3).astype(name) for name in
          "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()}
theirs["bool"] = np.array([True, False])
theirs["caf\u00e9 \"x\""] = np.array(0.1)
theirs["empty"] = np.zeros((2, 0, 3), np.float32)
save_file(theirs, folder + "/theirs", metadata={"from": "Python"})
with safetensors.safe_open(folder + "/ours", "np") as file:
    save_file(load_file(folder + "/ours"), folder + "/copied", metadata=file.metadata())
)";

template <class T>
void set_counting(tf::Variables& variables, const char* name) {
  std::vector<T> values;
  for (int i = 0; i < 6; ++i) values.push_back(static_cast<T>(i));
  variables.set<T>(name, values, {2, {2, 3}});
}
template <class T>
void check_counting(const tf::Variables& variables, const char* name) {
  CHECK(variables.dims(name) == tf::Dims{2, {2, 3}});
  const auto values = variables.get<T>(name);
  for (std::size_t i = 0; i < 6; ++i) CHECK(values[i] == static_cast<T>(static_cast<int>(i)));
}

constexpr void operations(tf::Graph& g) {
  auto path = placeholder<std::string_view>(g, "path");
  const auto W = [&] {
    tf::Scope in(g, "fc");
    return variable<float, 2, 3>(g, "W", tf::filled(1.5));
  }();
  auto step = variable<std::int64_t>(g, "step", tf::filled(7));
  save_variables(path, {W, step}).named("save");
  restore_tensor<double, 2, 3>(path, "float64").named("float64");
}

}  // namespace

TEST_CASE("Python's safetensors package reads our files, and we read its") {
  const char* const chosen = std::getenv("TYPEFLOW_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  if (std::system((python + " -c 'import numpy, safetensors' 2> /dev/null").c_str()) != 0) {
    MESSAGE("skipped: ", python,
            " has no numpy or safetensors; set TYPEFLOW_PYTHON to one that has");
    return;
  }
  const Folder folder;
  tf::Variables ours;
  set_counting<std::int8_t>(ours, "int8");
  set_counting<std::int16_t>(ours, "int16");
  set_counting<std::int32_t>(ours, "int32");
  set_counting<std::int64_t>(ours, "int64");
  set_counting<std::uint8_t>(ours, "uint8");
  set_counting<std::uint16_t>(ours, "uint16");
  set_counting<std::uint32_t>(ours, "uint32");
  set_counting<std::uint64_t>(ours, "uint64");
  set_counting<tf::float16>(ours, "float16");
  set_counting<float>(ours, "float32");
  set_counting<double>(ours, "float64");
  const bool bits[] = {true, false};
  ours.set<bool>("bool", bits, {1, {2}});
  ours.set<double>("scope/scalar", std::vector{0.1}, {0, {}});
  ours.set<float>("empty", std::vector<float>{}, {3, {2, 0, 3}});
  save(ours, folder / "ours", {.model = "mlp"});
  tf::Variables more;
  more.set<tf::bfloat16>("bfloat16", std::vector{tf::bfloat16(1.5f)}, {1, {1}});
  more.set<std::complex<float>>("complex", std::vector<std::complex<float>>{{1, 2}}, {1, {1}});
  save(more, folder / "more");

  tf::Variables made;
  tf::Session<operations> session(made);
  session.run<"save">(tf::feed<"path">(std::string_view((folder / "by_operation").string())));

  std::ofstream(folder / "script.py") << script;
  const std::string command =
      python + " '" + (folder / "script.py").string() + "' '" + folder.path().string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);

  tf::Variables theirs;
  CHECK(load(theirs, folder / "theirs").find("from")->second == "Python");
  check_counting<std::int8_t>(theirs, "int8");
  check_counting<std::int16_t>(theirs, "int16");
  check_counting<std::int32_t>(theirs, "int32");
  check_counting<std::int64_t>(theirs, "int64");
  check_counting<std::uint8_t>(theirs, "uint8");
  check_counting<std::uint16_t>(theirs, "uint16");
  check_counting<std::uint32_t>(theirs, "uint32");
  check_counting<std::uint64_t>(theirs, "uint64");
  check_counting<tf::float16>(theirs, "float16");
  check_counting<float>(theirs, "float32");
  check_counting<double>(theirs, "float64");
  CHECK(theirs.get<bool>("bool")[0]);
  CHECK_FALSE(theirs.get<bool>("bool")[1]);
  CHECK(theirs.get<double>("caf\xc3\xa9 \"x\"")[0] == 0.1);
  CHECK(theirs.dims("empty") == tf::Dims{3, {2, 0, 3}});
  CHECK(theirs.names().size() == 14);
  const std::string path = (folder / "theirs").string();
  CHECK(session.run<"float64">(tf::feed<"path">(std::string_view(path)))(1, 2) == 5);

  // A program that writes our metadata into another file has to leave out the checksum.
  tf::Variables copied;
  CHECK_THROWS_WITH_AS(load(copied, folder / "copied"),
                       doctest::Contains("must leave out the metadata 'typeflow.crc32'"),
                       tf::Error);
  load(copied, folder / "copied", {.checksum = false});
  check_counting<double>(copied, "float64");
}
