// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/core/processor.hpp"
#include "typeflow/cpu/product_loops.hpp"
#include "typeflow/saving/cost_models.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

#define TYPEFLOW_ISA_TEXT_OF(target) #target
#define TYPEFLOW_ISA_TEXT(target) TYPEFLOW_ISA_TEXT_OF(target)
inline constexpr std::string_view isa_text = TYPEFLOW_ISA_TEXT(TYPEFLOW_ISA);
#undef TYPEFLOW_ISA_TEXT
#undef TYPEFLOW_ISA_TEXT_OF

/// Reads the JSON of a cost model, and names the field of each mistake.
class CostModelReader {
  using Json = nlohmann::json;

 public:
  explicit CostModelReader(const std::string& path) : path_(path) {}

  /// `machine`: where the text of the field "machine" goes.
  TYPEFLOW_COLD exec::CostModel read(std::string* machine = nullptr) const {
    const Json json = Json::parse(text_of_file(path_), nullptr, false);
    if (json.is_discarded()) throw Error(path_, "JSON of a cost model", "no JSON");
    check_fields(json, "", {"format", "machine", "rates", "link", "iterations", "steps"});
    if (string(json, "", "format") != format) {
      refuse("format", std::string(format), string(json, "", "format"));
    }
    if (machine != nullptr) *machine = string(json, "", "machine");
    exec::CostModel model;
    const Json& rates = field(json, "", "rates");
    check_fields(rates, "rates.", {"flops_per_second", "bytes_per_second", "launch_seconds"});
    model.rates.flops_per_second = number(rates, "rates.", "flops_per_second", true);
    model.rates.bytes_per_second = number(rates, "rates.", "bytes_per_second", true);
    model.rates.launch_seconds = number(rates, "rates.", "launch_seconds", false);
    const Json& link = field(json, "", "link");
    check_fields(link, "link.", {"latency", "bytes_per_second"});
    model.link.latency = number(link, "link.", "latency", false);
    model.link.bytes_per_second = number(link, "link.", "bytes_per_second", true);
    model.iterations = whole(json, "", "iterations", 0);
    const Json& steps = field(json, "", "steps");
    if (!steps.is_array()) refuse("steps", "a list", steps.type_name());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string at = "steps[" + std::to_string(i) + "].";
      check_fields(steps[i], at, {"step", "device", "seconds", "samples"});
      auto& times = model.measured[string(steps[i], at, "step")];
      const std::string device = string(steps[i], at, "device");
      const exec::MeasuredTime time{number(steps[i], at, "seconds", false),
                                    whole(steps[i], at, "samples", 1)};
      if (!times.try_emplace(device, time).second) {
        refuse(at + "device", "a step once for each device", "\"" + device + "\" twice");
      }
    }
    return model;
  }

  static constexpr std::string_view format = "typeflow cost model 1";

 private:
  [[noreturn]] TYPEFLOW_COLD void refuse(const std::string& field, const std::string& expected,
                                         const std::string& got) const {
    throw Error(path_ + ", field \"" + field + "\"", expected, got);
  }
  TYPEFLOW_COLD void check_fields(const Json& json, const std::string& at,
                                  std::initializer_list<std::string_view> known) const {
    if (!json.is_object()) {
      refuse(at.empty() ? "" : at.substr(0, at.size() - 1), "an object", json.type_name());
    }
    for (const auto& [name, value] : json.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        refuse(at + name, "no such field", "one");
      }
    }
  }
  TYPEFLOW_COLD const Json& field(const Json& json, const std::string& at, const char* name) const {
    const auto found = json.find(name);
    if (found == json.end()) refuse(at + name, "a value", "none");
    return *found;
  }
  TYPEFLOW_COLD std::string string(const Json& json, const std::string& at,
                                   const char* name) const {
    const Json& value = field(json, at, name);
    if (!value.is_string()) refuse(at + name, "a text", value.type_name());
    return value.get<std::string>();
  }
  TYPEFLOW_COLD double number(const Json& json, const std::string& at, const char* name,
                              bool positive) const {
    const Json& value = field(json, at, name);
    if (!value.is_number()) refuse(at + name, "a number", value.type_name());
    const double x = value.get<double>();
    if (!(x < 1e300) || x < 0 || (positive && x == 0)) {
      refuse(at + name, positive ? "a number > 0" : "a number >= 0", value.dump());
    }
    return x;
  }
  /// A value for messages. (Writing a list writes those in it, to any depth, with a call for each.)
  TYPEFLOW_COLD static std::string shown(const Json& value) {
    return value.is_structured() ? value.type_name() : value.dump();
  }
  TYPEFLOW_COLD std::int64_t whole(const Json& json, const std::string& at, const char* name,
                                   std::int64_t least) const {
    const Json& value = field(json, at, name);
    const bool fits = value.is_number_unsigned() &&
                      value.get<std::uint64_t>() <= std::uint64_t{1} << 62 &&
                      value.get<std::int64_t>() >= least;
    if (!fits) refuse(at + name, "a whole number >= " + std::to_string(least), shown(value));
    return value.get<std::int64_t>();
  }

  const std::string& path_;
};

