// SPDX-License-Identifier: Apache-2.0
#pragma once

// Descriptions of kernels as words, which are cheaper to compare than records while the compiler
// evaluates: each becomes a KernelSpec when the first of its kind is met.

#include <cstdint>

#include "typeflow/lower/program.hpp"
#include "typeflow/lower/slots.hpp"

namespace typeflow::inline TYPEFLOW_TARGET::ir {

class KernelWords : protected ProgramBuilder {
 protected:
  using ProgramBuilder::ProgramBuilder;

  // Arguments in descriptions: inputs from 0 on, a contraction's product, items.
  static constexpr int product_number = 32;
  static constexpr int first_item = 33;
  // What an input is besides an element type and axes, and a store besides a value and a type.
  static constexpr int index_bit = 1;
  static constexpr int row_bit = 1;
  static constexpr int window_bit = 2;
  // A description is a head, the body, and the inputs, which are known when the body is.
  static constexpr int head_size = 5;

  /// The number of an operation in this program's descriptions.
  constexpr int operation(const Op& op) {
    const int place = static_cast<int>(op.id & 63u);
    if (op_number_[place] != 0 && ops_[op_number_[place] - 1].op->id == op.id) {
      return op_number_[place] - 1;
    }
    int number = 0;
    while (number < ops_.size() && ops_[number].op->id != op.id) ++number;
    if (number == ops_.size()) ops_.push(Operation{&op});
    op_number_[place] = number + 1;
    return number;
  }

  /// The number of the kernel whose description is in spec_.
  constexpr Id kernel() {
    const int* const spec = spec_;
    const int size = size_;
    unsigned key = static_cast<unsigned>(size);
    for (int i = 0; i < size; i += 3) key = (key * 31u + static_cast<unsigned>(spec[i])) & 0xffffu;
    for (int k = known_.size() - 1; k >= 0; --k) {
      const Known known = known_.data()[k];
      if (known.key != key || known.words.count != size) continue;
      const int* const words = all_words_.data() + known.words.first;
      int i = 0;
      while (i < size && words[i] == spec[i]) ++i;
      if (i == size) return k;
    }
    const Range words{all_words_.size(), size};
    for (int i = 0; i < size; ++i) all_words_.push(spec[i]);
    known_.push(Known{key, words});
    const KernelSpec decoded = decode();
    out_.specs.push(decoded);
    out_.kernels.push(summary_of(decoded));
    return known_.size() - 1;
  }

  /// The number of a kernel of another program.
  constexpr Id kernel(const KernelSpec& k) {
    encode(k);
    return kernel();
  }

  /// A description as words in spec_.
  constexpr void encode(const KernelSpec& k) {
    size_ = 0;
    input_count_ = k.inputs;
    const auto push = [this](auto word) { spec_[size_++] = static_cast<int>(word); };
    push(static_cast<int>(k.kind) | static_cast<int>(k.device) << 8);
    if (k.kind == KernelKind::control) return;
    if (k.kind == KernelKind::custom) {
      push(operation(*k.op));
      push(k.inputs);
      for (int i = 0; i < k.inputs; ++i) {
        push(k.input[i].dtype);
        push(k.input[i].axes);
      }
      push(k.stores);
      for (int i = 0; i < k.stores; ++i) {
        push(k.store[i].dtype);
        push(k.store[i].value);
      }
      return;
    }
    const bool contraction = k.kind == KernelKind::contraction;
    if (contraction) {
      push(k.variant);
      push(k.dtype);
      push(k.outer);
      push(operation(*k.op));
    } else {
      push(k.wide);
      push(k.outer);
      push(k.folds);
      push(0);
    }
    const auto code = [&](int number) {
      if (number < k.inputs) return number;
      return contraction && number == k.inputs ? product_number
                                               : number - k.inputs - contraction + first_item;
    };
    push(k.items);
    for (int i = 0; i < k.items; ++i) {
      const ItemSpec& item = k.item[i];
      push(operation(*item.op));
      push(int{item.is_fold} | int{item.is_row} << 1 | item.phase << 2);
      push(item.dtype);
      push(item.count);
      for (int a = 0; a < item.count; ++a) push(code(item.arguments[a]));
    }
    push(k.stores);
    for (int i = 0; i < k.stores; ++i) {
      push(code(k.store[i].value));
      push((k.store[i].is_row ? row_bit : 0) | (k.store[i].is_window ? window_bit : 0));
      push(k.store[i].dtype);
    }
    push(k.inputs);
    for (int i = 0; i < k.inputs; ++i) {
      push(k.input[i].dtype);
      push((k.input[i].is_index ? index_bit : 0) | (k.input[i].is_window ? window_bit : 0));
      push(k.input[i].axes);
    }
  }

