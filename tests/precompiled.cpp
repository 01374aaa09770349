// SPDX-License-Identifier: Apache-2.0

// Nothing: the target of this file makes the precompiled header of the unit tests.
