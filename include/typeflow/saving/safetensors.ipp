// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/saving/safetensors.hpp"

namespace typeflow::inline TYPEFLOW_ISA::detail {

TYPEFLOW_DEFINITION std::string in_quotes(std::string_view name) {
  constexpr std::size_t longest = 200;
  if (name.size() <= longest) return "'" + std::string(name) + "'";
  return "'" + std::string(name.substr(0, longest)) + "...'";
}

TYPEFLOW_DEFINITION Dims SavedTensor::dims() const {
  Dims dims{};
  for (const std::uint64_t extent : shape) dims.append(static_cast<Extent>(extent));
  return dims;
}
TYPEFLOW_DEFINITION std::string SavedTensor::text() const {
  if (fits_variable()) return to_string(dtype(), dims());
  return std::string(type->name) + " with " + std::to_string(shape.size()) + " axes";
}

/// Receives the tokens of a header from nlohmann's parser. It refuses a value where the format has
/// another kind, so nothing can be nested deep. (The parser itself is not recursive.)
class HeaderReader {
  using Json = nlohmann::json;
  enum class Place { document, header, metadata, tensor, shape, offsets };
  enum Field { no_field = 0, dtype = 1, shape = 2, offsets = 4, all_fields = 7 };

 public:
  HeaderReader(SavedFile& out, const std::string& source) : out_(out), source_(source) {}

  void read(std::string_view text) {
    Json::sax_parse(text.data(), text.data() + text.size(), this);
  }

  // The parser's callbacks; true: go on.
  bool null() { refuse_value("null"); }
  bool boolean(bool) { refuse_value("a boolean"); }
  bool number_integer(Json::number_integer_t) { refuse_value("a negative number"); }
  bool number_float(Json::number_float_t, const std::string& text) {
    const bool whole = text.find_first_of(".eE") == std::string::npos;
    refuse_value(whole ? "a number of more than 64 bits" : "a fraction");
  }
  bool binary(Json::binary_t&) { refuse_value("bytes"); }
  bool number_unsigned(Json::number_unsigned_t number) {
    if (place_ != Place::shape && place_ != Place::offsets) refuse_value("a number");
    if (numbers_.size() == max_saved_rank) refuse_value("a list of so many numbers");
    numbers_.push_back(number);
    return true;
  }
  bool string(std::string& text) {
    if (place_ == Place::metadata) {
      out_.metadata.emplace(std::move(key_), std::move(text));
    } else if (place_ == Place::tensor && field_ == dtype) {
      const auto type = std::ranges::find(saved_types, text, &SavedType::name);
      if (type == std::end(saved_types)) {
        refuse(subject() + " has elements of " + in_quotes(text) + ", a type that is not known");
      }
      tensor_->second.type = type;
    } else {
      refuse_value("a text");
    }
    return true;
  }
  bool key(std::string& name) {
    if (place_ == Place::metadata) {
      if (out_.metadata.contains(name)) refuse("its metadata has " + in_quotes(name) + " twice");
      key_ = std::move(name);
    } else if (place_ == Place::tensor) {
      field_ = name == "dtype"          ? dtype
               : name == "shape"        ? shape
               : name == "data_offsets" ? offsets
                                        : no_field;
      if (field_ == no_field) refuse(subject() + " has the unknown property " + in_quotes(name));
      if ((fields_ & field_) != 0) refuse(subject() + " has its " + name + " twice");
      fields_ |= field_;
    } else {
      at_metadata_ = name == "__metadata__";
      const bool is_new = at_metadata_ ? !std::exchange(has_metadata_, true)
                                       : out_.tensors.try_emplace(name).second;
      if (!is_new) refuse("its header has " + in_quotes(name) + " twice");
      tensor_ = out_.tensors.find(name);
    }
    return true;
  }
  bool start_object(std::size_t) {
    if (place_ == Place::document) {
      place_ = Place::header;
    } else if (place_ == Place::header) {
      place_ = at_metadata_ ? Place::metadata : Place::tensor;
      fields_ = 0;
    } else {
      refuse_value("an object");
    }
    return true;
  }
  bool end_object() {
    if (place_ == Place::tensor && fields_ != all_fields) {
      refuse(subject() + " lacks its dtype, shape or data_offsets");
    }
    place_ = place_ == Place::header ? Place::document : Place::header;
    return true;
  }
  bool start_array(std::size_t) {
    if (place_ != Place::tensor || (field_ != shape && field_ != offsets)) refuse_value("a list");
    place_ = field_ == shape ? Place::shape : Place::offsets;
    numbers_.clear();
    return true;
  }
  bool end_array() {
    SavedTensor& tensor = tensor_->second;
    if (place_ == Place::shape) {
      tensor.shape = numbers_;
    } else if (numbers_.size() == 2) {
      tensor.begin = numbers_[0];
      tensor.end = numbers_[1];
    } else {
      refuse(subject() + " has data_offsets that are not two numbers");
    }
    place_ = Place::tensor;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    const std::string_view why = error.what();
    refuse("its header is no JSON (" + std::string(why.substr(0, 200)) + ")");
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Error(source_, "is damaged, or no safetensors file: " + sentence);
  }
  [[noreturn]] void refuse_value(std::string_view what) const {
    refuse(subject() + " has " + std::string(what) + " where the format has something else");
  }
  std::string subject() const {
    if (place_ == Place::document || place_ == Place::header) return "its header";
    if (place_ == Place::metadata) return "its metadata";
    return "tensor " + in_quotes(tensor_->first);
  }

