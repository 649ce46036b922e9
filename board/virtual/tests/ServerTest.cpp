// SPDX-License-Identifier: BSD-3-Clause
// The door as a visitor sees it: real sockets, memory files and eventfds; the board behind it is a small register file.
#include "pciproxy/Server.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/MemFd.h"

namespace {

/// Runs once, right before the server asks for the next connection to the door.
std::function<void()> beforeAccept;

/// The socket of QEMU's qtest connection, not the door.
bool isQtest(int fd) {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size);
    const std::string path = address.sun_path;
    return path.size() > 3 && path.substr(path.size() - 3) == ".qt";
}

} // namespace

// The linker sends calls of accept4 here (--wrap).
extern "C" int __real_accept4(int fd, sockaddr *address, socklen_t *size, int flags);
extern "C" int __wrap_accept4(int fd, sockaddr *address, socklen_t *size, int flags) {
    if (beforeAccept && !isQtest(fd)) {
        std::exchange(beforeAccept, nullptr)();
    }
    return __real_accept4(fd, address, size, flags);
}

namespace {

using assasin::BarTarget;
using assasin::HostMemory;
using assasin::PciFunction;
using assasin::Server;

/// Answers BAR accesses from a map, at once or when told to.
struct Registers : BarTarget {
    std::map<std::pair<int, uint32_t>, uint64_t> words;
    unsigned resets = 0;
    bool hold = false;
    std::vector<std::function<void()>> held;

