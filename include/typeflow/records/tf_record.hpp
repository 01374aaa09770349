// SPDX-License-Identifier: Apache-2.0
#pragma once

// TFRecord files: records of bytes, each with its length and the checksums of both. Plain, or all
// of the file packed by gzip or zlib, as TensorFlow's TFRecordOptions have it.
//
//   length (8 bytes, little-endian), its masked CRC-32C (4), the record, its masked CRC-32C (4)

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "typeflow/core/exception.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// How a file of records is packed.
enum class RecordPacking : std::uint8_t {
  automatic,  ///< what its first bytes say; a writer writes a plain file
  plain,
  gzip,
  zlib
};

/// Reads the records of a file in order. Only one thread at a time may use it.
class TfRecordReader {
 public:
  /// Error if the file can't be opened, or starts with none of the formats.
  explicit TfRecordReader(const std::filesystem::path& path,
                          RecordPacking packing = RecordPacking::automatic);
  TfRecordReader(TfRecordReader&&) noexcept;
  TfRecordReader& operator=(TfRecordReader&&) noexcept;
  ~TfRecordReader();

  /// The next record, valid until the next call; nothing at the end of the file. Error, with the
  /// file and the record's offset, if a length or a record does not have its checksum, or the file
  /// ends in the middle of a record. No byte of a record is returned that has not been checked.
  std::optional<std::string_view> next();

  /// The records read so far.
  std::int64_t count() const;
  /// Where the next record begins in the unpacked file.
  std::int64_t offset() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct TfRecordWriterOptions {
  RecordPacking packing = RecordPacking::automatic;
  /// zlib's level, 1 (fast) to 9 (small).
  int level = 6;
};

/// Writes a file of records. The file appears under its name when finish() is called, in place of
/// one that was there. Only one thread at a time may use it.
class TfRecordWriter {
 public:
  using Options = TfRecordWriterOptions;

  /// Error if the file can't be written.
  explicit TfRecordWriter(const std::filesystem::path& path, const Options& options = {});
  TfRecordWriter(TfRecordWriter&&) noexcept;
  TfRecordWriter& operator=(TfRecordWriter&&) noexcept;
  /// Without finish() nothing is left of the file.
  ~TfRecordWriter();

  void write(std::string_view record);
  void write(std::span<const std::byte> record);
  /// The file is complete. Error if the disk is full, for example; then the old file is unchanged.
  void finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/tf_record.ipp"
#endif
