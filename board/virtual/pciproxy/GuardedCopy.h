// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace assasin {

/// Copies between memory of this process and a shared mapping whose file another process may cut short at any time:
/// touching what is gone raises SIGBUS, which here only makes the copy fail. Returns false when it did; any part may
/// have been copied then. For one thread.
bool guardedCopy(void *to, const void *from, size_t size);

/// Stores a word likewise, with release order.
bool guardedStore(uint32_t *to, uint32_t value);

} // namespace assasin
