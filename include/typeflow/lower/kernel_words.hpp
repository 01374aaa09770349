// SPDX-License-Identifier: Apache-2.0
#pragma once

// Descriptions of kernels as words, which are cheaper to compare than records in constant
// evaluation. The first one of a kind becomes a KernelSpec. Each step of a program is described and
// compared, so words are few: they hold several numbers each.

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
  // Flags of an input besides its element type and axes, and of a store besides its value and type.
  static constexpr int index_bit = 1;
  static constexpr int row_bit = 1;
  static constexpr int window_bit = 2;
  // A description is a head, the body, and the inputs, which are known after the body. Where the
  // numbers are in a word, by bits:
  //
  //   an item    fold, row value; phase from 2 on; element type 6; arguments 11; operation 15
  //   arguments  four to a word, 8 bits each
  //   a store    value; kind from 8 on; element type 10
  //   an input   element type; kind from 6 on; axes 8
  static constexpr int head_size = 5;
  static constexpr int item_word(int operation, int flags, int phase, int dtype, int arguments) {
    return flags | phase << 2 | dtype << 6 | arguments << 11 | operation << 15;
  }
  static constexpr int store_word(int value, int kind, int dtype) {
    return value | kind << 8 | dtype << 10;
  }
  static constexpr int input_word(int dtype, int kind, unsigned axes) {
    return dtype | kind << 6 | static_cast<int>(axes) << 8;
  }
  constexpr void push_argument(int i, int number) {
    if (i % 4 == 0) {
      spec_[size_++] = number;
    } else {
      spec_[size_ - 1] |= number << 8 * (i % 4);
    }
  }
  static_assert(dtype_count < 32 && FusionLimits::most_phases < 16 && max_arity < 16 &&
                first_item + KernelSpec::max_items < 128);

  /// The number of an operation in this program's descriptions.
  constexpr int operation(const Op& op) {
    const int place = static_cast<int>(op.id & 63u);
    if (op_number_[place] != 0 && ops_.items[op_number_[place] - 1].op->id == op.id) {
      return op_number_[place] - 1;
    }
    int number = 0;
    while (number < ops_.size() && ops_.items[number].op->id != op.id) ++number;
    if (number == ops_.size()) ops_.push(Operation{&op});
    op_number_[place] = number + 1;
    return number;
  }

  /// The number of the kernel whose description is in spec_.
  constexpr Id kernel() {
    const int* const spec = spec_;
    const int size = size_;
    unsigned key = static_cast<unsigned>(size);
    for (int i = 0; i < size; i += 2) key = (key * 31u + static_cast<unsigned>(spec[i])) & 0xffffu;
    for (int k = known_.size() - 1; k >= 0; --k) {
      const Known known = known_.items[k];
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
      push(item_word(operation(*item.op), int{item.is_fold} | int{item.is_row} << 1, item.phase,
                     static_cast<int>(item.dtype), item.count));
      for (int a = 0; a < item.count; ++a) push_argument(a, code(item.arguments[a]));
    }
    push(k.stores);
    for (int i = 0; i < k.stores; ++i) {
      const StoreSpec& store = k.store[i];
      push(store_word(code(store.value),
                      (store.is_row ? row_bit : 0) | (store.is_window ? window_bit : 0),
                      static_cast<int>(store.dtype)));
    }
    push(k.inputs);
    for (int i = 0; i < k.inputs; ++i) {
      const InputSpec& input = k.input[i];
      push(input_word(static_cast<int>(input.dtype),
                      (input.is_index ? index_bit : 0) | (input.is_window ? window_bit : 0),
                      input.axes));
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
      const int word = *at++;
      item.op = ops_.items[word >> 15].op;
      item.is_fold = (word & 1) != 0;
      item.is_row = (word & 2) != 0;
      item.phase = word >> 2 & 15;
      item.dtype = static_cast<DType>(word >> 6 & 31);
      item.count = word >> 11 & 15;
      for (int a = 0; a < item.count; ++a) {
        item.arguments[a] = number(at[a / 4] >> 8 * (a % 4) & 127);
      }
      at += (item.count + 3) / 4;
    }
    k.stores = *at++;
    for (int i = 0; i < k.stores; ++i) {
      const int word = *at++;
      const int bits = word >> 8 & 3;
      k.store[i] = {number(word & 127), (bits & row_bit) != 0, (bits & window_bit) != 0,
                    static_cast<DType>(word >> 10)};
    }
    k.inputs = *at++;
    for (int i = 0; i < k.inputs; ++i) {
      const int word = *at++;
      const int bits = word >> 6 & 3;
      k.input[i] = {static_cast<DType>(word & 31), (bits & index_bit) != 0,
                    (bits & window_bit) != 0, static_cast<unsigned>(word >> 8)};
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
