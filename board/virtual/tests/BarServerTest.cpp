// SPDX-License-Identifier: BSD-3-Clause
// The side entrance as bring-up tools see it: real sockets; the board behind it answers from a map.
#include "pciproxy/BarServer.h"

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using assasin::BarServer;
using assasin::BarTarget;

/// Registers, answered in the order asked for: at once, or one for each release().
struct Registers : BarTarget {
    std::map<std::pair<int, uint32_t>, uint64_t> words;
    bool hold = false;
    std::function<void()> held;
    unsigned together = 0; ///< accesses asked for while one was under way

    void later(std::function<void()> work) {
        together += bool(held);
        if (hold) {
            held = std::move(work);
        } else {
            work();
        }
    }
    void release() {
        const auto work = std::exchange(held, nullptr);
        work();
    }
    void barRead(int bar, uint32_t offset, unsigned, std::function<void(uint64_t)> done) override {
        later([this, bar, offset, done] { done(words[{bar, offset}]); });
    }
    void barWrite(int bar, uint32_t offset, uint64_t value, unsigned, std::function<void()> done) override {
        later([this, bar, offset, value, done] {
            words[{bar, offset}] = value;
            done();
        });
    }
    void functionReset(std::function<void()>) override {
        FAIL() << "a bring-up tool came or went, and the function was reset";
    }
};

struct BarServerTest : testing::Test {
    std::string directory;
    Registers registers;
    std::unique_ptr<BarServer> server;
    std::vector<int> clients;

    BarServerTest() {
        char name[] = "/tmp/assasin-bars-XXXXXX";
        directory = mkdtemp(name);
        server = std::make_unique<BarServer>(directory + "/bars", registers);
    }
    ~BarServerTest() override {
        for (const int fd : clients) {
            close(fd);
        }
        server.reset();
        rmdir(directory.c_str());
    }
    int connectOne() {
        const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strncpy(address.sun_path, (directory + "/bars").c_str(), sizeof address.sun_path - 1);
        EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
        clients.push_back(fd);
        return fd;
    }
    static void post(int fd, int32_t cmd, uint64_t addr, uint64_t value = 0, uint32_t size = 4) {
        const struct {
            pci_proxy_header header;
            pci_proxy_bar bar;
        } message{{cmd, 0, sizeof(pci_proxy_bar)}, {addr, value, size, 1, {}}};
        ASSERT_EQ(send(fd, &message, sizeof message, 0), ssize_t(sizeof message));
    }
    static bool answer(int fd, uint64_t &value) {
        struct {
            pci_proxy_header header;
            uint64_t value;
        } message;
        const ssize_t n = recv(fd, &message, sizeof message, MSG_DONTWAIT);
        value = message.value;
        return n == ssize_t(sizeof message) && message.header.cmd == PCI_PROXY_RET && message.header.size == 8;
    }
    uint64_t expect(int fd) {
        uint64_t value = 0xDEAD;
        EXPECT_TRUE(answer(fd, value));
        return value;
    }
    static bool closed(int fd) {
        char byte;
        return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
    }
};

constexpr uint64_t BAR2 = uint64_t(2) << 32;

TEST_F(BarServerTest, ReadsAndWritesBothBars) {
    const int fd = connectOne();
    registers.words[{0, 0x9000}] = 0x1234;
    registers.words[{2, 0x4000}] = 0x5678;
    post(fd, PCI_PROXY_BAR_READ, 0x9000);
    post(fd, PCI_PROXY_BAR_READ, BAR2 + 0x4000);
    post(fd, PCI_PROXY_BAR_WRITE, BAR2 + 0x10, 77);
    server->poll();
    EXPECT_EQ(expect(fd), 0x1234u);
    EXPECT_EQ(expect(fd), 0x5678u);
    EXPECT_EQ(expect(fd), 0u);
    EXPECT_EQ((registers.words[{2, 0x10}]), 77u);
}

TEST_F(BarServerTest, ReadsAllOnesOutside) {
    const int fd = connectOne();
    post(fd, PCI_PROXY_BAR_READ, BOARD_BAR0_SIZE);
    post(fd, PCI_PROXY_BAR_READ, BAR2 / 2); // BAR1, the upper half of BAR0
    post(fd, PCI_PROXY_BAR_READ, 0x9002);
    post(fd, PCI_PROXY_BAR_READ, 0x9000, 0, 3);
    server->poll();
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(expect(fd), UINT64_MAX);
    }
}

TEST_F(BarServerTest, ServesClientsInTurn) {
    const int a = connectOne();
    const int b = connectOne();
    registers.hold = true;
    registers.words[{0, 0}] = 1;
    registers.words[{0, 4}] = 2;
    for (int i = 0; i < 3; i++) {
        post(a, PCI_PROXY_BAR_READ, 0);
        post(b, PCI_PROXY_BAR_READ, 4);
    }
    server->poll();
    std::vector<pollfd> fds;
    server->waitOn(fds);
    EXPECT_TRUE(fds.empty());
    for (int i = 0; i < 3; i++) {
        registers.release();
        registers.release();
        EXPECT_EQ(expect(a), 1u);
        EXPECT_EQ(expect(b), 2u);
    }
    EXPECT_EQ(registers.together, 0u);
    server->waitOn(fds);
    EXPECT_EQ(fds.size(), 3u);
}

TEST_F(BarServerTest, TakesRequestsInPieces) {
    const int fd = connectOne();
    registers.words[{0, 8}] = 9;
    const struct {
        pci_proxy_header header;
        pci_proxy_bar bar;
    } message{{PCI_PROXY_BAR_READ, 0, sizeof(pci_proxy_bar)}, {8, 0, 4, 1, {}}};
    const auto *const bytes = reinterpret_cast<const char *>(&message);
    uint64_t value;
    for (size_t i = 0; i < sizeof message; i++) {
        server->poll();
        EXPECT_FALSE(answer(fd, value));
        ASSERT_EQ(send(fd, bytes + i, 1, 0), 1);
    }
    server->poll();
    EXPECT_EQ(expect(fd), 9u);
}

TEST_F(BarServerTest, DropsWhoeverSpeaksOtherwise) {
    const int other = connectOne();
    const int good = connectOne();
    const pci_proxy_header reset{PCI_PROXY_DEVICE_RESET, 0, 0};
    ASSERT_EQ(send(other, &reset, sizeof reset, 0), ssize_t(sizeof reset));
    registers.words[{0, 0}] = 3;
    post(good, PCI_PROXY_BAR_READ, 0);
    server->poll();
    EXPECT_TRUE(closed(other));
    EXPECT_EQ(expect(good), 3u);
}

TEST_F(BarServerTest, SurvivesAClientThatLeaves) {
    const int leaving = connectOne();
    const int staying = connectOne();
    registers.hold = true;
    post(leaving, PCI_PROXY_BAR_READ, 0);
    server->poll();
    close(leaving);
    clients.erase(clients.begin());
    post(staying, PCI_PROXY_BAR_WRITE, 4, 5);
    registers.release();
    registers.release();
    EXPECT_EQ(expect(staying), 0u);
    EXPECT_EQ((registers.words[{0, 4}]), 5u);
}

} // namespace
