// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/profiler/files.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

inline constexpr std::string_view profile_format = "typeflow profile 1";

/// Reads the JSON of a profile, and names the field of each mistake.
class ProfileReader {
  using Json = nlohmann::json;

 public:
  explicit ProfileReader(const std::string& path) : path_(path) {}

  TYPEFLOW_COLD Profile read() const {
    const Json json = Json::parse(text_of_file(path_), nullptr, false);
    if (json.is_discarded()) throw Error(path_, "JSON of a profile", "no JSON");
    check_fields(json, "", {"format", "wall_seconds", "devices", "variables", "steps", "calls"});
    if (string(json, "", "format") != profile_format) {
      refuse("format", std::string(profile_format), string(json, "", "format"));
    }
    Profile profile;
    profile.wall_seconds = number(json, "", "wall_seconds");
    each(json, "", "devices", [&](const Json& in, const std::string& at) {
      check_fields(in, at,
                   {"name", "flops_per_second", "bytes_per_second", "peak_bytes", "planned_bytes"});
      profile.devices.push_back({string(in, at, "name"), number(in, at, "flops_per_second"),
                                 number(in, at, "bytes_per_second"), whole(in, at, "peak_bytes"),
                                 whole(in, at, "planned_bytes")});
    });
    each(json, "", "variables", [&](const Json& in, const std::string& at) {
      check_fields(in, at, {"name", "type", "elements", "bytes", "trainable"});
      const Json& trainable = field(in, at, "trainable");
      if (!trainable.is_boolean()) refuse(at + "trainable", "true or false", trainable.type_name());
      profile.variables.push_back({string(in, at, "name"), string(in, at, "type"),
                                   whole(in, at, "elements"), whole(in, at, "bytes"),
                                   trainable.get<bool>()});
    });
    const std::size_t steps = list(json, "", "steps").size();
    each(json, "", "steps", [&](const Json& in, const std::string& at) {
      profile.steps.push_back(step(in, at, profile.devices.size(), steps));
    });
    each(json, "", "calls", [&](const Json& in, const std::string& at) {
      check_fields(in, at, {"step", "begin", "end"});
      const ProfiledCall call{index(field(in, at, "step"), at + "step", steps),
                              number(in, at, "begin"), number(in, at, "end")};
      if (call.end < call.begin)
        refuse(at + "end", "a number >= begin", field(in, at, "end").dump());
      profile.calls.push_back(call);
    });
    return profile;
  }

 private:
  TYPEFLOW_COLD ProfiledStep step(const Json& in, const std::string& at, std::size_t devices,
                                  std::size_t steps) const {
    check_fields(in, at,
                 {"name", "operation", "fused", "file", "line", "device", "calls", "seconds",
                  "least_seconds", "most_seconds", "flops", "bytes", "output_bytes", "inputs"});
    ProfiledStep out;
    out.name = string(in, at, "name");
    out.operation = string(in, at, "operation");
    for (const Json& fused : list(in, at, "fused")) {
      if (!fused.is_string()) refuse(at + "fused", "texts", fused.type_name());
      out.fused.push_back(fused.get<std::string>());
    }
    out.file = string(in, at, "file");
    out.line = index(field(in, at, "line"), at + "line", std::size_t{1} << 31);
    out.device = index(field(in, at, "device"), at + "device", devices);
    out.calls = whole(in, at, "calls");
    out.seconds = number(in, at, "seconds");
    out.least_seconds = number(in, at, "least_seconds");
    out.most_seconds = number(in, at, "most_seconds");
    out.flops = whole(in, at, "flops");
    out.bytes = whole(in, at, "bytes");
    out.output_bytes = whole(in, at, "output_bytes");
    for (const Json& input : list(in, at, "inputs")) {
      out.inputs.push_back(index(input, at + "inputs", steps));
    }
    return out;
  }

