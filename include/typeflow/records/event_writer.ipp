// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <protozero/pbf_writer.hpp>
#include <span>
#include <string>
#include <system_error>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/records/encoded_event.hpp"
#include "typeflow/records/event_writer.hpp"
#include "typeflow/records/framing.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct EventWriter::Parts {
  using Clock = std::chrono::steady_clock;

  TYPEFLOW_COLD Parts(const std::filesystem::path& folder, const EventWriterOptions& its_options)
      : options(its_options) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw Error(folder.string(), "cannot be made (" + error.message() + ")");
    char host[256] = "localhost";
    static_cast<void>(::gethostname(host, sizeof host - 1));
    static std::atomic<unsigned> count{0};
    do {
      path =
          folder / ("events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now())) +
                    '.' + host + '.' + std::to_string(::getpid()) + '.' + std::to_string(count++));
      file.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t{0666}));
    } while (!file.is_open() && errno == EEXIST);
    if (!file.is_open()) detail::fail_file(path, "cannot be written");
    std::string version;
    {
      protozero::pbf_writer event(version);
      event.add_double(1, now());
      event.add_string(3, "brain.Event:2");
    }
    put(version);
    try {
      flush();
    } catch (const Error&) {  // nothing is left of a file that can't begin
      ::unlink(path.c_str());
      throw;
    }
  }
  TYPEFLOW_COLD ~Parts() {
    try {
      flush();
    } catch (const Error&) {  // see the destructor's comment
    }
  }

  /// Seconds since 1970.
  static double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void put(std::string_view record) {
    const auto bytes = std::as_bytes(std::span(record));
    const auto append = [&](const auto& part) { buffer.append(part.begin(), part.end()); };
    append(detail::header_of(bytes));
    append(record);
    append(detail::footer_of(bytes));
  }
  TYPEFLOW_COLD void flush() {
    std::string_view left = buffer;
    while (!left.empty()) {
      const ::ssize_t written = ::write(file.number(), left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int reason = errno;
        buffer.erase(0, buffer.size() - left.size());  // what is not there yet comes next time
        errno = reason;
        detail::fail_file(path, "cannot be written");
      }
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    buffer.clear();
    flushed = Clock::now();
  }

  EventWriterOptions options;
  std::filesystem::path path;
  detail::Descriptor file;
  std::mutex mutex;  // guards what follows
  std::string buffer;
  Clock::time_point flushed = Clock::now();
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION EventWriter::EventWriter(const std::filesystem::path& folder,
                                                           const EventWriterOptions& options)
    : parts_(std::make_unique<Parts>(folder, options)) {}
TYPEFLOW_DEFINITION EventWriter::EventWriter(EventWriter&&) noexcept = default;
TYPEFLOW_DEFINITION EventWriter& EventWriter::operator=(EventWriter&&) noexcept = default;
TYPEFLOW_DEFINITION EventWriter::~EventWriter() = default;
TYPEFLOW_DEFINITION const std::filesystem::path& EventWriter::path() const { return parts_->path; }

TYPEFLOW_DEFINITION void EventWriter::add(const Summary& summary, std::int64_t step) {
  add(summary.encoded(), step);
}
TYPEFLOW_DEFINITION void EventWriter::add(std::string_view encoded_summary, std::int64_t step) {
  add_event(detail::encoded_event(Parts::now(), step, [&](protozero::pbf_writer& event) {
    event.add_message(5, encoded_summary.data(), encoded_summary.size());
  }));
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void EventWriter::add_graph(std::string_view encoded_graph) {
  add_event(detail::encoded_event(Parts::now(), 0, [&](protozero::pbf_writer& event) {
    event.add_bytes(4, encoded_graph.data(), encoded_graph.size());
  }));
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void EventWriter::add_run_metadata(
    std::string_view tag, std::string_view encoded_metadata, std::int64_t step) {
  add_event(detail::encoded_event(Parts::now(), step, [&](protozero::pbf_writer& event) {
    protozero::pbf_writer tagged(event, 8);
    tagged.add_string(1, tag.data(), tag.size());
    tagged.add_bytes(2, encoded_metadata.data(), encoded_metadata.size());
  }));
}
TYPEFLOW_DEFINITION void EventWriter::add_event(std::string_view event) {
  constexpr std::size_t most = 1 << 16;
  Parts& p = *parts_;
  const std::lock_guard lock(p.mutex);
  p.put(event);
  if (p.buffer.size() >= most || Parts::Clock::now() - p.flushed >= p.options.flush_after) {
    p.flush();
  }
}
TYPEFLOW_DEFINITION void EventWriter::flush() {
  const std::lock_guard lock(parts_->mutex);
  parts_->flush();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