    void later(std::function<void()> f) {
        if (hold) {
            held.push_back(std::move(f));
        } else {
            f();
        }
    }
    void release() {
        auto work = std::move(held);
        held.clear();
        for (auto &f : work) {
            f();
        }
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
    void functionReset(std::function<void()> done) override {
        resets++;
        later(std::move(done));
    }
};

int connectTo(const std::string &path) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0) << path;
    const timeval limit{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

struct Bench : testing::Test {
    std::string directory;
    std::string path;
    PciFunction function;
    HostMemory host;
    Registers registers;
    std::unique_ptr<Server> server;
    int visitor = -1;

    Bench() {
        char name[] = "/tmp/assasin-server-XXXXXX";
        directory = mkdtemp(name);
        path = directory + "/door";
        server = std::make_unique<Server>(path, function, host, registers);
        visitor = connectTo(path);
    }
    ~Bench() override {
        if (visitor >= 0) {
            close(visitor);
        }
        server.reset();
        rmdir(directory.c_str());
    }

    void post(int32_t cmd, const void *payload, size_t size, const std::vector<int> &fds = {}) {
        pci_proxy_header header{cmd, 0, size};
        iovec part{&header, sizeof header};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        std::vector<char> control(CMSG_SPACE(sizeof(int) * 8));
        if (!fds.empty()) {
            message.msg_control = control.data();
            message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
            cmsghdr *const c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
            std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
        }
        ASSERT_EQ(sendmsg(visitor, &message, 0), ssize_t(sizeof header));
        if (size > 0) {
            ASSERT_EQ(send(visitor, payload, size, 0), ssize_t(size));
        }
    }
    bool answer(uint64_t &value) {
        struct {
            pci_proxy_header header;
            uint64_t value;
        } message;
        const ssize_t n = recv(visitor, &message, sizeof message, MSG_WAITALL | MSG_DONTWAIT);
        value = message.value;
        return n == ssize_t(sizeof message) && message.header.cmd == PCI_PROXY_RET && message.header.size == 8;
    }
    uint64_t call(int32_t cmd, const void *payload, size_t size) {
        post(cmd, payload, size);
        server->poll();
        uint64_t value = 0xDEAD;
        EXPECT_TRUE(answer(value));
        return value;
    }
    uint64_t configRead(uint32_t addr, int32_t len) {
        const pci_proxy_cfg c{addr, 0, len};
        return call(PCI_PROXY_CFG_READ, &c, sizeof c);
    }
    void configWrite(uint32_t addr, uint32_t val, int32_t len) {
        const pci_proxy_cfg c{addr, val, len};
        call(PCI_PROXY_CFG_WRITE, &c, sizeof c);
    }
    uint64_t barRead(uint64_t addr, uint32_t size) {
        const pci_proxy_bar b{addr, 0, size, 1, {}};
        return call(PCI_PROXY_BAR_READ, &b, sizeof b);
    }
    void barWrite(uint64_t addr, uint64_t val, uint32_t size) {
        const pci_proxy_bar b{addr, val, size, 1, {}};
        call(PCI_PROXY_BAR_WRITE, &b, sizeof b);
    }
    void bringUp() {
        configWrite(BOARD_CFG_BAR0, 0xFE000000, 4);
        configWrite(BOARD_CFG_BAR2, 0xFE400000, 4);
        configWrite(BOARD_CFG_COMMAND, 6, 2);
    }
    bool closedByServer() {
        char byte;
        const ssize_t n = recv(visitor, &byte, 1, 0);
        return n == 0 || (n < 0 && errno == ECONNRESET); // reset when it closes on unread bytes
    }
};
using ServerTest = Bench;

TEST_F(ServerTest, ConfigurationAndBars) {
    EXPECT_EQ(configRead(0, 4), uint64_t(BOARD_PCI_DEVICE << 16 | BOARD_PCI_VENDOR));
    EXPECT_EQ(barRead(0xFE000000, 4), UINT64_MAX);
    bringUp();
    barWrite(0xFE000014, 0x460001, 4);
    EXPECT_EQ((registers.words[{0, 0x14}]), 0x460001u);
    registers.words[{2, 0x2000}] = 0x1FC20006;
    EXPECT_EQ(barRead(0xFE402000, 4), 0x1FC20006u);
    EXPECT_EQ(barRead(0xFE000001, 4), UINT64_MAX) << "misaligned";
    EXPECT_EQ(barRead(0xFE410000, 4), UINT64_MAX) << "outside";
}

TEST_F(ServerTest, AnswersWhenTheBoardHas) {
    bringUp();
    registers.hold = true;
    const pci_proxy_bar b{0xFE000000, 0, 4, 1, {}};
    post(PCI_PROXY_BAR_READ, &b, sizeof b);
    server->poll();
    uint64_t value;
    EXPECT_TRUE(server->busy());
    EXPECT_FALSE(answer(value));
    std::vector<pollfd> fds;
    server->waitOn(fds);
    EXPECT_TRUE(fds.empty());
    registers.words[{0, 0}] = 42;
    registers.release();
    EXPECT_TRUE(answer(value));
    EXPECT_EQ(value, 42u);
}

TEST_F(ServerTest, MemoryIsSharedAndRemappedOnlyOnChange) {
    bringUp();
    test::MemFd memory(1 << 16);
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x100000;
    layout.size[0] = memory.size();
    post(PCI_PROXY_SYNC_SYSMEM, &layout, sizeof layout, {memory.fd()});
    server->poll();
    EXPECT_TRUE(host.write(0x100010, "abc", 3));
    EXPECT_EQ(std::memcmp(memory.bytes() + 0x10, "abc", 3), 0);
    post(PCI_PROXY_SYNC_SYSMEM, &layout, sizeof layout, {memory.fd()});
    server->poll();
    EXPECT_TRUE(host.write(0x100013, "def", 3));
    EXPECT_EQ(std::memcmp(memory.bytes() + 0x10, "abcdef", 6), 0);
    layout.gpa[0] = 0x200000;
    post(PCI_PROXY_SYNC_SYSMEM, &layout, sizeof layout, {memory.fd()});
    server->poll();
    EXPECT_FALSE(host.write(0x100010, "abc", 3));
    EXPECT_TRUE(host.write(0x200010, "xyz", 3));
}

TEST_F(ServerTest, InterruptReachesMemoryAndEventfd) {
    bringUp();
    test::MemFd memory(4096);
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x100000;
    layout.size[0] = memory.size();
    post(PCI_PROXY_SYNC_SYSMEM, &layout, sizeof layout, {memory.fd()});
    const int event = eventfd(0, EFD_NONBLOCK), resample = eventfd(0, 0);
    post(PCI_PROXY_SET_IRQFD, nullptr, 0, {event, resample});
    configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
    function.msixWrite(BOARD_MSIX_TABLE + 16, 0x100020);
    function.msixWrite(BOARD_MSIX_TABLE + 16 + 8, 77);
    function.msixWrite(BOARD_MSIX_TABLE + 16 + 12, 0);
    function.raise(1);
    uint32_t word;
    std::memcpy(&word, memory.bytes() + 0x20, 4);
    EXPECT_EQ(word, 77u);
    uint64_t count = 0;
    EXPECT_EQ(read(event, &count, 8), 8);
    EXPECT_EQ(count, 1u);
    close(event);
    close(resample);
}

TEST_F(ServerTest, InterruptReachesQtest) {
    bringUp();
    const int qtest = connectTo(path + ".qt");
    server->poll();
    configWrite(BOARD_CFG_CAP_MSIX + 2, 0x8000, 2);
    function.msixWrite(BOARD_MSIX_TABLE, 0xFEE01000);
    function.msixWrite(BOARD_MSIX_TABLE + 8, 0x4041);
    function.msixWrite(BOARD_MSIX_TABLE + 12, 0);
    function.raise(0);
    char text[128] = {};
    ASSERT_GT(recv(qtest, text, sizeof text - 1, 0), 0);
    EXPECT_STREQ(text, "writel 0xfee01000 0x4041\n");
    EXPECT_EQ(send(qtest, "OK\n", 3, 0), 3);
    configWrite(BOARD_CFG_CAP_MSIX + 2, 0, 2);
    function.setIntx(true);
    std::memset(text, 0, sizeof text);
    ASSERT_GT(recv(qtest, text, sizeof text - 1, 0), 0);
    EXPECT_STREQ(text, "set_irq_in /machine/q35/ioapic unnamed-gpio-in 21 1\n");
    function.setIntx(false);
    close(qtest);
}

TEST_F(ServerTest, SecondVisitorIsTurnedAwayAndComesBackLater) {
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
    const int first = visitor;
    visitor = connectTo(path);
    server->poll();
    EXPECT_TRUE(closedByServer());
    close(visitor);
    close(first);
    visitor = connectTo(path);
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
    EXPECT_EQ(registers.resets, 1u);
    EXPECT_EQ(server->visits(), 2u);
}

TEST_F(ServerTest, WhoComesWhenTheLastHasLeftIsServed) {
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
    // One visitor leaves and the next comes after the server has found nothing to serve, before it looks who else
    // waits.
    beforeAccept = [this] {
        close(visitor);
        visitor = connectTo(path);
    };
    server->poll();
    EXPECT_FALSE(beforeAccept);
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
    EXPECT_EQ(server->visits(), 2u);
}

TEST_F(ServerTest, SaysWhichProcessIsConnected) {
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
    EXPECT_EQ(server->visitorPid(), int(getpid()));
    close(visitor);
    visitor = -1;
    server->poll();
    EXPECT_EQ(server->visitorPid(), 0);
}

TEST_F(ServerTest, LeavingResetsBeforeTheNextIsServed) {
    bringUp();
    test::MemFd memory(4096);
    pci_proxy_sysmem layout{};
    layout.gpa[0] = 0x100000;
    layout.size[0] = memory.size();
    post(PCI_PROXY_SYNC_SYSMEM, &layout, sizeof layout, {memory.fd()});
    server->poll();
    registers.hold = true;
    close(visitor);
    visitor = connectTo(path);
    server->poll();
    EXPECT_EQ(registers.resets, 1u);
    EXPECT_TRUE(server->busy());
    EXPECT_FALSE(host.write(0x100000, "x", 1));
    registers.hold = false;
    registers.release();
    EXPECT_EQ(configRead(BOARD_CFG_COMMAND, 2), 0u);
}

TEST_F(ServerTest, DeviceResetAnswersAfterTheController) {
    bringUp();
    EXPECT_EQ(call(PCI_PROXY_DEVICE_RESET, nullptr, 0), 0u);
    EXPECT_EQ(registers.resets, 1u);
    EXPECT_EQ(configRead(BOARD_CFG_BAR0, 4), 4u);
}

TEST_F(ServerTest, MalformedMessagesEndTheVisit) {
    const auto refused = [this](int32_t cmd, const void *payload, size_t size, const std::vector<int> &fds = {}) {
        post(cmd, payload, size, fds);
        server->poll();
        const bool closed = closedByServer();
        close(visitor);
        visitor = connectTo(path);
        return closed;
    };
    const pci_proxy_cfg wrongLength{0, 0, 3};
    EXPECT_TRUE(refused(PCI_PROXY_CFG_READ, &wrongLength, sizeof wrongLength));
    EXPECT_TRUE(refused(PCI_PROXY_CFG_READ, &wrongLength, 8));
    EXPECT_TRUE(refused(99, nullptr, 0));
    EXPECT_TRUE(refused(PCI_PROXY_SET_IRQFD, nullptr, 0));
    EXPECT_TRUE(refused(PCI_PROXY_RET, &wrongLength, 8));
    test::MemFd memory(4096);
    pci_proxy_sysmem tooLarge{};
    tooLarge.size[0] = 8192;
    EXPECT_TRUE(refused(PCI_PROXY_SYNC_SYSMEM, &tooLarge, sizeof tooLarge, {memory.fd()}));
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
}

TEST_F(ServerTest, FunctionLevelResetAnswersAfterTheController) {
    bringUp();
    registers.hold = true;
    const pci_proxy_cfg c{BOARD_CFG_CAP_PCIE + 8, 0xA810, 2};
    post(PCI_PROXY_CFG_WRITE, &c, sizeof c);
    server->poll();
    EXPECT_TRUE(server->busy());
    EXPECT_EQ(registers.resets, 1u);
    registers.hold = false;
    registers.release();
    uint64_t value;
    EXPECT_TRUE(answer(value));
    EXPECT_EQ(configRead(BOARD_CFG_COMMAND, 2), 0u);
}

TEST_F(ServerTest, AVisitorThatDiesInTheMiddleOfAnythingIsReplaced) {
    const pci_proxy_header header{PCI_PROXY_BAR_WRITE, 0, sizeof(pci_proxy_bar)};
    for (size_t sent = 0; sent <= sizeof header; sent += 4) {
        bringUp();
        if (sent > 0) {
            ASSERT_EQ(send(visitor, &header, sent, 0), ssize_t(sent));
        }
        close(visitor);
        visitor = connectTo(path);
        EXPECT_EQ(configRead(BOARD_CFG_COMMAND, 2), 0u);
    }
    // while its access is being answered
    bringUp();
    registers.hold = true;
    const pci_proxy_bar b{0xFE000000, 0, 4, 1, {}};
    post(PCI_PROXY_BAR_READ, &b, sizeof b);
    server->poll();
    close(visitor);
    registers.hold = false;
    registers.release();
    visitor = connectTo(path);
    EXPECT_EQ(configRead(0, 2), BOARD_PCI_VENDOR);
}

TEST(ServerPath, ErrorsNameThePath) {
    PciFunction function;
    HostMemory host;
    Registers registers;
    const std::string longPath = "/tmp/" + std::string(200, 'x');
    try {
        Server server(longPath, function, host, registers);
        FAIL() << "a path that long must be refused";
    } catch (const std::runtime_error &e) {
        EXPECT_NE(std::string(e.what()).find("characters"), std::string::npos);
    }
}

} // namespace