  [[noreturn]] TYPEFLOW_COLD void refuse(const std::string& name, const std::string& expected,
                                         const std::string& got) const {
    throw Error(path_ + ", field \"" + name + "\"", expected, got);
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
  TYPEFLOW_COLD const Json& list(const Json& json, const std::string& at, const char* name) const {
    const Json& value = field(json, at, name);
    if (!value.is_array()) refuse(at + name, "a list", value.type_name());
    return value;
  }
  template <class F>
  void each(const Json& json, const std::string& at, const char* name, const F& f) const {
    std::size_t i = 0;
    for (const Json& element : list(json, at, name)) {
      f(element, at + name + "[" + std::to_string(i++) + "].");
    }
  }
  TYPEFLOW_COLD std::string string(const Json& json, const std::string& at,
                                   const char* name) const {
    const Json& value = field(json, at, name);
    if (!value.is_string()) refuse(at + name, "a text", value.type_name());
    return value.get<std::string>();
  }
  TYPEFLOW_COLD double number(const Json& json, const std::string& at, const char* name) const {
    const Json& value = field(json, at, name);
    if (!value.is_number()) refuse(at + name, "a number", value.type_name());
    const double x = value.get<double>();
    if (!(x >= 0 && x < 1e300)) refuse(at + name, "a number >= 0", value.dump());
    return x;
  }
  TYPEFLOW_COLD std::int64_t whole(const Json& json, const std::string& at,
                                   const char* name) const {
    const Json& value = field(json, at, name);
    if (!value.is_number_unsigned()) refuse(at + name, "a whole number >= 0", shown(value));
    const auto x = value.get<std::uint64_t>();
    if (x > std::uint64_t{1} << 62) refuse(at + name, "a number up to 2^62", value.dump());
    return static_cast<std::int64_t>(x);
  }
  /// A value for messages. (Writing a list writes those in it, to any depth, with a call for each.)
  TYPEFLOW_COLD static std::string shown(const Json& value) {
    return value.is_structured() ? value.type_name() : value.dump();
  }
  /// A number below `size`.
  TYPEFLOW_COLD int index(const Json& value, const std::string& at, std::size_t size) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= size) {
      refuse(at, "a whole number below " + std::to_string(size), shown(value));
    }
    return value.get<int>();
  }

  const std::string& path_;
};

/// The text of a JSON value. Bytes that are no UTF-8 are replaced.
TYPEFLOW_COLD inline std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION void save_profile(const Profile& profile,
                                                    const std::string& path) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["format"] = detail::profile_format;
  json["wall_seconds"] = profile.wall_seconds;
  json["devices"] = Json::array();
  for (const ProfiledDevice& device : profile.devices) {
    json["devices"].push_back({{"name", device.name},
                               {"flops_per_second", device.flops_per_second},
                               {"bytes_per_second", device.bytes_per_second},
                               {"peak_bytes", device.peak_bytes},
                               {"planned_bytes", device.planned_bytes}});
  }
  json["variables"] = Json::array();
  for (const ProfiledVariable& variable : profile.variables) {
    json["variables"].push_back({{"name", variable.name},
                                 {"type", variable.type},
                                 {"elements", variable.elements},
                                 {"bytes", variable.bytes},
                                 {"trainable", variable.trainable}});
  }
  json["steps"] = Json::array();
  for (const ProfiledStep& step : profile.steps) {
    json["steps"].push_back({{"name", step.name},
                             {"operation", step.operation},
                             {"fused", step.fused},
                             {"file", step.file},
                             {"line", step.line},
                             {"device", step.device},
                             {"calls", step.calls},
                             {"seconds", step.seconds},
                             {"least_seconds", step.least_seconds},
                             {"most_seconds", step.most_seconds},
                             {"flops", step.flops},
                             {"bytes", step.bytes},
                             {"output_bytes", step.output_bytes},
                             {"inputs", step.inputs}});
  }
  json["calls"] = Json::array();
  for (const ProfiledCall& call : profile.calls) {
    json["calls"].push_back({{"step", call.step}, {"begin", call.begin}, {"end", call.end}});
  }
  detail::replace_file(path, detail::json_text(json, 1) + "\n");
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Profile load_profile(const std::string& path) {
  return detail::ProfileReader(path).read();
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string chrome_trace(const Profile& profile) {
  using Json = nlohmann::ordered_json;
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  for (std::size_t d = 0; d < profile.devices.size(); ++d) {
    const Json event{{"ph", "M"},
                     {"name", "thread_name"},
                     {"pid", 0},
                     {"tid", d},
                     {"args", {{"name", profile.devices[d].name}}}};
    text += detail::json_text(event, -1) + ",\n";
  }
  for (const ProfiledCall& call : profile.calls) {
    const ProfiledStep& step = profile.steps[static_cast<std::size_t>(call.step)];
    const double seconds = call.end - call.begin;
    const double calls = static_cast<double>(std::max<std::int64_t>(step.calls, 1));
    const double flops = static_cast<double>(step.flops) / calls;
    const double bytes = static_cast<double>(step.bytes) / calls;
    const auto giga = [&](double x) { return seconds > 0 ? x / seconds * 1e-9 : 0; };
    const Json event{{"ph", "X"},
                     {"name", step.name},
                     {"cat", step.operation},
                     {"pid", 0},
                     {"tid", step.device},
                     {"ts", call.begin * 1e6},
                     {"dur", seconds * 1e6},
                     {"args",
                      {{"operations", step.fused},
                       {"source", step.file + ':' + std::to_string(step.line)},
                       {"flops", flops},
                       {"bytes", bytes},
                       {"Gflop/s", giga(flops)},
                       {"GB/s", giga(bytes)}}}};
    text += detail::json_text(event, -1) + ",\n";
  }
  if (text.ends_with(",\n")) text.erase(text.size() - 2, 1);
  return text + "]}\n";
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void save_chrome_trace(const Profile& profile,
                                                         const std::string& path) {
  detail::replace_file(path, chrome_trace(profile));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
