// SPDX-License-Identifier: BSD-3-Clause
/** @file What the model's tests share: a part to start from, and files that disappear. */
#pragma once

#include "PartFile.h"

#include <filesystem>
#include <string>
#include <unistd.h>

namespace assasin {

/** A small part with timing and no errors. */
inline PartFile unitPart(const std::string &name, const NandGeometry &geometry) {
    PartFile part;
    part.name = name;
    part.manufacturer = "ASSASIN";
    part.id = {0x2C, 1, 2, 3, 4, 5, 6, 7};
    part.geometry = geometry;
    part.array = {2000, 5000, 8000, 3000, 1000};
    part.nvddr2 = {25, 20, 100, 20, 30, 21, 80, 70, 300, 977};
    return part;
}

/** A file that disappears with the test. */
struct TempFile {
    TempFile()
        : path((std::filesystem::temp_directory_path() / ("nand-test-" + std::to_string(getpid()) + ".img")).string()) {
        std::filesystem::remove(path);
    }
    ~TempFile() {
        std::filesystem::remove(path);
    }
    TempFile(const TempFile &) = delete;
    TempFile &operator=(const TempFile &) = delete;
    std::string path;
};

} // namespace assasin
