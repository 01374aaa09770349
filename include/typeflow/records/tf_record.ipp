// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/data/byte_reader.hpp"
#include "typeflow/records/framing.hpp"
#include "typeflow/records/tf_record.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// The packing of a file by its first bytes. The checksum of a plain file's first length tells it
/// from packed files.
TYPEFLOW_COLD inline Packing packing_of(const std::filesystem::path& path) {
  std::array<unsigned char, record_header> first{};
  ByteReader reader(path, Packing::plain);
  const std::size_t count = reader.read(first.data(), first.size());
  if (count == 0) return Packing::plain;
  if (count == record_header && has_checksum(first.data(), 8, first.data() + 8)) {
    return Packing::plain;
  }
  if (count >= 2 && first[0] == 0x1f && first[1] == 0x8b) return Packing::gzip;
  // RFC 1950: method 8, a window of at most 32 KiB, and a multiple of 31.
  if (count >= 2 && (first[0] & 0x0fu) == 8 && first[0] >> 4 <= 7 &&
      (first[0] * 256u + first[1]) % 31 == 0) {
    return Packing::zlib;
  }
  throw Error(path.string(), "is no file of records: its first length has a wrong checksum");
}

}  // namespace detail

struct TfRecordReader::Parts {
  Parts(const std::filesystem::path& file, detail::Packing packing)
      : path(file.string()), reader(file, packing) {}

  [[noreturn]] TYPEFLOW_COLD void fail(const char* what) const {
    throw Error(path, "record " + std::to_string(count) + " at offset " + std::to_string(offset) +
                          ": " + what);
  }

  std::string path;
  detail::ByteReader reader;
  std::vector<unsigned char> record;  // one that is not in the reader's memory as a whole
  std::int64_t count = 0;
  std::int64_t offset = 0;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION TfRecordReader::TfRecordReader(const std::filesystem::path& path,
                                                                 RecordPacking packing) {
  const detail::Packing how = packing == RecordPacking::automatic ? detail::packing_of(path)
                              : packing == RecordPacking::plain   ? detail::Packing::plain
                              : packing == RecordPacking::gzip    ? detail::Packing::gzip
                                                                  : detail::Packing::zlib;
  parts_ = std::make_unique<Parts>(path, how);
}
TYPEFLOW_DEFINITION TfRecordReader::TfRecordReader(TfRecordReader&&) noexcept = default;
TYPEFLOW_DEFINITION TfRecordReader& TfRecordReader::operator=(TfRecordReader&&) noexcept = default;
TYPEFLOW_DEFINITION TfRecordReader::~TfRecordReader() = default;
TYPEFLOW_DEFINITION std::int64_t TfRecordReader::count() const { return parts_->count; }
TYPEFLOW_DEFINITION std::int64_t TfRecordReader::offset() const { return parts_->offset; }

TYPEFLOW_DEFINITION std::optional<std::string_view> TfRecordReader::next() {
  Parts& p = *parts_;
  std::array<unsigned char, detail::record_header> header;
  const std::size_t got = p.reader.read(header.data(), header.size());
  if (got == 0) return std::nullopt;
  if (got < header.size()) p.fail("the file ends in its length");
  if (!detail::has_checksum(header.data(), 8, header.data() + 8)) {
    p.fail("its length has a wrong checksum");
  }
  const std::uint64_t length = detail::little_endian(header.data(), 8);
  const auto checked = [&](const unsigned char* record) {
    if (!detail::has_checksum(record, length, record + length)) {
      p.fail("its data has a wrong checksum");
    }
    ++p.count;
    p.offset += static_cast<std::int64_t>(detail::record_header + length + 4);
    return std::string_view(reinterpret_cast<const char*>(record), length);
  };
  constexpr std::uint64_t largest = std::uint64_t{1} << 62;  // so that nothing overflows
  if (length > largest) p.fail("its length is more than a file can have");
  if (const unsigned char* const record = p.reader.view(length + 4)) return checked(record);
  // Memory grows with the bytes that are there, whatever the length claims.
  constexpr std::uint64_t block = std::uint64_t{1} << 24;
  std::size_t size = 0;
  const auto read = [&](std::uint64_t bytes) {
    if (p.record.size() < size + bytes) p.record.resize(size + bytes);
    if (p.reader.read(p.record.data() + size, bytes) < bytes) {
      p.fail("the file ends in the middle of it");
    }
    size += bytes;
  };
  while (size < length) read(std::min(block, length - size));
  read(4);
  return checked(p.record.data());
}

struct TfRecordWriter::Parts {
  Parts(const std::filesystem::path& path, const Options& options)
      : path_(path.string()), file_(path) {
    if (options.packing == RecordPacking::automatic || options.packing == RecordPacking::plain) {
      return;
    }
    const int window = options.packing == RecordPacking::gzip ? 15 + 16 : 15;
    if (options.level < 1 || options.level > 9) {
      throw Error("TfRecordWriter", "a level of 1 to 9", std::to_string(options.level));
    }
    if (deflateInit2(&stream_, options.level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw Error(path_, "zlib cannot start to pack it");
    }
    packs_ = true;
    packed_.resize(1 << 16);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    if (packs_) deflateEnd(&stream_);
  }

  void put(std::span<const std::byte> bytes) {
    check_open();
    if (!packs_) return file_.write(bytes);
    while (!bytes.empty()) {
      const std::size_t size = std::min<std::size_t>(bytes.size(), 1u << 30);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(size);
      while (stream_.avail_in > 0) deflate_some(Z_NO_FLUSH);
      bytes = bytes.subspan(size);
    }
  }
  void finish() {
    check_open();
    finished_ = true;
    if (packs_) {
      while (deflate_some(Z_FINISH) != Z_STREAM_END) {
      }
    }
    file_.finish();
  }

 private:
  void check_open() const {
    if (finished_) throw Error(path_, "nothing can be written after finish()");
  }
  int deflate_some(int flush) {
    stream_.next_out = packed_.data();
    stream_.avail_out = static_cast<uInt>(packed_.size());
    const int status = deflate(&stream_, flush);
    if (status == Z_STREAM_ERROR) throw Error(path_, "zlib cannot pack it");
    file_.write(std::as_bytes(std::span(packed_).first(packed_.size() - stream_.avail_out)));
    return status;
  }

  std::string path_;
  detail::ReplacingFile file_;
  z_stream stream_{};
  bool packs_ = false;
  bool finished_ = false;
  std::vector<unsigned char> packed_;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION TfRecordWriter::TfRecordWriter(const std::filesystem::path& path,
                                                                 const Options& options)
    : parts_(std::make_unique<Parts>(path, options)) {}
TYPEFLOW_DEFINITION TfRecordWriter::TfRecordWriter(TfRecordWriter&&) noexcept = default;
TYPEFLOW_DEFINITION TfRecordWriter& TfRecordWriter::operator=(TfRecordWriter&&) noexcept = default;
TYPEFLOW_DEFINITION TfRecordWriter::~TfRecordWriter() = default;

TYPEFLOW_DEFINITION void TfRecordWriter::write(std::span<const std::byte> record) {
  const auto header = detail::header_of(record);
  const auto footer = detail::footer_of(record);
  parts_->put(std::as_bytes(std::span(header)));
  parts_->put(record);
  parts_->put(std::as_bytes(std::span(footer)));
}
TYPEFLOW_DEFINITION void TfRecordWriter::write(std::string_view record) {
  write(std::as_bytes(std::span(record)));
}
TYPEFLOW_DEFINITION void TfRecordWriter::finish() { parts_->finish(); }

}  // namespace typeflow::inline TYPEFLOW_ISA
