// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "typeflow/core/error.hpp"
#include "typeflow/records/example.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

// tensorflow/core/example/feature.proto and example.proto: numbers of fields.
inline constexpr protozero::pbf_tag_type the_first = 1;
inline constexpr protozero::pbf_tag_type the_second = 2;

inline constexpr const char* feature_types[] = {"none", "bytes", "float", "int64"};

TYPEFLOW_COLD TYPEFLOW_DEFINITION void fail_missing(std::string_view key) {
  throw Error("feature '" + std::string(key) + "'", "is missing, and has no default");
}
TYPEFLOW_COLD TYPEFLOW_DEFINITION void fail_count(std::string_view key, std::size_t expected,
                                                  std::size_t got) {
  throw Error("feature '" + std::string(key) + "'", std::to_string(expected) + " values",
              std::to_string(got));
}
[[noreturn]] TYPEFLOW_COLD inline void fail_encoding(const char* what, const std::exception& why) {
  throw Error(what, std::string("is damaged: ") + why.what());
}

inline void write_feature(protozero::pbf_writer& out, protozero::pbf_tag_type tag,
                          const Feature& feature) {
  protozero::pbf_writer message(out, tag);
  // (A writer without fields leaves nothing of its message; a list of no values still has a type.)
  const auto list = [&](protozero::pbf_tag_type kind, const auto& values, const auto& write) {
    if (values.empty()) return message.add_message(kind, protozero::data_view{"", 0});
    protozero::pbf_writer in(message, kind);
    write(in);
  };
  if (const auto* const bytes = std::get_if<std::vector<std::string>>(&feature)) {
    list(1, *bytes, [&](protozero::pbf_writer& in) {
      for (const std::string& value : *bytes) in.add_bytes(1, value);
    });
  } else if (const auto* const floats = std::get_if<std::vector<float>>(&feature)) {
    list(2, *floats, [&](protozero::pbf_writer& in) {
      in.add_packed_float(1, floats->begin(), floats->end());
    });
  } else if (const auto* const numbers = std::get_if<std::vector<std::int64_t>>(&feature)) {
    list(3, *numbers, [&](protozero::pbf_writer& in) {
      in.add_packed_int64(1, numbers->begin(), numbers->end());
    });
  }
}
inline void write_features(protozero::pbf_writer& out, protozero::pbf_tag_type tag,
                           const FeatureMap& features) {
  protozero::pbf_writer message(out, tag);
  for (const auto& [key, feature] : features) {
    protozero::pbf_writer entry(message, 1);
    entry.add_string(1, key);
    write_feature(entry, 2, feature);
  }
}

/// A Feature. If it has several lists, the last one counts, and lists of one kind are one, as in
/// all protocol buffers.
inline Feature read_feature(protozero::pbf_reader message) {
  Feature feature;
  const auto list_of = [&]<class T>(std::type_identity<T>) -> std::vector<T>& {
    if (!std::holds_alternative<std::vector<T>>(feature)) feature = std::vector<T>();
    return std::get<std::vector<T>>(feature);
  };
  while (message.next()) {
    const protozero::pbf_tag_type kind = message.tag();
    if (message.wire_type() != protozero::pbf_wire_type::length_delimited || kind < 1 || kind > 3) {
      message.skip();
      continue;
    }
    protozero::pbf_reader list = message.get_message();
    using protozero::pbf_wire_type;
    // Numbers are packed or not; both may occur in one list.
    const auto numbers = [&](auto& values, pbf_wire_type single, const auto& get_packed,
                             const auto& get) {
      while (list.next(1)) {
        if (list.wire_type() == pbf_wire_type::length_delimited) {
          const auto packed = get_packed();
          values.insert(values.end(), packed.begin(), packed.end());
        } else if (list.wire_type() == single) {
          values.push_back(get());
        } else {
          list.skip();
        }
      }
    };
    if (kind == 1) {
      std::vector<std::string>& values = list_of(std::type_identity<std::string>{});
      while (list.next(1, pbf_wire_type::length_delimited)) values.push_back(list.get_string());
    } else if (kind == 2) {
      numbers(
          list_of(std::type_identity<float>{}), pbf_wire_type::fixed32,
          [&] { return list.get_packed_float(); }, [&] { return list.get_float(); });
    } else {
      numbers(
          list_of(std::type_identity<std::int64_t>{}), pbf_wire_type::varint,
          [&] { return list.get_packed_int64(); }, [&] { return list.get_int64(); });
    }
  }
  return feature;
}

