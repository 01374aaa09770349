// SPDX-License-Identifier: Apache-2.0

// Files of records whose checksums are right, whatever their lengths say: the first byte says
// whether the rest is packed, and how. So inputs get behind the checksums, which random changes
// never do.

#include <zlib.h>

#include <algorithm>
#include <span>
#include <vector>

#include "fuzz_input/input.hpp"
#include "typeflow/records/framing.hpp"
#include "typeflow/records/tf_record.hpp"

using namespace fuzz_input;

namespace {

/// Sets the checksums of the lengths, and of those records that are there as a whole.
void set_checksums(std::vector<unsigned char>& bytes) {
  namespace detail = tf::detail;
  const auto set = [&](std::size_t from, std::size_t count, std::size_t to) {
    const auto part = std::as_bytes(std::span(bytes)).subspan(from, count);
    detail::store_little_endian(detail::masked_crc32c(part), bytes.data() + to, 4);
  };
  for (std::size_t at = 0; bytes.size() - at >= detail::record_header;) {
    const std::uint64_t length = detail::little_endian(bytes.data() + at, 8);
    set(at, 8, at + 8);
    at += detail::record_header;
    const std::size_t left = bytes.size() - at;
    if (left < 4 || length > left - 4) return;
    set(at, length, at + length);
    at += length + 4;
  }
}

/// Packed with the least memory, which is quick.
std::vector<unsigned char> packed(const std::vector<unsigned char>& bytes, int window) {
  z_stream stream{};
  require(deflateInit2(&stream, 1, Z_DEFLATED, window, 1, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib starts");
  std::vector<unsigned char> out(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<unsigned char*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib packs");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int how = data[0] % 3;
  std::vector<unsigned char> bytes(data + 1, data + size);
  set_checksums(bytes);
  std::size_t records = 0;
  std::size_t read = 0;
  const auto file = how == 0 ? bytes : packed(bytes, how == 1 ? 9 + 16 : 9);
  attempt([&] {
    tf::TfRecordReader reader(file_with(text_of(file.data(), file.size())));
    while (const auto record = reader.next()) {
      const auto* const first = reinterpret_cast<const unsigned char*>(record->data());
      require(std::equal(first, first + record->size(), bytes.data() + read + 12),
              "records have the file's bytes");
      read += record->size() + 16;
      ++records;
    }
    require(read == bytes.size(), "the last record ends at the file's end");
    require(static_cast<std::size_t>(reader.count()) == records, "records are counted");
  });
  return 0;
}
