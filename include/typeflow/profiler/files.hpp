// SPDX-License-Identifier: Apache-2.0
#pragma once

// Profiles in files: JSON of our own, and what other programs read.
//
//   tf::save_profile(profile, "net.profile.json");
//   tf::Profile again = tf::load_profile("net.profile.json");
//   tf::save_pprof(profile, "net.pb.gz");                   // pprof -http=: net.pb.gz
//   tf::save_chrome_trace(profile, "net.trace.json");       // ui.perfetto.dev
//   tf::save_flame_graph(profile, "net.svg");

#include <string>

#include "typeflow/profiler/profile.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Writes a profile as JSON. An existing file is replaced as a whole, here as by all functions
/// below.
void save_profile(const Profile& profile, const std::string& path);

/// Error if the file can't be read, is no JSON, or has a field that is missing, unknown, of another
/// type or out of range; it names the file and the field.
Profile load_profile(const std::string& path);

/// The last calls of kernels as JSON for the trace viewers of Chrome and Perfetto: a thread for
/// each device. The arguments of an event are the kernel's operations, source line, flops and bytes
/// of a mean call, and their rates in this call.
std::string chrome_trace(const Profile& profile);
void save_chrome_trace(const Profile& profile, const std::string& path);

/// The profile as pprof reads it: a protocol buffer, packed by gzip. A sample is a kernel. Its
/// stack are the name scopes. Its values are nanoseconds, calls, flops and bytes.
std::string pprof(const Profile& profile);
void save_pprof(const Profile& profile, const std::string& path);

/// A flame graph as an SVG drawing of this width in pixels: the time of scopes, from the top down,
/// and of the kernels in them. Viewers show a box's numbers on demand.
std::string flame_graph(const Profile& profile, int width = 1200);
void save_flame_graph(const Profile& profile, const std::string& path, int width = 1200);

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_PROFILER
#include "typeflow/profiler/files.ipp"
#include "typeflow/profiler/flame_graph.ipp"
#include "typeflow/profiler/pprof.ipp"
#endif
