// SPDX-License-Identifier: Apache-2.0
#pragma once

// TYPEFLOW_ISA: a name for the instruction set that this translation unit is compiled for. All
// of typeflow is in an inline namespace of this name, so that units built for different instruction
// sets share no code. Otherwise the linker could take the AVX2 form of an inline function where a
// baseline unit calls it.
//
// On x86-64 it is the ABI's level, x86_v1 to x86_v4, if that says all. Otherwise it is x86_ and a
// bit for each extension that compilers use unasked. On ARM it is aarch64_ and such bits. On other
// processors all units count as one instruction set.
//
// What units exchange is outside, in typeflow itself: Variables and Error, and the Dims and DType
// that they use. None of their functions is compiled on its own, unless its symbol has the name
// in a template argument, or nothing in it depends on an instruction set.

/// A member of a type that units exchange: always inlined, also without optimisation.
#define TYPEFLOW_EXCHANGED [[gnu::always_inline]]

// TYPEFLOW_ISA_BIT(__AVX__): 1 if the compiler defines __AVX__ as 1, otherwise 0.
#define TYPEFLOW_ISA_IS_1 0, 1
#define TYPEFLOW_ISA_SECOND(a, b, ...) b
#define TYPEFLOW_ISA_CHOOSE(...) TYPEFLOW_ISA_SECOND(__VA_ARGS__, 0, 0)
#define TYPEFLOW_ISA_TEST(x) TYPEFLOW_ISA_CHOOSE(TYPEFLOW_ISA_IS_##x)
#define TYPEFLOW_ISA_BIT(x) TYPEFLOW_ISA_TEST(x)

// Four bits as a hexadecimal digit.
#define TYPEFLOW_ISA_HEX_0000 0
#define TYPEFLOW_ISA_HEX_0001 1
#define TYPEFLOW_ISA_HEX_0010 2
#define TYPEFLOW_ISA_HEX_0011 3
#define TYPEFLOW_ISA_HEX_0100 4
#define TYPEFLOW_ISA_HEX_0101 5
#define TYPEFLOW_ISA_HEX_0110 6
#define TYPEFLOW_ISA_HEX_0111 7
#define TYPEFLOW_ISA_HEX_1000 8
#define TYPEFLOW_ISA_HEX_1001 9
#define TYPEFLOW_ISA_HEX_1010 a
#define TYPEFLOW_ISA_HEX_1011 b
#define TYPEFLOW_ISA_HEX_1100 c
#define TYPEFLOW_ISA_HEX_1101 d
#define TYPEFLOW_ISA_HEX_1110 e
#define TYPEFLOW_ISA_HEX_1111 f
#define TYPEFLOW_ISA_JOIN_BITS(a, b, c, d) TYPEFLOW_ISA_HEX_##a##b##c##d
#define TYPEFLOW_ISA_JOIN(a, b, c, d) TYPEFLOW_ISA_JOIN_BITS(a, b, c, d)
#define TYPEFLOW_ISA_DIGIT(a, b, c, d)                                             \
  TYPEFLOW_ISA_JOIN(TYPEFLOW_ISA_BIT(a), TYPEFLOW_ISA_BIT(b), TYPEFLOW_ISA_BIT(c), \
                    TYPEFLOW_ISA_BIT(d))

#define TYPEFLOW_ISA_PASTE_9(x, a, b, c, d, e, f, g, h, i) x##a##b##c##d##e##f##g##h##i
#define TYPEFLOW_ISA_PASTE(x, ...) TYPEFLOW_ISA_PASTE_9(x, __VA_ARGS__)

#if defined(__x86_64__)

#define TYPEFLOW_ISA_NAME(prefix)                                                                 \
  TYPEFLOW_ISA_PASTE(                                                                             \
      prefix, TYPEFLOW_ISA_DIGIT(__SSE3__, __SSSE3__, __SSE4_1__, __SSE4_2__),                    \
      TYPEFLOW_ISA_DIGIT(__POPCNT__, __AVX__, __AVX2__, __FMA__),                                 \
      TYPEFLOW_ISA_DIGIT(__BMI__, __BMI2__, __F16C__, __LZCNT__),                                 \
      TYPEFLOW_ISA_DIGIT(__MOVBE__, __AVX512F__, __AVX512BW__, __AVX512CD__),                     \
      TYPEFLOW_ISA_DIGIT(__AVX512DQ__, __AVX512VL__, __AVX512IFMA__, __AVX512VBMI__),             \
      TYPEFLOW_ISA_DIGIT(__AVX512VBMI2__, __AVX512VNNI__, __AVX512BITALG__, __AVX512VPOPCNTDQ__), \
      TYPEFLOW_ISA_DIGIT(__AVX512BF16__, __AVX512FP16__, __AVXVNNI__, __AVXIFMA__),               \
      TYPEFLOW_ISA_DIGIT(__AVXVNNIINT8__, __GFNI__, __FMA4__, __XOP__),                           \
      TYPEFLOW_ISA_DIGIT(__SSE4A__, __TBM__, __APX_F__, __VAES__))
#if TYPEFLOW_ISA_NAME(0x) == 0
#define TYPEFLOW_ISA x86_v1
#elif TYPEFLOW_ISA_NAME(0x) == 0xf80000000
#define TYPEFLOW_ISA x86_v2
#elif TYPEFLOW_ISA_NAME(0x) == 0xfff800000
#define TYPEFLOW_ISA x86_v3
#elif TYPEFLOW_ISA_NAME(0x) == 0xffffc0000
#define TYPEFLOW_ISA x86_v4
#else
#define TYPEFLOW_ISA TYPEFLOW_ISA_NAME(x86_)
#endif

#elif defined(__aarch64__)

#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 0
#define TYPEFLOW_ISA_SVE_BITS __ARM_FEATURE_SVE_BITS
#else
#define TYPEFLOW_ISA_SVE_BITS any
#endif
#define TYPEFLOW_ISA                                                                      \
  TYPEFLOW_ISA_PASTE(                                                                     \
      aarch64_,                                                                           \
      TYPEFLOW_ISA_DIGIT(__ARM_FEATURE_SVE, __ARM_FEATURE_SVE2, __ARM_FEATURE_DOTPROD,    \
                         __ARM_FEATURE_FP16_VECTOR_ARITHMETIC),                           \
      TYPEFLOW_ISA_DIGIT(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC, __ARM_FEATURE_MATMUL_INT8, \
                         __ARM_FEATURE_ATOMICS, __ARM_FEATURE_COMPLEX),                   \
      _, TYPEFLOW_ISA_SVE_BITS, , , , , )

#else
#define TYPEFLOW_ISA one_isa
#endif

namespace typeflow::inline TYPEFLOW_ISA::detail {

/// Puts the instruction set into the symbol of a member of an exchanged type: `template <class Here
/// = detail::Isa>`.
struct Isa;

}  // namespace typeflow::inline TYPEFLOW_ISA::detail
