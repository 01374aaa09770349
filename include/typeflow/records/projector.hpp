// SPDX-License-Identifier: Apache-2.0
#pragma once

// Points for TensorBoard's embedding projector, which shows them by PCA, t-SNE and UMAP.
//
//   tf::write_projector("logs/run1", {{.name = "words",
//                                      .values = variables.get<float>("embeddings"),
//                                      .dimensions = 128,
//                                      .columns = {{"word", words}}}});

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// What is known of each point, as text: its label, its class. Tabs and ends of lines become
/// blanks.
struct ProjectorColumn {
  std::string title;
  std::vector<std::string> values;  ///< (points)
};

/// Points of a space.
struct ProjectorTable {
  std::string name;
  std::span<const float> values;  ///< (points,dimensions)
  std::int64_t dimensions = 0;
  std::vector<ProjectorColumn> columns{};
  /// A PNG file's bytes: an image for each point, row by row in a square grid. Its side is at most
  /// 8192 pixels. Empty: points have no images.
  std::span<const std::uint8_t> sprite{};
  std::int32_t image_width = 0;  ///< of one point, in pixels
  std::int32_t image_height = 0;
};

/// Writes the tables and projector_config.pbtxt into a folder, which is made if it is missing:
/// that of an EventWriter. Replaces those that are there, each as a whole; the configuration is
/// last. Error if sizes do not fit, if a value is NaN or infinite, if two tables have one name, or
/// if a file can't be written.
void write_projector(const std::filesystem::path& folder,
                     const std::vector<ProjectorTable>& tables);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/projector.ipp"
#endif