TYPEFLOW_COLD inline void write_cost_model(const exec::CostModel& model, const std::string& path,
                                           const std::string& machine) {
  nlohmann::ordered_json json;
  json["format"] = CostModelReader::format;
  json["machine"] = machine;
  json["rates"] = {{"flops_per_second", model.rates.flops_per_second},
                   {"bytes_per_second", model.rates.bytes_per_second},
                   {"launch_seconds", model.rates.launch_seconds}};
  json["link"] = {{"latency", model.link.latency},
                  {"bytes_per_second", model.link.bytes_per_second}};
  json["iterations"] = model.iterations;
  json["steps"] = nlohmann::ordered_json::array();
  for (const auto& [step, times] : model.measured) {
    for (const auto& [device, time] : times) {
      json["steps"].push_back({{"step", step},
                               {"device", device},
                               {"seconds", time.seconds},
                               {"samples", time.samples}});
    }
  }
  replace_file(path,
               json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

/// The least seconds of some calls: what disturbs a call makes it longer, never shorter.
template <class F>
double least_seconds(int calls, const F& f) {
  double least = 1e30;
  for (int i = 0; i < calls; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
  }
  return least;
}

TYPEFLOW_COLD inline double measured_flops_per_second() {
  using Loops = cpu_kernels::ProductLoops<float, cpu_kernels::DefaultArch>;
  constexpr std::int64_t size = 256;
  constexpr auto start = [](const std::int64_t*, std::int64_t) { return std::int64_t{0}; };
  constexpr cpu_kernels::ProductKernel<float> kernel{
      .transposed_a = false,
      .transposed_b = false,
      .shared_b = true,
      .strided_b = false,
      .is_result = false,
      .count = 1,
      .pitch_a = size,
      .pitch_b = size,
      .start_of_a = start,
      .start_of_b = start,
      .finish = [](const KernelCall&, std::int64_t, const float* tiles, std::int64_t, std::int64_t,
                   std::int64_t, std::int64_t) {
        volatile float last = tiles[0];
        static_cast<void>(last);
      }};
  const std::int64_t extents[] = {size, size, size, 1};
  std::vector<float> a(size * size, 0.5f);
  std::vector<float> c(size * size);
  const AlignedBytes workspace(Loops::workspace(kernel, extents));
  void* operands[] = {a.data(), a.data(), c.data()};
  Failure failure;
  KernelCall call{operands, extents, nullptr, workspace.data(), nullptr, {}};
  call.failure = &failure;
  const double seconds = least_seconds(20, [&] { Loops::run(call, kernel); });
  return 2.0 * size * size * size / seconds;
}

/// Bytes read and written in a second by a copy that does not fit in a cache.
TYPEFLOW_COLD inline double measured_bytes_per_second() {
  constexpr std::size_t size = std::size_t{1} << 25;
  std::vector<char> from(size, 1);
  std::vector<char> to(size, 2);
  const double seconds = least_seconds(8, [&] {
    std::memcpy(to.data(), from.data(), size);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  });
  return 2.0 * static_cast<double>(size) / seconds;
}

/// Seconds until a waiting thread goes on after another has signalled.
TYPEFLOW_COLD inline double measured_latency() {
  constexpr std::uint32_t rounds = 500;
  std::atomic<std::uint32_t> turn{0};
  std::thread other([&] {
    for (std::uint32_t i = 0; i < rounds; ++i) {
      while (turn.load() != 2 * i + 1) turn.wait(2 * i);
      turn.store(2 * i + 2);
      turn.notify_one();
    }
  });
  const double seconds = least_seconds(1, [&] {
    for (std::uint32_t i = 0; i < rounds; ++i) {
      turn.store(2 * i + 1);
      turn.notify_one();
      while (turn.load() != 2 * i + 2) turn.wait(2 * i + 1);
    }
  });
  other.join();
  return seconds / (2.0 * rounds);
}

TYPEFLOW_COLD inline exec::CostModel measured_machine() {
  exec::CostModel model;
  model.rates.flops_per_second = measured_flops_per_second();
  model.rates.bytes_per_second = measured_bytes_per_second();
  model.rates.launch_seconds = 2e-7;  // of an instruction of a stream, besides its kernel
  model.link.bytes_per_second = model.rates.bytes_per_second / 2;
  model.link.latency = measured_latency();
  return model;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION void save(const exec::CostModel& model, const std::string& path) {
  detail::write_cost_model(model, path, "");
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION exec::CostModel load_cost_model(const std::string& path) {
  return detail::CostModelReader(path).read();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string rates_file() {
  std::filesystem::path folder;
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) {
    folder = cache;
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0) {
    folder = std::filesystem::path(home) / ".cache";
  } else {
    return {};
  }
  return (folder / "typeflow" / ("rates-" + std::string(detail::isa_text) + ".json")).string();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION exec::CostModel cost_model_of_machine() {
  const std::string path = rates_file();
  const std::string processor = detail::processor_name();
  if (path.empty()) return detail::measured_machine();
  try {
    std::string machine;
    exec::CostModel model = detail::CostModelReader(path).read(&machine);
    if (machine == processor) return model;
  } catch (const Error&) {  // there is none, or it is broken
  }
  const exec::CostModel model = detail::measured_machine();
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    detail::write_cost_model(model, path, processor);
  } catch (const std::exception&) {  // the next program measures again
  }
  return model;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
