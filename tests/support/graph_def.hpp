// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reads back tensorflow.GraphDef and RunMetadata, by the numbers of their fields in TensorFlow's
// .proto files.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_reader.hpp>

struct NodeDef {
  std::string name;
  std::string operation;
  std::vector<std::string> inputs;
  std::string device;
  std::map<std::string, std::string> attributes;  ///< encoded values

  /// The extents of the first output; empty without one.
  std::vector<std::int64_t> extents() const {
    std::vector<std::int64_t> all;
    const auto found = attributes.find("_output_shapes");
    if (found == attributes.end()) return all;
    protozero::pbf_reader value(found->second);
    if (!value.next(1)) return all;
    protozero::pbf_reader list = value.get_message();
    if (!list.next(7)) return all;
    protozero::pbf_reader shape = list.get_message();
    while (shape.next(2)) {
      protozero::pbf_reader dimension = shape.get_message();
      all.push_back(dimension.next(1) ? dimension.get_int64() : 0);
    }
    return all;
  }
  /// An attribute that is a type; -1 without it.
  int type(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return -1;
    protozero::pbf_reader value(found->second);
    return value.next(6) ? value.get_enum() : -1;
  }
  std::string text(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    protozero::pbf_reader value(found->second);
    return value.next(2) ? value.get_string() : std::string();
  }
};

inline std::vector<NodeDef> nodes_of(std::string_view graph_def) {
  std::vector<NodeDef> nodes;
  protozero::pbf_reader graph(graph_def.data(), graph_def.size());
  while (graph.next(1)) {
    protozero::pbf_reader node = graph.get_message();
    NodeDef& own = nodes.emplace_back();
    while (node.next()) {
      switch (node.tag()) {
        case 1:
          own.name = node.get_string();
          break;
        case 2:
          own.operation = node.get_string();
          break;
        case 3:
          own.inputs.push_back(node.get_string());
          break;
        case 4:
          own.device = node.get_string();
          break;
        case 5: {
          protozero::pbf_reader entry = node.get_message();
          std::string key;
          std::string value;
          while (entry.next()) {
            std::string& part = entry.tag() == 1 ? key : value;
            part = entry.get_string();
          }
          own.attributes[key] = value;
          break;
        }
        default:
          node.skip();
      }
    }
  }
  return nodes;
}

/// What is wrong with the names and edges of a graph; empty if nothing is.
inline std::string mistake_of(const std::vector<NodeDef>& nodes) {
  constexpr std::string_view characters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/>\\";
  std::set<std::string> names;
  for (const NodeDef& node : nodes) {
    if (node.name.empty() || node.name.find_first_of("_-/>\\") == 0 || node.name.ends_with('/') ||
        node.name.find_first_not_of(characters) != std::string::npos ||
        node.name.find("//") != std::string::npos) {
      return "the name " + node.name;
    }
    if (node.operation.empty()) return node.name + " has no operation";
    if (!names.insert(node.name).second) return node.name + " is there twice";
  }
  for (const NodeDef& node : nodes) {
    bool controls = false;
    for (const std::string& input : node.inputs) {
      const bool control = input.starts_with('^');
      if (controls && !control) return node.name + " has a tensor after an effect";
      controls = control;
      const std::string from = input.substr(control ? 1 : 0, input.find(':') - (control ? 1 : 0));
      if (!names.contains(from)) return node.name + " reads " + from;
    }
  }
  return {};
}

struct NodeStats {
  std::string device;
  std::string name;
  std::int64_t start_micros = 0;
  std::int64_t nanoseconds = 0;
  std::int64_t bytes = -1;  ///< -1: not known
  std::string label;
};

inline std::vector<NodeStats> stats_of(std::string_view run_metadata) {
  std::vector<NodeStats> all;
  protozero::pbf_reader metadata(run_metadata.data(), run_metadata.size());
  if (!metadata.next(1)) return all;
  protozero::pbf_reader stats = metadata.get_message();
  while (stats.next(1)) {
    protozero::pbf_reader device = stats.get_message();
    std::string device_name;
    while (device.next()) {
      if (device.tag() == 1) {
        device_name = device.get_string();
        continue;
      }
      NodeStats& own = all.emplace_back();
      own.device = device_name;
      protozero::pbf_reader node = device.get_message();
      while (node.next()) {
        switch (node.tag()) {
          case 1:
            own.name = node.get_string();
            break;
          case 2:
            own.start_micros = node.get_int64();
            break;
          case 6: {
            protozero::pbf_reader memory = node.get_message();
            own.bytes = memory.next(2) ? memory.get_int64() : -1;
            break;
          }
          case 8:
            own.label = node.get_string();
            break;
          case 16:
            own.nanoseconds = node.get_int64();
            break;
          default:
            node.skip();
        }
      }
    }
  }
  return all;
}
