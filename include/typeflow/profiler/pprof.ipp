// SPDX-License-Identifier: Apache-2.0
#pragma once

// pprof's profile.proto: https://github.com/google/pprof/blob/main/proto/profile.proto

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <new>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/profiler/files.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

TYPEFLOW_COLD inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw std::bad_alloc();
  }
  struct End {
    z_stream* stream;
    ~End() { deflateEnd(stream); }
  };
  const End end{&stream};
  if (text.size() > std::numeric_limits<uInt>::max())
    throw Error("pprof: the profile is too large");
  std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw Error("pprof: cannot be packed");
  packed.resize(stream.total_out);
  return packed;
}

/// Writes a profile as pprof's protocol buffer. Fields of one number may stand anywhere in it.
class PprofWriter {
 public:
  TYPEFLOW_COLD std::string run(const Profile& profile) {
    text("");  // number 0 has to be the empty text
    for (const auto& [type, unit] : {std::pair("time", "nanoseconds"), std::pair("calls", "count"),
                                     std::pair("flops", "count"), std::pair("bytes", "bytes")}) {
      protozero::pbf_writer value(whole_, sample_type);
      value.add_int64(1, text(type));
      value.add_int64(2, text(unit));
    }
    for (const ProfiledStep& step : profile.steps) {
      if (step.calls > 0) add_sample(profile, step);
    }
    {
      // Addresses have no meaning. A mapping that has all names keeps pprof from looking for them.
      protozero::pbf_writer out(whole_, mapping);
      out.add_uint64(1, 1);
      out.add_int64(5, text("typeflow"));
      for (protozero::pbf_tag_type has = 7; has <= 10; ++has) out.add_bool(has, true);
    }
    whole_.add_int64(duration_nanos, nanoseconds(profile.wall_seconds));
    whole_.add_int64(default_sample_type, text("time"));
    for (const std::string& one : texts_) whole_.add_string(string_table, one);
    return std::move(bytes_);
  }

 private:
  // Fields of the message Profile.
  static constexpr protozero::pbf_tag_type sample_type = 1;
  static constexpr protozero::pbf_tag_type sample = 2;
  static constexpr protozero::pbf_tag_type mapping = 3;
  static constexpr protozero::pbf_tag_type location = 4;
  static constexpr protozero::pbf_tag_type function = 5;
  static constexpr protozero::pbf_tag_type string_table = 6;
  static constexpr protozero::pbf_tag_type duration_nanos = 10;
  static constexpr protozero::pbf_tag_type default_sample_type = 14;

  TYPEFLOW_COLD static std::int64_t nanoseconds(double seconds) {
    return static_cast<std::int64_t>(std::min(seconds * 1e9, 9e18));
  }
  /// The number of a text in the table.
  TYPEFLOW_COLD std::int64_t text(const std::string& of) {
    const auto [found, is_new] = numbers_.try_emplace(of, texts_.size());
    if (is_new) texts_.push_back(of);
    return static_cast<std::int64_t>(found->second);
  }
  /// The number of a frame of stacks: a scope, or a kernel with its place in the source.
  TYPEFLOW_COLD std::uint64_t frame(const std::string& name, const std::string& file, int line) {
    const auto [found, is_new] = frames_.try_emplace({name, file, line}, frames_.size() + 1);
    const std::uint64_t number = found->second;
    if (!is_new) return number;
    {
      protozero::pbf_writer out(whole_, function);
      out.add_uint64(1, number);
      out.add_int64(2, text(name));
      out.add_int64(3, text(name));
      out.add_int64(4, text(file));
      out.add_int64(5, line);
    }
    protozero::pbf_writer out(whole_, location);
    out.add_uint64(1, number);
    out.add_uint64(2, 1);
    protozero::pbf_writer place(out, 4);
    place.add_uint64(1, number);
    place.add_int64(2, line);
    return number;
  }
  TYPEFLOW_COLD void add_sample(const Profile& profile, const ProfiledStep& step) {
    std::vector<std::uint64_t> stack;  // the kernel first
    for (std::size_t end = step.name.find('/'); end != step.name.npos && stack.size() < 1000;
         end = step.name.find('/', end + 1)) {
      stack.push_back(frame(step.name.substr(0, end), "", 0));
    }
    stack.push_back(frame(step.name, step.file, step.line));
    std::reverse(stack.begin(), stack.end());
    const std::int64_t values[] = {nanoseconds(step.seconds), step.calls, step.flops, step.bytes};
    std::string operations;
    for (const std::string& fused : step.fused) {
      operations += (operations.empty() ? "" : " + ") + fused;
    }
    const std::pair<std::int64_t, std::int64_t> labels[] = {
        {text("device"), text(profile.devices[static_cast<std::size_t>(step.device)].name)},
        {text("operation"), text(step.operation)},
        {text("operations"), text(operations)}};
    protozero::pbf_writer out(whole_, sample);
    out.add_packed_uint64(1, stack.begin(), stack.end());
    out.add_packed_int64(2, std::begin(values), std::end(values));
    for (const auto& [key, value] : labels) {
      protozero::pbf_writer label(out, 3);
      label.add_int64(1, key);
      label.add_int64(2, value);
    }
  }

  std::string bytes_;
  protozero::pbf_writer whole_{bytes_};
  std::vector<std::string> texts_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> frames_;
};

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::string pprof(const Profile& profile) {
  return detail::gzipped(detail::PprofWriter().run(profile));
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void save_pprof(const Profile& profile, const std::string& path) {
  detail::replace_file(path, pprof(profile));
}

}  // namespace typeflow::inline TYPEFLOW_ISA