/// f(key, value) for each entry of a map's message, whose value is a message.
template <class F>
void each_entry(protozero::pbf_reader map, const F& f) {
  while (map.next(1, protozero::pbf_wire_type::length_delimited)) {
    protozero::pbf_reader entry = map.get_message();
    std::string_view key;
    protozero::pbf_reader value;
    while (entry.next()) {
      const bool is_bytes = entry.wire_type() == protozero::pbf_wire_type::length_delimited;
      if (entry.tag() == 1 && is_bytes) {
        const protozero::data_view view = entry.get_view();
        key = {view.data(), view.size()};
      } else if (entry.tag() == 2 && is_bytes) {
        value = entry.get_message();
      } else {
        entry.skip();
      }
    }
    f(key, value);
  }
}
inline void read_features(protozero::pbf_reader message, FeatureMap& out) {
  each_entry(message, [&](std::string_view key, const protozero::pbf_reader& value) {
    out.insert_or_assign(std::string(key), read_feature(value));
  });
}

TYPEFLOW_DEFINITION void find_features(std::string_view bytes, WantedFeature* wanted,
                                       std::size_t count) {
  try {
    protozero::pbf_reader example(bytes.data(), bytes.size());
    while (example.next(the_first, protozero::pbf_wire_type::length_delimited)) {
      each_entry(example.get_message(),
                 [&](std::string_view key, const protozero::pbf_reader& value) {
                   for (std::size_t i = 0; i < count; ++i) {
                     if (wanted[i].key != key) continue;
                     wanted[i].found = read_feature(value);
                     wanted[i].is_there = true;
                   }
                 });
    }
  } catch (const protozero::exception& why) {
    fail_encoding("an Example", why);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<int>(wanted[i].found.index());
    if (kind != 0 && kind != wanted[i].kind) {
      throw Error("feature '" + std::string(wanted[i].key) + "'",
                  std::string("values of type ") + feature_types[wanted[i].kind],
                  feature_types[kind]);
    }
  }
}

}  // namespace detail

TYPEFLOW_DEFINITION std::string encode(const Example& example) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  detail::write_features(out, detail::the_first, example.features);
  return bytes;
}
TYPEFLOW_DEFINITION std::string encode(const SequenceExample& example) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  detail::write_features(out, detail::the_first, example.context);
  protozero::pbf_writer lists(out, detail::the_second);
  for (const auto& [key, features] : example.feature_lists) {
    protozero::pbf_writer entry(lists, 1);
    entry.add_string(1, key);
    protozero::pbf_writer list(entry, 2);
    for (const Feature& feature : features) detail::write_feature(list, 1, feature);
  }
  return bytes;
}

TYPEFLOW_DEFINITION Example decode_example(std::string_view bytes) {
  Example example;
  try {
    protozero::pbf_reader in(bytes.data(), bytes.size());
    while (in.next(detail::the_first, protozero::pbf_wire_type::length_delimited)) {
      detail::read_features(in.get_message(), example.features);
    }
  } catch (const protozero::exception& why) {
    detail::fail_encoding("an Example", why);
  }
  return example;
}
TYPEFLOW_DEFINITION SequenceExample decode_sequence_example(std::string_view bytes) {
  SequenceExample example;
  try {
    protozero::pbf_reader in(bytes.data(), bytes.size());
    while (in.next()) {
      const bool is_bytes = in.wire_type() == protozero::pbf_wire_type::length_delimited;
      if (in.tag() == detail::the_first && is_bytes) {
        detail::read_features(in.get_message(), example.context);
      } else if (in.tag() == detail::the_second && is_bytes) {
        detail::each_entry(in.get_message(), [&](std::string_view key, protozero::pbf_reader list) {
          std::vector<Feature> features;
          while (list.next(1, protozero::pbf_wire_type::length_delimited)) {
            features.push_back(detail::read_feature(list.get_message()));
          }
          example.feature_lists.insert_or_assign(std::string(key), std::move(features));
        });
      } else {
        in.skip();
      }
    }
  } catch (const protozero::exception& why) {
    detail::fail_encoding("a SequenceExample", why);
  }
  return example;
}

}  // namespace typeflow::inline TYPEFLOW_ISA
