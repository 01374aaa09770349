// SPDX-License-Identifier: Apache-2.0

// Files of records, as they are: plain, gzip or zlib.

#include "fuzz_input/input.hpp"
#include "typeflow/records/tf_record.hpp"

using namespace fuzz_input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string& path = file_with(text_of(data, size));
  for (const auto packing : {tf::RecordPacking::automatic, tf::RecordPacking::plain,
                             tf::RecordPacking::gzip, tf::RecordPacking::zlib}) {
    attempt([&] {
      tf::TfRecordReader reader(path, packing);
      std::int64_t bytes = 0;
      while (const auto record = reader.next()) {
        bytes += static_cast<std::int64_t>(record->size()) + 16;
      }
      require(reader.offset() == bytes, "offsets of records count their bytes");
    });
  }
  return 0;
}
