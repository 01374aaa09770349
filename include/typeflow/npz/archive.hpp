// SPDX-License-Identifier: Apache-2.0
#pragma once

// NumPy's archives of named arrays, .npz: zip files with an npy file for each array, stored or
// deflated, also those beyond 4 GiB (zip64).
//
//   tf::write_npz("data.npz", {{"x", {x, {100, 784}}}, {"y", y}});
//   tf::NpzReader arrays("data.npz");
//   const tf::NpyArray<float> x = arrays.read<float>("x");

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/data/npy.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// Reads arrays of an archive. Only one thread at a time may use it.
class NpzReader {
 public:
  /// Error, with the file, if it can't be opened, or is no sound zip archive.
  explicit NpzReader(const std::string& path);
  NpzReader(NpzReader&&) noexcept;
  NpzReader& operator=(NpzReader&&) noexcept;
  ~NpzReader();

  /// The names of the arrays, in the order of the file. Other files of the archive are left out.
  const std::vector<std::string>& names() const;

  /// Reads an array. Error, with the file and the name, if there is none of that name, its checksum
  /// is wrong, or read_npy would give one.
  template <NpyElement T>
  NpyArray<T> read(std::string_view name) {
    NpyArray<T> out;
    read(name, [&](const std::string& whole_name, detail::NpySource& source) {
      out = detail::read_npy_from<T>(whole_name, source);
    });
    return out;
  }
  /// The same for a type that the file tells.
  AnyNpyArray read(std::string_view name);

 private:
  using Call = void (*)(void* context, const std::string& whole_name, detail::NpySource& source);
  struct Parts;

  template <class F>
  void read(std::string_view name, F f) {
    with_member(name, &f,
                [](void* context, const std::string& whole_name, detail::NpySource& source) {
                  (*static_cast<F*>(context))(whole_name, source);
                });
  }
  void with_member(std::string_view name, void* context, Call call);

  std::unique_ptr<Parts> parts_;
};

/// All arrays of an archive. Errors are those of NpzReader.
std::map<std::string, AnyNpyArray> read_npz(const std::string& path);

/// An array that is to be written, with its name.
struct NpzMember {
  std::string name;
  NpyView array;
};
struct NpzOptions {
  bool deflate = false;  ///< as numpy.savez_compressed
  int level = 6;         ///< zlib's, 1 (fast) to 9 (small)
};

/// Writes an archive, whose bytes depend on the arrays and their names alone. It is complete or
/// absent: it is written to a temporary name beside it, then renamed. Error, with the file, if it
/// can't be written, if it would have no array, or two of one name.
void write_npz(const std::string& path, const std::vector<NpzMember>& members,
               const NpzOptions& options = {});

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_NPZ
#include "typeflow/npz/archive.ipp"
#endif
