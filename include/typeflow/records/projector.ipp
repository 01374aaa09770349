// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>
#include <system_error>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/records/projector.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A name of files.
TYPEFLOW_COLD inline std::string projector_file_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '-';
    out += plain ? c : '_';
  }
  return out;
}
/// A string of protocol buffers' text format.
TYPEFLOW_COLD inline std::string proto_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}
TYPEFLOW_COLD inline std::string tsv_cell(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

TYPEFLOW_COLD inline void write_values(const std::filesystem::path& path,
                                       const ProjectorTable& table) {
  ReplacingFile file(path);
  char text[32];
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    char* end = std::to_chars(text, text + sizeof text - 1, table.values[i]).ptr;
    *end++ = (i + 1) % static_cast<std::size_t>(table.dimensions) == 0 ? '\n' : '\t';
    file.write(std::string_view(text, static_cast<std::size_t>(end - text)));
  }
  file.finish();
}
/// A column alone has no title: TensorBoard takes the first line for a title if it has tabs.
TYPEFLOW_COLD inline void write_columns(const std::filesystem::path& path,
                                        const std::vector<ProjectorColumn>& columns,
                                        std::size_t points) {
  ReplacingFile file(path);
  const auto line = [&](const auto& text_of) {
    std::string out;
    for (std::size_t k = 0; k < columns.size(); ++k) {
      out += (k > 0 ? "\t" : "") + tsv_cell(text_of(columns[k]));
    }
    file.write(out + '\n');
  };
  if (columns.size() > 1) line([](const ProjectorColumn& column) { return column.title; });
  for (std::size_t i = 0; i < points; ++i) {
    line([&](const ProjectorColumn& column) { return column.values[i]; });
  }
  file.finish();
}
TYPEFLOW_COLD inline void check_table(const ProjectorTable& table) {
  const std::string what = "write_projector: \"" + table.name + '"';
  if (table.dimensions < 1 ||
      table.values.size() % static_cast<std::size_t>(table.dimensions) != 0) {
    throw Error(what,
                "values of whole points of " + std::to_string(table.dimensions) +
                    " dimensions, one or more",
                std::to_string(table.values.size()) + " values");
  }
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    if (std::isfinite(table.values[i])) continue;
    throw Error(what, "finite values",
                std::to_string(table.values[i]) + " at " + std::to_string(i));
  }
  const std::size_t points = table.values.size() / static_cast<std::size_t>(table.dimensions);
  for (const ProjectorColumn& column : table.columns) {
    if (column.values.size() == points) continue;
    throw Error(what + ", column \"" + column.title + '"', std::to_string(points) + " values",
                std::to_string(column.values.size()));
  }
  if (!table.sprite.empty() && (table.image_width < 1 || table.image_height < 1)) {
    throw Error(what, "the width and height of one image of the sprite",
                std::to_string(table.image_width) + " and " + std::to_string(table.image_height));
  }
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION void write_projector(const std::filesystem::path& folder,
                                                       const std::vector<ProjectorTable>& tables) {
  std::set<std::string> files;
  for (const ProjectorTable& table : tables) {
    detail::check_table(table);
    if (files.insert(detail::projector_file_name(table.name)).second) continue;
    throw Error("write_projector", "tables of different names", "\"" + table.name + "\" twice");
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(folder.string(), "cannot be made (" + error.message() + ")");
  std::string config;
  for (const ProjectorTable& table : tables) {
    const std::string file = detail::projector_file_name(table.name);
    const std::size_t points = table.values.size() / static_cast<std::size_t>(table.dimensions);
    detail::write_values(folder / (file + ".values.tsv"), table);
    config += "embeddings {\n  tensor_name: " + detail::proto_quoted(table.name) +
              "\n  tensor_shape: " + std::to_string(points) +
              "\n  tensor_shape: " + std::to_string(table.dimensions) +
              "\n  tensor_path: " + detail::proto_quoted(file + ".values.tsv") + '\n';
    if (!table.columns.empty()) {
      detail::write_columns(folder / (file + ".columns.tsv"), table.columns, points);
      config += "  metadata_path: " + detail::proto_quoted(file + ".columns.tsv") + '\n';
    }
    if (!table.sprite.empty()) {
      detail::ReplacingFile sprite(folder / (file + ".sprite.png"));
      sprite.write(std::as_bytes(table.sprite));
      sprite.finish();
      config += "  sprite {\n    image_path: " + detail::proto_quoted(file + ".sprite.png") +
                "\n    single_image_dim: " + std::to_string(table.image_width) +
                "\n    single_image_dim: " + std::to_string(table.image_height) + "\n  }\n";
    }
    config += "}\n";
  }
  detail::replace_file(folder / "projector_config.pbtxt", config);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
