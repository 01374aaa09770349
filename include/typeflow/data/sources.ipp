// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <glob.h>

#include "typeflow/core/error.hpp"
#include "typeflow/data/byte_reader.hpp"
#include "typeflow/data/line_reader.hpp"
#include "typeflow/data/sources.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

TYPEFLOW_COLD TYPEFLOW_DEFINITION Dataset<std::string> list_files(const std::string& pattern) {
  ::glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);  // sorts
  std::vector<std::string> paths;
  try {
    for (std::size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
      paths.emplace_back(found.gl_pathv[i]);
    }
  } catch (...) {
    ::globfree(&found);
    throw;
  }
  ::globfree(&found);
  if (paths.empty()) throw Error("list_files", "no file fits '" + pattern + "'");
  return from_elements(std::move(paths));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Dataset<std::string> text_lines(const std::string& path) {
  return Dataset<std::string>([path](std::uint64_t) {
    return detail::cursor_of<std::string>(
        [reader = std::make_unique<detail::LineReader>(path)]() -> std::optional<std::string> {
          std::string_view line;
          if (!reader->next(line)) return std::nullopt;
          return std::string(line);
        });
  });
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION Dataset<std::vector<std::uint8_t>> fixed_length_records(
    const std::string& path, std::int64_t bytes, const FixedLengthOptions& options) {
  using Record = std::vector<std::uint8_t>;
  detail::check_count("fixed_length_records", "a number of bytes", 1, bytes);
  detail::check_count("fixed_length_records", "a header", 0, options.header);
  detail::check_count("fixed_length_records", "a footer", 0, options.footer);
  struct Reader {
    Reader(const std::string& its_path, std::size_t its_size, const FixedLengthOptions& its)
        : path(its_path),
          bytes(its_path),
          size(its_size),
          footer(static_cast<std::size_t>(its.footer)) {
      Record header(static_cast<std::size_t>(its.header));
      const std::size_t got = bytes.read(header.data(), header.size());
      if (got < header.size()) {
        throw Error(path, "a header of " + std::to_string(header.size()) + " bytes",
                    std::to_string(got));
      }
      ahead.resize(footer);
      if (bytes.read(ahead.data(), footer) < footer) {
        throw Error(path, "a footer of " + std::to_string(footer) + " bytes", "fewer");
      }
    }
    /// What is read last may be the footer, so that many bytes are held back.
    std::optional<Record> next() {
      Record record = ahead;
      record.resize(footer + size);
      const std::size_t got = bytes.read(record.data() + footer, size);
      if (got == 0) return std::nullopt;
      if (got < size) {
        throw Error(path, "records of " + std::to_string(size) + " bytes",
                    "a last one of " + std::to_string(got));
      }
      ahead.assign(record.end() - static_cast<std::ptrdiff_t>(footer), record.end());
      record.resize(size);
      return record;
    }

    std::string path;
    detail::ByteReader bytes;
    std::size_t size;
    std::size_t footer;
    Record ahead;
  };
  return Dataset<Record>([=](std::uint64_t) {
    return detail::cursor_of<Record>(
        [reader = std::make_unique<Reader>(path, static_cast<std::size_t>(bytes), options)] {
          return reader->next();
        });
  });
}

}  // namespace typeflow::inline TYPEFLOW_ISA
