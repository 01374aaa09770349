// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "typeflow/core/error.hpp"

/// What the tf::Error says that f throws; empty if it throws none.
template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const typeflow::Error& error) {
    return error.what();
  }
  return "";
}
