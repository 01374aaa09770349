// SPDX-License-Identifier: Apache-2.0

// Names of devices: the spellings, merging, printing, and what is refused.

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include <typeflow/core/device_name.hpp>

namespace {

namespace tf = typeflow;
using tf::DeviceKind;
using tf::DeviceName;
using tf::DeviceSpelling;

constexpr int any = DeviceName::any_number;

constexpr DeviceName first_cpu{"localhost", 0, 0, DeviceKind::cpu, 0};

/// "expected ... at position N", without the text that was read.
std::string mistake(std::string_view text) {
  const tf::ParsedDeviceName parsed = tf::parse_device_name(text);
  REQUIRE_FALSE(parsed.ok());
  return std::string(parsed.wrong) + " @ " + std::to_string(parsed.position);
}

std::vector<DeviceName> combinations() {
  std::vector<DeviceName> names;
  for (const char* job : {"", "localhost", "worker", "ps_2"}) {
    for (const int replica : {any, 0, 7}) {
      for (const int task : {any, 0, 17}) {
        for (const DeviceKind kind : {DeviceKind::any, DeviceKind::cpu, DeviceKind::gpu}) {
          for (const int index : {any, 0, 3, 999'999'999}) {
            names.push_back({job, replica, task, kind, index});
          }
        }
      }
    }
  }
  return names;
}

}  // namespace

// The four spellings, in constants.
static_assert(tf::device_name("/job:localhost/device:cpu:0") ==
              DeviceName{"localhost", any, any, DeviceKind::cpu, 0});
static_assert(tf::device_name("/job:worker/task:17/device:gpu:3") ==
              DeviceName{"worker", any, 17, DeviceKind::gpu, 3});
static_assert(tf::device_name("/cpu:0") == DeviceName{"", any, any, DeviceKind::cpu, 0});
static_assert(tf::device_name("/gpu:12") == DeviceName{"", any, any, DeviceKind::gpu, 12});
static_assert(tf::device_name("/job:localhost/replica:0/task:0/gpu:0") ==
              DeviceName{"localhost", 0, 0, DeviceKind::gpu, 0});

TEST_CASE("names are read in each of TensorFlow's spellings") {
  CHECK(tf::device_name("/device:CPU:0") == DeviceName{"", any, any, DeviceKind::cpu, 0});
  CHECK(tf::device_name("/device:Gpu:4") == DeviceName{"", any, any, DeviceKind::gpu, 4});
  CHECK(tf::device_name("/GPU:1") == DeviceName{"", any, any, DeviceKind::gpu, 1});
  CHECK(tf::device_name("/task:2/job:ps/gpu:0/replica:1") ==
        DeviceName{"ps", 1, 2, DeviceKind::gpu, 0});
  CHECK(tf::device_name("") == DeviceName{});
  CHECK(tf::device_name("/job:*/replica:*/task:*/device:*:*") == DeviceName{});
  CHECK(tf::device_name("/device:GPU") == DeviceName{"", any, any, DeviceKind::gpu, any});
  CHECK(tf::device_name("/cpu:*") == DeviceName{"", any, any, DeviceKind::cpu, any});
}

TEST_CASE("what is printed is read back, for all combinations of parts and spellings") {
  int count = 0;
  for (const DeviceName& name : combinations()) {
    for (const DeviceSpelling spelling :
         {DeviceSpelling::brief, DeviceSpelling::lower, DeviceSpelling::tensorflow}) {
      const std::string text = to_string(name, spelling);
      CAPTURE(text);
      const tf::ParsedDeviceName parsed = tf::parse_device_name(text);
      REQUIRE(parsed.ok());
      REQUIRE(parsed.name == name);
      ++count;
    }
  }
  CHECK(count == 4 * 3 * 3 * 3 * 4 * 3);
  CHECK(to_string(first_cpu) == "/job:localhost/replica:0/task:0/cpu:0");
  CHECK(to_string(first_cpu, DeviceSpelling::lower) ==
        "/job:localhost/replica:0/task:0/device:cpu:0");
  CHECK(to_string({"worker", any, 17, DeviceKind::gpu, 3}, DeviceSpelling::tensorflow) ==
        "/job:worker/task:17/device:GPU:3");
  CHECK(to_string(tf::local_name(tf::gpu(2))) == "/job:localhost/replica:0/task:0/gpu:2");
}

