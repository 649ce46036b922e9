// SPDX-License-Identifier: BSD-3-Clause
// The packages' model under the name that NandChannel.h gives it.
#define NandChannel NandChannelModel
#include "../../../virtual/nand/NandChannel.cpp"