  /// The description in spec_ as a record.
  constexpr KernelSpec decode() const {
    KernelSpec k{};
    const int* at = spec_;
    const int kind = *at++;
    k.kind = static_cast<KernelKind>(kind & 0xff);
    k.device = static_cast<DeviceKind>(kind >> 8);
    if (k.kind == KernelKind::control) return k;
    if (k.kind == KernelKind::custom) {
      k.op = ops_[*at++].op;
      k.inputs = *at++;
      for (int i = 0; i < k.inputs; ++i, at += 2) {
        k.input[i] = {static_cast<DType>(at[0]), false, false, static_cast<unsigned>(at[1])};
      }
      k.stores = *at++;
      for (int i = 0; i < k.stores; ++i, at += 2) {
        k.store[i] = {at[1], false, false, static_cast<DType>(at[0])};
      }
      return k;
    }
    if (k.kind == KernelKind::contraction) {
      k.variant = static_cast<unsigned>(at[0]);
      k.dtype = static_cast<DType>(at[1]);
      k.wide = size_of(k.dtype) == 8;
      k.outer = at[2];
      k.op = ops_[at[3]].op;
    } else {
      k.wide = at[0] != 0;
      k.outer = at[1];
      k.folds = at[2] != 0;
    }
    at += head_size - 1;
    const int shift = input_count_ - first_item + (k.kind == KernelKind::contraction ? 1 : 0);
    const auto number = [&](int code) {
      return code < product_number ? code : code == product_number ? input_count_ : code + shift;
    };
    k.items = *at++;
    for (int i = 0; i < k.items; ++i) {
      ItemSpec& item = k.item[i];
      item.op = ops_[at[0]].op;
      item.is_fold = (at[1] & 1) != 0;
      item.is_row = (at[1] & 2) != 0;
      item.phase = at[1] >> 2;
      item.dtype = static_cast<DType>(at[2]);
      item.count = at[3];
      at += 4;
      for (int a = 0; a < item.count; ++a) item.arguments[a] = number(*at++);
    }
    k.stores = *at++;
    for (int i = 0; i < k.stores; ++i, at += 3) {
      k.store[i] = {number(at[0]), (at[1] & row_bit) != 0, (at[1] & window_bit) != 0,
                    static_cast<DType>(at[2])};
    }
    k.inputs = *at++;
    for (int i = 0; i < k.inputs; ++i, at += 3) {
      k.input[i] = {static_cast<DType>(at[0]), (at[1] & index_bit) != 0, (at[1] & window_bit) != 0,
                    static_cast<unsigned>(at[2])};
    }
    return k;
  }

  struct Operation {
    const Op* op;
  };
  struct Known {
    unsigned key;  // of some of the words, to spare most comparisons
    Range words;
  };

  // Of the cluster at hand.
  int spec_[2048] = {};  // the description of its kernel
  int size_ = 0;
  int input_count_ = 0;

 private:
  Pool<int> all_words_;
  Pool<Known> known_;  // by kernel
  Pool<Operation> ops_;
  int op_number_[64] = {};
};

}  // namespace typeflow::inline TYPEFLOW_TARGET::ir
