// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trained models for serving: one file with the weights that a model's outputs need, and the names,
// element types and shapes of inputs and outputs. A runner that is made from the file checks that
// it has the same ones. Not part of saving.hpp, because it includes make_runner.hpp.
//
//   tf::Export exported(variables);                            // after the training
//   exported.add<tf::Session<net, tf::inference>, "probabilities", "class">();
//   exported.save("net.safetensors");
//   ...
//   tf::Runner net = tf::exported_runner<tf::Session<net, tf::inference>, "probabilities",
//   "class">(
//       "net.safetensors");                                    // in the program that serves it

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/text.hpp"
#include "typeflow/make_runner.hpp"
#include "typeflow/runner.hpp"
#include "typeflow/runtime/variables.hpp"
#include "typeflow/saving/load.hpp"
#include "typeflow/saving/save.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

/// The inputs and outputs of a model.
struct Signature {
  struct Tensor {
    std::string name;
    std::string type;          ///< "float [batch, 784]"
    bool has_default = false;  ///< an input that need not be fed

    bool operator==(const Tensor&) const = default;
  };
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;

  bool operator==(const Signature&) const = default;
};

/// The signature's name that programs take if they do not ask for another.
inline constexpr const char* default_signature = "serving_default";

/// The inputs and outputs of a runner.
Signature signature_of(const Runner& runner);

/// The signatures of a file that Export has written, by name. Error if the file can't be read, or
/// has none.
std::map<std::string, Signature> signatures(const std::string& path);

namespace detail {

/// The names of the variables that the steps of a program use.
std::set<std::string, std::less<>> used_variables(const ir::ProgramView& program);

/// Error, which lists the differences, unless the metadata of `source` have this signature.
void check_signature(const Metadata& metadata, const Signature& signature, std::string_view name,
                     const std::string& source);

/// Error, which names them, if the store lacks variables that a program uses.
void check_loaded(const Variables& variables, const std::set<std::string, std::less<>>& used,
                  const std::string& source);

/// A runner with the weights of a file or of bytes in memory.
template <class S, Text... N, class From>
Runner runner_from(const From& from, const std::string& source, std::string_view signature,
                   const SessionOptions& options) {
  Metadata metadata;
  const auto fill = [&](Variables& variables) {
    const auto used = used_variables(RunnerOf<S>::template Program<N...>::view);
    const auto is_used = [&](std::string_view name) { return used.contains(name); };
    metadata = load(variables, from, {.partial = true, .only = is_used});
    check_loaded(variables, used, source);
  };
  Runner made = runner<S, N...>(fill, options);
  check_signature(metadata, signature_of(made), signature, source);
  return made;
}

}  // namespace detail

/// A model to export, with one signature or several.
class Export {
 public:
  /// The store must outlive it.
  explicit Export(Variables& variables) : variables_(variables) {}

  /// Adds a signature: outputs N of a session's model, and the inputs that they depend on. The
  /// variables that they depend on will be saved. Error if the store lacks one of them, or if the
  /// signature's name is taken.
  template <class S, Text... N>
  void add(const std::string& name = default_signature) {
    add(name, signature_of(runner<S, N...>(variables_)),
        detail::RunnerOf<S>::template Program<N...>::view);
  }

  /// Writes the file, as save() does. Error if no signature was added.
  void save(const std::string& path, SaveOptions options = {}) const;

 private:
  void add(const std::string& name, Signature signature, const ir::ProgramView& program);

  Variables& variables_;
  std::map<std::string, Signature> signatures_;
  std::set<std::string, std::less<>> used_;
};

/// A runner of a model with the weights of an exported file. Error if the file lacks the signature,
/// or if its inputs and outputs are not those of the model: the sentence lists the differences.
template <class S, Text... N>
Runner exported_runner(const std::string& path, std::string_view signature = default_signature,
                       const SessionOptions& options = {.initialize = false}) {
  return detail::runner_from<S, N...>(path, path, signature, options);
}

/// The same for a file in memory.
template <class S, Text... N>
Runner exported_runner(std::span<const std::byte> bytes,
                       std::string_view signature = default_signature,
                       const SessionOptions& options = {.initialize = false}) {
  return detail::runner_from<S, N...>(bytes, "exported_runner(bytes)", signature, options);
}

}  // namespace typeflow::inline TYPEFLOW_ISA

#ifndef TYPEFLOW_COMPILED_SAVING
#include "typeflow/saving/export.ipp"
#endif