  SavedFile& out_;
  const std::string& source_;
  Place place_ = Place::document;
  std::map<std::string, SavedTensor, std::less<>>::iterator tensor_{};
  std::string key_;  // the current key of the metadata
  std::vector<std::uint64_t> numbers_;
  int field_ = no_field;
  int fields_ = 0;  // the tensor's fields so far, as bits
  bool at_metadata_ = false;
  bool has_metadata_ = false;
};

/// Checks that the tensors fill the data without gaps and overlaps, and that each has as many bytes
/// as its type and shape need.
inline void check_places(const SavedFile& file, const std::string& source) {
  const auto refuse = [&](const std::string& name, const std::string& sentence) {
    throw Error(source, "is damaged, or no safetensors file: tensor " + in_quotes(name) + sentence);
  };
  using Entry = std::pair<const std::string, SavedTensor>;
  std::vector<const Entry*> in_order;
  for (const Entry& entry : file.tensors) {
    const auto& [name, tensor] = entry;
    std::int64_t bits = tensor.type->bits;
    for (const std::uint64_t extent : tensor.shape) {
      bits = extent < static_cast<std::uint64_t>(too_many)
                 ? checked_product(bits, static_cast<std::int64_t>(extent))
                 : too_many;
      if (bits == too_many) refuse(name, " has more bits than 63 bits can count");
    }
    if (bits % 8 != 0)
      refuse(name, " has " + std::to_string(bits) + " bits, which are no whole bytes");
    const std::int64_t bytes = bits / 8;
    if (tensor.begin > tensor.end || tensor.end > file.data.size()) {
      refuse(name, " is not within the file's " + std::to_string(file.data.size()) +
                       " bytes of data, but at " + std::to_string(tensor.begin) + " to " +
                       std::to_string(tensor.end) + ": the file may have been cut short");
    }
    if (tensor.end - tensor.begin != static_cast<std::uint64_t>(bytes)) {
      refuse(name, " has " + std::to_string(tensor.end - tensor.begin) +
                       " bytes, while its type and shape need " + std::to_string(bytes));
    }
    in_order.push_back(&entry);
  }
  std::ranges::sort(in_order, {}, [](const Entry* entry) {
    return std::pair(entry->second.begin, entry->second.end);
  });
  std::uint64_t end = 0;
  for (const Entry* entry : in_order) {
    if (entry->second.begin < end) refuse(entry->first, " overlaps another");
    if (entry->second.begin > end) refuse(entry->first, " follows bytes that belong to none");
    end = entry->second.end;
  }
  if (end != file.data.size()) {
    throw Error(source, "is damaged, or no safetensors file: it has " +
                            std::to_string(file.data.size() - end) +
                            " bytes after its last tensor");
  }
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION SavedFile parse_safetensors(std::span<const std::byte> bytes,
                                                              const std::string& source) {
  const auto refuse = [&](const std::string& sentence) {
    throw Error(source, "is damaged, or no safetensors file: " + sentence);
  };
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) refuse("it has " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&length, bytes.data(), sizeof length);
  bytes = bytes.subspan(sizeof length);
  if (length > max_header_bytes) {
    refuse("its header would have " + std::to_string(length) +
           " bytes, more than the format allows");
  }
  if (length > bytes.size()) {
    refuse("its header would have " + std::to_string(length) + " bytes, where " +
           std::to_string(bytes.size()) + " follow");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()), length);
  // The parser would skip a byte order mark, and stop at a zero byte.
  if (!header.starts_with('{')) refuse("its header does not begin with '{'");
  if (header.find('\0') != header.npos) refuse("its header has a zero in it");
  SavedFile file;
  HeaderReader(file, source).read(header);
  file.data = bytes.subspan(length);
  check_places(file, source);
  return file;
}

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
