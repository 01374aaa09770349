// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "typeflow/core/error.hpp"
#include "typeflow/runtime/containers.hpp"

namespace typeflow::inline TYPEFLOW_ISA {

namespace detail {

/// A store of a type of this unit's, so that the code of its pointers is this unit's, too.
struct OwnStore {
  Variables variables;
};

class LocalContainers final : public ContainerTable {
 public:
  virtual ~LocalContainers() = default;

  TYPEFLOW_COLD std::shared_ptr<Variables> open(std::string_view name) override {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<OwnStore>& store = stores_[std::string(name)];
    if (store == nullptr) store = std::make_shared<OwnStore>();
    return {store, &store->variables};
  }
  TYPEFLOW_COLD bool reset(std::string_view name) override {
    std::shared_ptr<OwnStore> old;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    const auto found = stores_.find(std::string(name));
    if (found == stores_.end()) return false;
    old = std::move(found->second);
    found->second = std::make_shared<OwnStore>();
    return true;
  }
  TYPEFLOW_COLD std::vector<std::string> names() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [name, store] : stores_) out.push_back(name);
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<OwnStore>> stores_;
};

/// The table of the process, made by the first who asks.
TYPEFLOW_COLD inline ContainerTable& containers() {
  ContainerTable* table = process_containers.load(std::memory_order_acquire);
  if (table != nullptr) return *table;
  auto made = std::make_unique<LocalContainers>();
  if (process_containers.compare_exchange_strong(table, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *table;
}

}  // namespace detail

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::shared_ptr<Variables> container(std::string_view name) {
  return detail::containers().open(name);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION void reset_container(std::string_view name) {
  if (detail::containers().reset(name)) return;
  std::string known;
  for (const std::string& other : container_names()) {
    known += (known.empty() ? "" : ", ") + ('"' + other + '"');
  }
  throw Error("reset_container(\"" + std::string(name) + "\")",
              known.empty() ? "there are no containers" : "there are only the containers " + known);
}

TYPEFLOW_COLD TYPEFLOW_DEFINITION std::vector<std::string> container_names() {
  return detail::containers().names();
}

}  // namespace typeflow::inline TYPEFLOW_ISA
