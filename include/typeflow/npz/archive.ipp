// SPDX-License-Identifier: Apache-2.0
#pragma once

#if !__has_include(<zip.h>)
#error "typeflow/npz.hpp: libzip is needed (Debian: libzip-dev)"
#endif

#include <zip.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/npz/archive.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

struct ZipDiscarded {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Zip = std::unique_ptr<zip_t, ZipDiscarded>;

struct ZipFileClosed {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

TYPEFLOW_COLD inline Zip open_zip(const std::string& path, int flags) {
  int code = 0;
  Zip archive(zip_open(path.c_str(), flags, &code));
  if (archive != nullptr) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error(path, "cannot be opened as a zip archive (" + reason + ")");
}

/// A file of an archive. Its checksum has been compared when its end has been read.
class NpzMemberSource final : public NpySource {
 public:
  NpzMemberSource(const std::string& name, zip_t* archive, zip_uint64_t index)
      : name_(name), file_(zip_fopen_index(archive, index, 0)) {
    if (file_ == nullptr)
      throw Error(name, std::string("cannot be read (") + zip_strerror(archive) + ")");
  }
  std::size_t read(void* to, std::size_t count) override {
    std::size_t done = 0;
    while (done < count) {
      const zip_int64_t got =
          zip_fread(file_.get(), static_cast<unsigned char*>(to) + done, count - done);
      if (got < 0) {
        throw Error(name_, std::string("cannot be read (") + zip_file_strerror(file_.get()) + ")");
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  const std::string& name_;
  std::unique_ptr<zip_file_t, ZipFileClosed> file_;
};

}  // namespace detail

struct NpzReader::Parts {
  explicit Parts(const std::string& its_path) : path(its_path) {
    std::error_code error;
    if (std::filesystem::is_directory(detail::checked_path(path), error)) {
      throw Error(path, "a file", "a folder");
    }
    // libzip takes an empty file for an archive without files.
    if (std::filesystem::file_size(path, error) == 0 && !error) {
      throw Error(path, "a zip archive", "an empty file");
    }
    archive = detail::open_zip(path, ZIP_RDONLY | ZIP_CHECKCONS);
    const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      const auto index = static_cast<zip_uint64_t>(i);
      const char* const text = zip_get_name(archive.get(), index, 0);
      if (text == nullptr) {
        throw Error(path, std::string("cannot be read (") + zip_strerror(archive.get()) + ")");
      }
      std::string name = text;
      if (!name.ends_with(".npy")) continue;
      name.resize(name.size() - 4);
      if (!index_of.emplace(name, index).second) {
        throw Error(path, "each array once", "'" + name + "' twice");
      }
      names.push_back(std::move(name));
    }
  }

  std::string path;
  detail::Zip archive;
  std::vector<std::string> names;
  std::map<std::string, zip_uint64_t, std::less<>> index_of;
};

TYPEFLOW_COLD TYPEFLOW_DEFINITION NpzReader::NpzReader(const std::string& path)
    : parts_(std::make_unique<Parts>(path)) {}
TYPEFLOW_DEFINITION NpzReader::NpzReader(NpzReader&&) noexcept = default;
TYPEFLOW_DEFINITION NpzReader& NpzReader::operator=(NpzReader&&) noexcept = default;
TYPEFLOW_DEFINITION NpzReader::~NpzReader() = default;
TYPEFLOW_DEFINITION const std::vector<std::string>& NpzReader::names() const {
  return parts_->names;
}

TYPEFLOW_DEFINITION void NpzReader::with_member(std::string_view name, void* context, Call call) {
  const auto found = parts_->index_of.find(name);
  if (found == parts_->index_of.end()) {
    std::string known;
    for (std::size_t i = 0; i < std::min<std::size_t>(parts_->names.size(), 8); ++i) {
      known += (i == 0 ? "'" : ", '") + parts_->names[i] + "'";
    }
    if (parts_->names.size() > 8) known += "...";
    throw Error(parts_->path, "an array '" + std::string(name) + "'",
                known.empty() ? "no array" : known);
  }
  const std::string whole_name = parts_->path + ": array '" + std::string(name) + "'";
  detail::NpzMemberSource source(whole_name, parts_->archive.get(), found->second);
  call(context, whole_name, source);
}

TYPEFLOW_DEFINITION AnyNpyArray NpzReader::read(std::string_view name) {
  AnyNpyArray out;
  read(name, [&](const std::string& whole_name, detail::NpySource& source) {
    out = detail::read_any_npy_from(whole_name, source);
  });
  return out;
}

TYPEFLOW_DEFINITION std::map<std::string, AnyNpyArray> read_npz(const std::string& path) {
  NpzReader reader(path);
  std::map<std::string, AnyNpyArray> out;
  for (const std::string& name : reader.names()) out.emplace(name, reader.read(name));
  return out;
}

TYPEFLOW_DEFINITION void write_npz(const std::string& path, const std::vector<NpzMember>& members,
                                   const NpzOptions& options) {
  if (members.empty()) throw Error(path, "one array or more", "none");
  if (options.deflate && (options.level < 1 || options.level > 9)) {
    throw Error("write_npz", "a level of 1 to 9", std::to_string(options.level));
  }
  std::set<std::string_view> names;
  for (const NpzMember& member : members) {
    if (member.name.empty() || member.name.find('\0') != std::string::npos) {
      throw Error(path, "names of arrays with one character or more, and no zero",
                  "'" + member.name + "'");
    }
    if (!names.insert(member.name).second) {
      throw Error(path, "each array once", "'" + member.name + "' twice");
    }
  }
  std::error_code error;
  const auto status = std::filesystem::status(detail::checked_path(path), error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Error(path, "is no regular file, so it can't be replaced");
  }

  std::vector<std::string> headers;  // libzip reads the parts when it closes the archive
  headers.reserve(members.size());
  detail::Zip archive = detail::open_zip(path, ZIP_CREATE | ZIP_TRUNCATE);
  const auto fail = [&] {
    throw Error(path, std::string("cannot be written (") + zip_strerror(archive.get()) + ")");
  };
  for (const NpzMember& member : members) {
    const NpyView& array = member.array;
    std::string& header = headers.emplace_back(detail::npy_header_of(array));
    const auto* const data = static_cast<const zip_uint8_t*>(array.data());
    const std::array<zip_buffer_fragment_t, 2> parts = {
        {{reinterpret_cast<zip_uint8_t*>(header.data()), header.size()},
         {const_cast<zip_uint8_t*>(data), array.bytes()}}};
    zip_source_t* const source =
        zip_source_buffer_fragment(archive.get(), parts.data(), array.bytes() == 0 ? 1 : 2, 0);
    if (source == nullptr) fail();
    const zip_int64_t index =
        zip_file_add(archive.get(), (member.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail();
    }
    const auto at = static_cast<zip_uint64_t>(index);
    constexpr zip_uint16_t first_date = 1 << 5 | 1;  // 1980-01-01, as NumPy has it
    if (zip_set_file_compression(archive.get(), at, options.deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 static_cast<zip_uint32_t>(options.level)) != 0 ||
        zip_file_set_dostime(archive.get(), at, 0, first_date, 0) != 0) {
      fail();
    }
  }
  if (zip_close(archive.get()) != 0) fail();  // else the archive is gone
  static_cast<void>(archive.release());
}

}  // namespace typeflow::inline TYPEFLOW_ISA