TEST_CASE("partial names merge from the inside out") {
  const auto merged = [](const char* inner, const char* outer) {
    return to_string(tf::merge(tf::device_name(inner), tf::device_name(outer)));
  };
  CHECK(merged("/gpu:1", "/job:worker") == "/job:worker/gpu:1");
  CHECK(merged("/task:1", "/job:worker/gpu:3") == "/job:worker/task:1/gpu:3");
  CHECK(merged("/job:ps/task:0", "/job:worker/task:1/gpu:3") == "/job:ps/task:0/gpu:3");
  CHECK(merged("/cpu:0", "/job:worker/gpu:3") == "/job:worker/cpu:0");
  CHECK(merged("/gpu:*", "/cpu:2") == "/gpu:2");
  CHECK(merged("", "/gpu:1") == "/gpu:1");
  CHECK(merged("/gpu:1", "") == "/gpu:1");
  // The rule, part by part, for all pairs.
  const auto part = [](auto inner, auto outer, auto open) { return inner == open ? outer : inner; };
  const std::vector<DeviceName> names = combinations();
  for (std::size_t i = 0; i < names.size(); i += 5) {
    for (std::size_t k = 0; k < names.size(); k += 7) {
      const DeviceName& a = names[i];
      const DeviceName& b = names[k];
      const DeviceName expected{a.job.empty() ? b.job : a.job, part(a.replica, b.replica, any),
                                part(a.task, b.task, any), part(a.kind, b.kind, DeviceKind::any),
                                part(a.index, b.index, any)};
      REQUIRE(tf::merge(a, b) == expected);
    }
  }
}

TEST_CASE("a name fits the devices that have its parts") {
  const auto fits = [](const char* wanted) { return tf::fits(tf::device_name(wanted), first_cpu); };
  CHECK(fits(""));
  CHECK(fits("/cpu:0"));
  CHECK(fits("/device:CPU:*"));
  CHECK(fits("/job:localhost"));
  CHECK(fits("/job:localhost/replica:0/task:0/cpu:0"));
  CHECK_FALSE(fits("/cpu:1"));
  CHECK_FALSE(fits("/gpu:0"));
  CHECK_FALSE(fits("/job:worker"));
  CHECK_FALSE(fits("/task:1"));
  CHECK_FALSE(fits("/replica:1"));
}

TEST_CASE("bad names are refused with the reason and its position") {
  const char* const part = "/job:NAME, /replica:N, /task:N, /device:KIND:N, /cpu:N or /gpu:N";
  CHECK(mistake("gpu:0") == std::string(part) + " @ 0");
  CHECK(mistake("/gpx:1") == std::string(part) + " @ 0");
  CHECK(mistake("/cpu:0/") == std::string(part) + " @ 6");
  CHECK(mistake("/job:worker/taks:1") == std::string(part) + " @ 11");
  CHECK(mistake("/gpu") == "':' and the device's number @ 4");
  CHECK(mistake("/gpu:") == "the device's number, or * @ 5");
  CHECK(mistake("/gpu:-1") == "the device's number, or * @ 5");
  CHECK(mistake("/gpu:x") == "the device's number, or * @ 5");
  CHECK(mistake("/gpu:1x") == "'/' or the end @ 6");
  CHECK(mistake("/gpu:1 ") == "'/' or the end @ 6");
  CHECK(mistake("/gpu:99999999999999999999") == "a number below 1000000000 @ 5");
  CHECK(mistake("/device:tpu:0") == "cpu, gpu or * @ 8");
  CHECK(mistake("/device:gpu2:0") == "cpu, gpu or * @ 8");
  CHECK(mistake("/device:gpu:") == "the device's number, or * @ 12");
  CHECK(mistake("/job:") == "a job's name, which begins with a letter, or * @ 5");
  CHECK(mistake("/job:2nd") == "a job's name, which begins with a letter, or * @ 5");
  CHECK(mistake("/job:a-b") == "'/' or the end @ 6");
  CHECK(mistake("/job:" + std::string(32, 'a')) == "a job's name of at most 31 characters @ 5");
  CHECK(mistake("/task:one") == "the task's number, or * @ 6");
  CHECK(mistake("/replica:") == "the replica's number, or * @ 9");
  CHECK(mistake("/job:a/job:b") == "no second job @ 6");
  CHECK(mistake("/task:1/task:1") == "no second task @ 7");
  CHECK(mistake("/replica:1/replica:2") == "no second replica @ 10");
  CHECK(mistake("/cpu:0/gpu:0") == "no second device @ 6");
  CHECK(mistake("/cpu:0/device:gpu:0") == "no second device @ 6");
  CHECK_THROWS_WITH_AS(tf::device_name("/device:tpu:0"),
                       "device name \"/device:tpu:0\": expected cpu, gpu or * at position 8",
                       tf::Error);
}
