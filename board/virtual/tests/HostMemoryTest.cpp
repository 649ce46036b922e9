// SPDX-License-Identifier: BSD-3-Clause
#include "pciproxy/HostMemory.h"

#include <cstring>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "tests/MemFd.h"

namespace {

using assasin::HostMemory;

TEST(HostMemory, MapsReadsWritesAndCrossesRegions) {
    test::MemFd a(8192), b(4096);
    HostMemory host;
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x10000;
    layout.size[0] = 4096;
    layout.offset[0] = 4096;
    layout.gpa[1] = 0x11000;
    layout.size[1] = 4096;
    const int fds[] = {a.dupFd(), b.dupFd()};
    host.map(layout, fds, 2);
    host.setEnabled(true);
    std::vector<uint8_t> out(256), in(256);
    for (size_t i = 0; i < out.size(); i++) {
        out[i] = uint8_t(i);
    }
    EXPECT_TRUE(host.write(0x10F80, out.data(), out.size()));
    EXPECT_EQ(std::memcmp(a.bytes() + 8192 - 128, out.data(), 128), 0);
    EXPECT_EQ(std::memcmp(b.bytes(), out.data() + 128, 128), 0);
    EXPECT_TRUE(host.read(0x10F80, in.data(), in.size()));
    EXPECT_EQ(in, out);
    EXPECT_EQ(host.faults(), 0u);
}

TEST(HostMemory, MissesReadAsOnesAndAreCounted) {
    test::MemFd a(4096);
    HostMemory host;
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x10000;
    layout.size[0] = 4096;
    const int fds[] = {a.dupFd()};
    host.map(layout, fds, 1);
    host.setEnabled(true);
    uint8_t data[16];
    EXPECT_FALSE(host.read(0x10000 - 8, data, 16));
    for (int i = 0; i < 16; i++) {
        EXPECT_EQ(data[i], i < 8 ? 0xFF : 0x00);
    }
    EXPECT_FALSE(host.write(0x10FF8, data, 16));
    EXPECT_FALSE(host.read(UINT64_MAX - 3, data, 4));
    EXPECT_EQ(host.faults(), 3u);
    EXPECT_EQ(host.lastFault(), UINT64_MAX - 3);
    host.setEnabled(false);
    EXPECT_FALSE(host.read(0x10000, data, 4));
    EXPECT_FALSE(host.storeWord(0x10000, 1));
}

TEST(HostMemory, RefusesFilesThatAreTooShort) {
    test::MemFd a(4096);
    HostMemory host;
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x10000;
    layout.size[0] = 8192;
    const int fds[] = {a.dupFd()};
    EXPECT_THROW(host.map(layout, fds, 1), std::runtime_error);
    uint8_t byte;
    host.setEnabled(true);
    EXPECT_FALSE(host.read(0x10000, &byte, 1));
}

TEST(HostMemory, StoreWordNeedsAlignmentAndRoom) {
    test::MemFd a(4096);
    HostMemory host;
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x10000;
    layout.size[0] = 4096;
    const int fds[] = {a.dupFd()};
    host.map(layout, fds, 1);
    host.setEnabled(true);
    EXPECT_TRUE(host.storeWord(0x10FFC, 0xA5A5A5A5));
    EXPECT_EQ(a.bytes()[4095], 0xA5);
    EXPECT_FALSE(host.storeWord(0x10FFE, 0));
    EXPECT_FALSE(host.storeWord(0x11000, 0));
}

TEST(HostMemory, SurvivesAFileCutShortBehindItsBack) {
    test::MemFd a(8192);
    HostMemory host;
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x10000;
    layout.size[0] = 8192;
    const int fds[] = {a.dupFd()};
    host.map(layout, fds, 1);
    host.setEnabled(true);
    ASSERT_EQ(ftruncate(a.fd(), 4096), 0);
    uint8_t data[16] = {};
    EXPECT_FALSE(host.read(0x11000, data, 16));
    EXPECT_EQ(data[15], 0xFF);
    EXPECT_FALSE(host.write(0x11000, data, 16));
    EXPECT_FALSE(host.storeWord(0x11000, 1));
    EXPECT_TRUE(host.read(0x10000, data, 16));
    EXPECT_EQ(data[15], 0x00);
    EXPECT_EQ(host.faults(), 2u);
}

} // namespace
