// SPDX-License-Identifier: Apache-2.0
#pragma once

// Event files, which TensorBoard reads: tensorboard --logdir FOLDER.
//
//   tf::EventWriter writer("logs/run1");
//   writer.add(tf::Summary().scalar("loss", loss), step);

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "typeflow/core/exception.hpp"
#include "typeflow/core/extent.hpp"
#include "typeflow/records/summary.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

struct EventWriterOptions {
  /// What was added is written to the file after this time at the latest, when the next event is
  /// added; also if the buffer is full, at flush(), and at the end.
  std::chrono::milliseconds flush_after = std::chrono::seconds(10);
};

/// Writes a new file events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER in a folder, which is made if
/// it is missing. All functions may be called by several threads.
class EventWriter {
 public:
  /// Error if the folder or the file can't be made.
  explicit EventWriter(const std::filesystem::path& folder, const EventWriterOptions& options = {});
  EventWriter(EventWriter&&) noexcept;
  EventWriter& operator=(EventWriter&&) noexcept;
  /// Writes what is left. An error is lost here; flush() throws it.
  ~EventWriter();

  /// Error if the disk is full, for example. The file stays readable up to the last whole event.
  void add(const Summary& summary, std::int64_t step);
  void scalar(std::string_view tag, double value, std::int64_t step) {
    add(Summary().scalar(tag, value), step);
  }
  /// A serialized tensorflow.Summary: the result of summary operations (tf::Summaries).
  void add(std::string_view encoded_summary, std::int64_t step);

  /// The graph of a session's model, for the page Graphs: see encode_graph. TensorBoard shows one
  /// graph of a folder. (graph and run_metadata need <typeflow/summaries.hpp>.)
  template <class S>
  void graph(const S& session);
  /// What a tf::Trace has measured of the session's runs. Graphs has the tag in its list of runs,
  /// and then shows the nodes by time and memory; see encode_run_metadata. The folder's graph must
  /// be the session's, and a tag must be new. `sizes`: the batch, or the values of all symbols.
  template <class S, class Trace>
  void run_metadata(const S& session, const Trace& trace, std::string_view tag, std::int64_t step,
                    std::optional<SymbolSizes> sizes = {});
  /// The same for a serialized tensorflow.GraphDef, and for a tensorflow.RunMetadata.
  void add_graph(std::string_view encoded_graph);
  void add_run_metadata(std::string_view tag, std::string_view encoded_metadata, std::int64_t step);

  void flush();
  const std::filesystem::path& path() const;

 private:
  void add_event(std::string_view event);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_RECORDS
#include "typeflow/records/event_writer.ipp"
#endif
