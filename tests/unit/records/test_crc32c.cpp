// SPDX-License-Identifier: Apache-2.0

// CRC-32C: the vectors of RFC 3720 (iSCSI), B.4, and the hardware's against the tables'.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <typeflow/records/crc32c.hpp>

namespace {

namespace tf = typeflow;

std::uint32_t crc(const std::vector<unsigned char>& bytes) {
  return tf::detail::crc32c(std::as_bytes(std::span(bytes)));
}

}  // namespace

TEST_CASE("the checksums of RFC 3720") {
  std::vector<unsigned char> bytes(32, 0);
  CHECK(crc(bytes) == 0x8a9136aau);
  bytes.assign(32, 0xff);
  CHECK(crc(bytes) == 0x62a8ab43u);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<unsigned char>(i);
  CHECK(crc(bytes) == 0x46dd794eu);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<unsigned char>(31 - i);
  CHECK(crc(bytes) == 0x113fdb5cu);
  const std::string_view text = "123456789";
  CHECK(crc({text.begin(), text.end()}) == 0xe3069283u);
  CHECK(crc({}) == 0u);
}

TEST_CASE("tables and the processor's instruction agree at all lengths") {
  std::vector<unsigned char> bytes;
  for (int n = 0; n < 100; ++n) {
    const auto all = std::as_bytes(std::span(bytes));
    for (std::size_t first = 0; first <= bytes.size(); first += 3) {
      CHECK(tf::detail::crc32c(all.subspan(first)) ==
            tf::detail::crc32c_by_tables(all.subspan(first)));
    }
    bytes.push_back(static_cast<unsigned char>(n * 37 + n / 5));
  }
}

TEST_CASE("long data is taken in parts") {
  std::vector<unsigned char> bytes(5000);
  std::uint32_t state = 7;
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
  }
  const auto all = std::as_bytes(std::span(bytes));
  for (std::size_t size : {255u, 256u, 767u, 768u, 769u, 775u, 776u, 1535u, 1536u, 1543u, 4999u}) {
    for (const std::size_t first : {0u, 1u, 3u}) {
      const auto part = all.subspan(first, std::min(size, all.size() - first));
      CHECK(tf::detail::crc32c(part) == tf::detail::crc32c_by_tables(part));
    }
  }
}
