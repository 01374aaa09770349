// SPDX-License-Identifier: Apache-2.0
#pragma once

// TFRecord files as datasets.

#include <memory>
#include <optional>
#include <string>

#include "typeflow/data/dataset.hpp"
#include "typeflow/records/tf_record.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The records of a file: tf_records(path).map(parse). See TfRecordReader for errors.
inline Dataset<std::string> tf_records(const std::string& path,
                                       RecordPacking packing = RecordPacking::automatic) {
  return Dataset<std::string>([path, packing](std::uint64_t) {
    return detail::cursor_of<std::string>(
        [reader = std::make_unique<TfRecordReader>(path, packing)]() -> std::optional<std::string> {
          const auto record = reader->next();
          if (!record) return std::nullopt;
          return std::string(*record);
        });
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
