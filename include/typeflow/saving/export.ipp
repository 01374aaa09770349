// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/core/files.hpp"
#include "typeflow/saving/export.hpp"
#include "typeflow/saving/load.ipp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// Before the name of a signature in a file's metadata.
inline constexpr std::string_view signature_prefix = "typeflow.signature/";

TYPEFLOW_COLD inline nlohmann::json json_of(const std::vector<Signature::Tensor>& tensors) {
  nlohmann::json list = nlohmann::json::array();
  for (const Signature::Tensor& tensor : tensors) {
    nlohmann::json entry = {{"name", tensor.name}, {"type", tensor.type}};
    if (tensor.has_default) entry["has_default"] = true;
    list.push_back(std::move(entry));
  }
  return list;
}

TYPEFLOW_COLD inline std::vector<Signature::Tensor> tensors_of(const nlohmann::json& list) {
  std::vector<Signature::Tensor> tensors;
  for (const nlohmann::json& entry : list) {
    tensors.push_back({entry.at("name").get<std::string>(), entry.at("type").get<std::string>(),
                       entry.value("has_default", false)});
  }
  return tensors;
}

/// Error, which names the source, if the text is not a signature.
TYPEFLOW_COLD inline Signature signature_from(const std::string& text, std::string_view name,
                                              const std::string& source) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    return {tensors_of(json.at("inputs")), tensors_of(json.at("outputs"))};
  } catch (const nlohmann::json::exception&) {
    throw Error(source, "its signature " + in_quotes(name) + " is damaged: " + in_quotes(text));
  }
}

TYPEFLOW_COLD inline std::map<std::string, Signature> signatures_in(const Metadata& metadata,
                                                                    const std::string& source) {
  std::map<std::string, Signature> found;
  for (const auto& [key, text] : metadata) {
    if (!key.starts_with(signature_prefix)) continue;
    const std::string name = key.substr(signature_prefix.size());
    found.emplace(name, signature_from(text, name, source));
  }
  return found;
}

TYPEFLOW_DEFINITION std::set<std::string, std::less<>> used_variables(
    const ir::ProgramView& program) {
  std::set<std::string, std::less<>> used;
  for (const ir::ProgramVariable& variable : program.variables) {
    if (variable.slot == none || variable.state) continue;
    Message name{};
    print_name(name, program, variable.name);
    used.emplace(name.view());
  }
  return used;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void check_loaded(const Variables& variables,
                                                    const std::set<std::string, std::less<>>& used,
                                                    const std::string& source) {
  std::string missing;
  for (const std::string& name : used) {
    if (!variables.contains(name)) missing += (missing.empty() ? "" : ", ") + in_quotes(name);
  }
  if (!missing.empty()) throw Error(source, "has no tensors for the model's variables " + missing);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void check_signature(const Metadata& metadata,
                                                       const Signature& signature,
                                                       std::string_view name,
                                                       const std::string& source) {
  const std::map<std::string, Signature> all = signatures_in(metadata, source);
  const auto found = all.find(std::string(name));
  if (found == all.end()) {
    std::string known;
    for (const auto& [other, tensors] : all)
      known += (known.empty() ? "" : ", ") + in_quotes(other);
    throw Error(source + ": signature " + in_quotes(name),
                known.empty() ? "a file that tf::Export has written" : "one of " + known, "none");
  }
  std::string differences;
  const auto compare = [&](const char* kind, const std::vector<Signature::Tensor>& model,
                           const std::vector<Signature::Tensor>& file) {
    const auto say = [&](const std::string& tensor, const std::string& what) {
      differences += std::string(differences.empty() ? "" : "; ") + kind + in_quotes(tensor) + what;
    };
    for (const Signature::Tensor& tensor : model) {
      const auto same = std::ranges::find(file, tensor.name, &Signature::Tensor::name);
      if (same == file.end()) {
        say(tensor.name, ": the file has none");
      } else if (*same != tensor) {
        say(tensor.name, ": expected " + tensor.type +
                             (tensor.has_default ? " with a default" : "") + ", the file has " +
                             same->type + (same->has_default ? " with a default" : ""));
      }
    }
    for (const Signature::Tensor& tensor : file) {
      if (std::ranges::find(model, tensor.name, &Signature::Tensor::name) == model.end()) {
        say(tensor.name, ": the model has none");
      }
    }
  };
  compare("input ", signature.inputs, found->second.inputs);
  compare("output ", signature.outputs, found->second.outputs);
  if (!differences.empty()) {
    throw Error(source,
                "signature " + in_quotes(name) + " is not that of the model: " + differences);
  }
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION Signature signature_of(const Runner& runner) {
  const auto list = [](std::span<const RunnerTensor> tensors) {
    std::vector<Signature::Tensor> out;
    for (const RunnerTensor& tensor : tensors) {
      out.push_back({std::string(tensor.name), std::string(tensor.type), tensor.has_default});
    }
    return out;
  };
  return {list(runner.inputs()), list(runner.outputs())};
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::map<std::string, Signature> signatures(
    const std::string& path) {
  const detail::MappedFile file(path);
  const detail::SavedFile saved = detail::read_file(file.bytes(), path, {});
  std::map<std::string, Signature> found = detail::signatures_in(saved.metadata, path);
  if (found.empty()) throw Error(path, "has no signatures: tf::Export has not written it");
  return found;
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void Export::add(const std::string& name, Signature signature,
                                                   const ir::ProgramView& program) {
  if (name.empty()) throw Error("Export::add", "a name", "an empty one");
  if (!signatures_.emplace(name, std::move(signature)).second) {
    throw Error("Export::add", "there is a signature " + detail::in_quotes(name) + " already");
  }
  used_.merge(detail::used_variables(program));
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void Export::save(const std::string& path,
                                                    SaveOptions options) const {
  if (signatures_.empty()) throw Error("Export::save", "a signature: call add() before", "none");
  for (const auto& [name, signature] : signatures_) {
    const nlohmann::json json = {{"inputs", detail::json_of(signature.inputs)},
                                 {"outputs", detail::json_of(signature.outputs)}};
    options.metadata.insert_or_assign(std::string(detail::signature_prefix) + name, json.dump());
  }
  const auto selected = std::move(options.only);
  options.only = [&](std::string_view name) {
    return used_.contains(name) && (!selected || selected(name));
  };
  typeflow::save(variables_, path, options);
}

}  // namespace typeflow::inline TYPEFLOW_ISA
