// SPDX-License-Identifier: BSD-3-Clause
#include "sim/Board.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr unsigned RESET_CYCLES = 8;
constexpr uint64_t SERVE_EVERY = 32;      ///< cycles between looks at the sockets: about 0.3 ms of host time at 100 kHz
constexpr uint64_t DRAIN_EVERY = 20000;   ///< cycles between looks at the console while awake
constexpr uint64_t DRAIN_AT_SLEEP = 2000; ///< clocked cycles after which falling asleep is worth a look at the console
constexpr uint64_t DRAIN_SLACK = 16; ///< cycles from the end of a drain to the chip's rest; whoever prints takes longer
constexpr unsigned SETTLE_CYCLES = 8;    ///< cycles a new input takes to show in the chip's sleep output
constexpr uint64_t PUBLISH_EVERY = 4096; ///< cycles between looks at the host's clock
constexpr double PUBLISH_SECONDS = 1.0;
constexpr uint64_t BOOT_LIMIT = 1000000; ///< cycles
constexpr uint32_t HOST_VS = 0x08;       ///< VS in the NVMe register file
constexpr uint32_t HOST_CC = 0x14;       ///< CC
constexpr uint32_t HOST_CMBMSC = 0x50;   ///< CMBMSC

double hostTime() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

std::vector<uint8_t> loadFirmware(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("cannot open firmware '" + path + "': " + std::strerror(errno));
    }
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (bytes.empty() || bytes.size() > Soc::FIRMWARE_BYTES) {
        throw std::runtime_error("firmware '" + path + "' has " + std::to_string(bytes.size()) + " bytes; 1 to " +
                                 std::to_string(Soc::FIRMWARE_BYTES) + " fit the firmware memory");
    }
    if (bytes.size() >= 4 && std::memcmp(bytes.data(),
                                         "\x7f"
                                         "ELF",
                                         4) == 0) {
        throw std::runtime_error("firmware '" + path + "' is an ELF file: give the flat binary (objcopy -O binary)");
    }
    return bytes;
}

} // namespace

Board::Board(const BoardOptions &options)
    : options_(options), profile_(loadProfile(options.profile)), dram_(profile_.dram),
      xdma_(profile_.pcie, host_, function_), nand_(profile_, options.image, Soc::CHANNELS, Soc::WAYS, Soc::PHY_BYTES,
                                                    options.format, options.media, options.nandAge),
      slots_(slots(options)) {
    console_ =
        std::make_unique<Console>(bar0_, options.console, options.socket.empty() ? "" : options.socket + ".console");
    if (options.hostPauses) {
        std::fprintf(stderr, "assasin-board: --host-pauses %" PRIu64 "\n", *options.hostPauses);
        xdma_.pause(*options.hostPauses);
    }
    started_ = hostTime();
}

Board::~Board() = default;

void Board::checkMedia(const BoardOptions &options) {
    NandArray::part(loadProfile(options.profile), options.media, Soc::CHANNELS, Soc::WAYS);
}

std::vector<std::unique_ptr<KernelSlot>> Board::slots(const BoardOptions &options) {
    std::vector<std::unique_ptr<KernelSlot>> slots;
    for (unsigned i = 0; i < Soc::SLOTS; i++) {
        slots.push_back(std::make_unique<KernelSlot>(i));
    }
    for (const auto &[slot, path] : options.kernels) {
        if (slot >= Soc::SLOTS) {
            throw std::runtime_error("--kernel " + std::to_string(slot) + "=" + path + ": " + Soc::CONFIG + " has " +
                                     (Soc::SLOTS == 0 ? std::string("no slots; take a configuration such as "
                                                                    "AssasinSbHls2x2")
                                                      : "slots 0 to " + std::to_string(Soc::SLOTS - 1)));
        }
        slots[slot]->insert(path);
    }
    for (const auto &[slot, fault] : options.faults) {
        if (options.kernels.count(slot) == 0) {
            throw std::runtime_error("--kernel-fault " + std::to_string(slot) +
                                     "=...: the slot is empty; put a kernel into it with --kernel " +
                                     std::to_string(slot) + "=FILE");
        }
        slots[slot]->breakWith(fault);
    }
    return slots;
}

void Board::cycle() {
    dram_.drive(soc_.dram, now_);
    xdma_.drive();
    bar0_.drive(soc_.bar0);
    for (size_t i = 0; i < slots_.size(); i++) {
        slots_[i]->drive(soc_.slots[i]);
    }
    soc_.settle(now_, xdma_);
    dram_.sample(soc_.dram, now_);
    xdma_.sample(now_);
    bar0_.sample(soc_.bar0);
    for (size_t i = 0; i < slots_.size(); i++) {
        slots_[i]->sample(soc_.slots[i]);
    }
    nand_.cycle(now_, soc_.flash);
    soc_.edge();
    now_++;
    clocked_++;
}

uint32_t Board::bootArg() const {
    const auto clockMhz = uint32_t(1000.0 / profile_.nsPerCycle + 0.5);
    return uint32_t(options_.format) << SYS_BOOT_ARG_FORMAT_SHIFT | clockMhz << SYS_BOOT_ARG_CLOCK_MHZ_SHIFT;
}

void Board::boot() {
    const std::vector<uint8_t> firmware = loadFirmware(options_.firmware);
    soc_.setReset(true);
    for (unsigned i = 0; i < RESET_CYCLES; i++) {
        cycle();
    }
    soc_.setReset(false);
    for (unsigned i = 0; i < Soc::RESET_TAIL; i++) {
        cycle();
    }
    bool released = false;
    xdma_.load(Soc::FIRMWARE_BASE, firmware.data(), firmware.size());
    const uint64_t limit = now_ + BOOT_LIMIT;
    while (!released) {
        cycle();
        if (xdma_.loaded() && bar0_.idle()) {
            bar0_.write(ASSASIN_CTRL_BASE + CTRL_BOOT_ARG, bootArg(), 0xF);
            bar0_.write(ASSASIN_CTRL_BASE + CTRL_RESET, 0, 0xF, [&released](uint32_t) { released = true; });
        }
        if (now_ > limit) {
            throw std::runtime_error("the chip does not accept the firmware: its XDMA or BAR0 port is stuck");
        }
    }
    nextDrain_ = clocked_ + DRAIN_EVERY;
}

bool Board::quiet() const {
    return clocked_ >= settleUntil_ && !options_.neverSleep && soc_.asleep() && bar0_.idle() && dram_.idle() &&
           xdma_.idle() && !(server_ && server_->busy());
}

void Board::waitOnServers() {
    if (server_) {
        server_->waitOn(fds_);
        bars_->waitOn(fds_);
        activity_->waitOn(fds_);
    }
    console_->waitOn(fds_);
}

bool Board::called() {
    fds_.clear();
    waitOnServers();
    return !fds_.empty() && ::poll(fds_.data(), nfds_t(fds_.size()), 0) != 0;
}

void Board::serve() {
    // One look at all sockets instead of several calls for each: mostly there is nothing.
    if (called() || console_->inputWaits()) {
        if (server_) {
            server_->poll();
            bars_->poll();
            activity_->poll(now_);
        }
        console_->poll(now_);
    }
    if (activity_) {
        activity_->follow();
    }
    const bool msix = function_.msixEnabled();
    if (!bar0_.idle() || msix != msix_) {
        settleUntil_ = clocked_ + SETTLE_CYCLES;
    }
    msix_ = msix;
}

void Board::wait(int milliseconds) {
    fds_.clear();
    waitOnServers();
    fds_.push_back({stopFd_, POLLIN, 0});
    const double from = hostTime();
    if (milliseconds < 0 || milliseconds > 500) {
        publish(state_, message_);
    }
    ::poll(fds_.data(), nfds_t(fds_.size()), milliseconds);
    waited_ += hostTime() - from;
}

void Board::sleep() {
    const uint64_t nandEvent = nand_.nextEvent();
    const uint64_t timer = soc_.wakeAt();
    const uint64_t wake = std::min({nandEvent, timer, options_.quitAfter});
    const bool nap = nandEvent != UINT64_MAX && wake == nandEvent; // soon over, and there are many of them
    const uint64_t sinceDrain = clocked_ - drainEnd_;
    if (!console_->draining() && sinceDrain > (nap ? DRAIN_AT_SLEEP : DRAIN_SLACK + Soc::REST)) {
        console_->drain(now_);
        settleUntil_ = clocked_ + SETTLE_CYCLES;
        nextDrain_ = clocked_ + DRAIN_EVERY;
        return;
    }
    serve();
    if (!quiet()) {
        return;
    }
    if (wake <= now_) {
        settleUntil_ = clocked_ + SETTLE_CYCLES;
        return;
    }
    if (wake == UINT64_MAX) {
        wait(-1);
        return;
    }
    if (nap || options_.race) {
        jump(wake);
    } else {
        // only a timer is due: simulated time keeps to real time, so that an idle drive leaves the host its processor
        const uint64_t left = wake - now_;
        const double seconds = double(left) * profile_.nsPerCycle * 1e-9;
        const double from = hostTime();
        wait(int(std::min(seconds * 1e3, 1e9)));
        const double passed = (hostTime() - from) * 1e9 / profile_.nsPerCycle;
        // less than a millisecond is below poll's resolution
        jump(passed >= double(left) || seconds < 1e-3 ? wake : now_ + uint64_t(passed));
    }
    settleUntil_ = clocked_ + SETTLE_CYCLES;
}

void Board::jump(uint64_t to) {
    if (activity_ && to >= activity_->due()) {
        activity_->beforeJump(now_, to);
    }
    now_ = to;
}

void Board::look(Activity &activity) const {
    activity.timebase = now_;
    activity.clocked = clocked_;
    activity.h2cBytes = xdma_.h2cBytes();
    activity.c2hBytes = xdma_.c2hBytes();
    activity.dramReadBytes = dram_.bytesRead();
    activity.dramWriteBytes = dram_.bytesWritten();
    activity.nand = nand_.counts();
    soc_.read(activity.chip);
}

void Board::listen(const std::string &path) {
    BarTarget &target = *this;
    server_ = std::make_unique<Server>(path, function_, host_, target);
    bars_ = std::make_unique<BarServer>(path + ".bars", target);
    const NandGeometry &g = nand_.geometry();
    const ActivityScale scale{profile_.nsPerCycle,
                              profile_.pcie.bytesPerCycle,
                              profile_.dram.bytesPerCycle,
                              profile_.dram.size,
                              Soc::CHANNELS,
                              Soc::CHANNELS * Soc::WAYS * g.luns,
                              Soc::PHY_BYTES,
                              g.rawPageBytes()};
    activity_ = std::make_unique<ActivityServer>(path + ".activity", scale, [this](Activity &a) { look(a); });
}

void Board::trace() {
    if (options_.trace.empty()) {
        return;
    }
    const bool wanted = now_ >= options_.traceFrom && now_ < options_.traceTo;
    if (wanted && !tracing_) {
        soc_.openTrace(options_.trace);
    } else if (!wanted && tracing_) {
        soc_.closeTrace();
    }
    tracing_ = wanted;
}

void Board::run(const Stop &stop) {
    stopFd_ = stop.fd;
    trace();
    publish("booting", "");
    boot();
    if (!options_.socket.empty()) {
        listen(options_.socket);
    }
    publish("serving", "");
    while (!stop.requested.load(std::memory_order_relaxed) && now_ < options_.quitAfter) {
        if (activity_ && now_ >= activity_->due()) {
            activity_->sample(now_);
        }
        if (quiet()) {
            sleep();
            trace();
            if (quiet()) {
                continue; // waited without anything to clock
            }
        }
        cycle();
        if (clocked_ % SERVE_EVERY == 0) {
            serve();
            trace();
            if (!console_->draining() && clocked_ >= nextDrain_) {
                console_->drain(now_);
                nextDrain_ = clocked_ + DRAIN_EVERY;
            }
            if (clocked_ % PUBLISH_EVERY == 0 && hostTime() >= nextPublish_) {
                publish(state_, message_);
            }
        }
        if (console_->draining()) {
            drainEnd_ = clocked_ + 1;
        }
    }
    publish("stopped", "");
}

Status Board::status() const {
    Status s;
    s.state = state_;
    s.message = message_;
    s.config = Soc::CONFIG;
    s.cpu = Soc::CPU;
    s.profile = profile_.name;
    s.profileFile = options_.profile;
    s.part = nand_.partName();
    s.image = options_.image;
    s.firmware = options_.firmware;
    s.socket = options_.socket;
    s.nsPerCycle = profile_.nsPerCycle;
    s.pid = int(getpid());
    s.channels = Soc::CHANNELS;
    s.ways = Soc::WAYS;
    s.timebase = now_;
    s.cycles = clocked_;
    s.asleepCycles = now_ - clocked_;
    s.waitSeconds = waited_;
    s.hostSeconds = hostTime() - started_ - waited_;
    s.khz = s.hostSeconds > 0 ? double(clocked_) / s.hostSeconds / 1e3 : 0;
    s.visited = server_ && server_->visited();
    s.visitorPid = server_ ? server_->visitorPid() : 0;
    s.visits = server_ ? server_->visits() : 0;
    s.dmaFaults = host_.faults();
    s.h2cBytes = xdma_.h2cBytes();
    s.c2hBytes = xdma_.c2hBytes();
    const NandCounts flash = nand_.counts();
    s.flashReadBytes = flash.reads * nand_.geometry().pageBytes;
    s.flashProgramBytes = flash.programs * nand_.geometry().pageBytes;
    const NandDamage &damage = nand_.damage();
    s.nandBitErrors = damage.bitErrors;
    s.nandProgramFailures = damage.programFailures;
    s.nandEraseFailures = damage.eraseFailures;
    s.nandCutOperations = damage.cut;
    s.dramReadBytes = dram_.bytesRead();
    s.dramWriteBytes = dram_.bytesWritten();
    s.interrupts = function_.messages();
    s.firmwareTrapped = (console_->firmwareState() & 2) != 0;
    s.firmwareCause = console_->firmwareState() >> 8 & 0xFF;
    s.firmwarePc = console_->firmwarePc();
    for (const auto &slot : slots_) {
        s.slots.push_back(slot->title());
    }
    s.violations = state_ == "violation" ? 1 : 0;
    return s;
}

void Board::publish(const std::string &state, const std::string &message) {
    state_ = state;
    message_ = message;
    nextPublish_ = hostTime() + PUBLISH_SECONDS;
    if (!options_.status.empty()) {
        replaceFile(options_.status, status().json());
    }
    if (!options_.stats.empty() && (state == "stopped" || state == "failed" || state == "violation")) {
        replaceFile(options_.stats, status().json());
    }
}

void Board::barRead(int bar, uint32_t offset, unsigned size, std::function<void(uint64_t)> done) {
    const uint32_t word = offset & ~3u;
    const unsigned shift = 8 * (offset & 3);
    const uint64_t mask = size >= 8 ? UINT64_MAX : (uint64_t(1) << (8 * size)) - 1;
    if (bar == BOARD_BAR_XDMA) {
        uint64_t value = xdma_.readRegister(word);
        if (size == 8) {
            value |= uint64_t(xdma_.readRegister(word + 4)) << 32;
        }
        done(value >> shift & mask);
        return;
    }
    settleUntil_ = clocked_ + SETTLE_CYCLES;
    bar0_.read(word, [this, word, shift, mask, size, done = std::move(done)](uint32_t low) {
        if (size != 8) {
            done(uint64_t(low) >> shift & mask);
            return;
        }
        if (options_.bar0Bits == 32) {
            done(UINT64_C(0xFFFFFFFF) << 32 | low); // the port's one word
            return;
        }
        bar0_.read(word + 4, [low, done](uint32_t high) { done(uint64_t(high) << 32 | low); });
    });
}

void Board::barWrite(int bar, uint32_t offset, uint64_t value, unsigned size, std::function<void()> done) {
    const uint32_t word = offset & ~3u;
    const unsigned lane = offset & 3;
    if (bar == BOARD_BAR_XDMA) {
        // the IP's registers take whole words; narrower writes are merged the way a read-modify-write would be
        if (size < 4) {
            const uint32_t mask = uint32_t((uint64_t(1) << (8 * size)) - 1) << (8 * lane);
            value = (xdma_.readRegister(word) & ~mask) | (uint32_t(value) << (8 * lane) & mask);
        }
        xdma_.writeRegister(word, uint32_t(value));
        if (size == 8) {
            xdma_.writeRegister(word + 4, uint32_t(value >> 32));
        }
        settleUntil_ = clocked_ + SETTLE_CYCLES; // an interrupt enable may release an acknowledge
        done();
        return;
    }
    settleUntil_ = clocked_ + SETTLE_CYCLES;
    const unsigned bytes = std::min(size, 4u);
    const uint8_t strobe = uint8_t(((1u << bytes) - 1) << lane);
    const auto written = [this, done = std::move(done)](uint32_t) {
        if (function_.intxAsserted()) {
            // the write may take INTA back, some cycles later: the host that goes on finds it low
            bar0_.read(HOST_VS, [done](uint32_t) { done(); });
        } else {
            done();
        }
    };
    if (size == 8 && options_.bar0Bits == 64) {
        bar0_.write(word, uint32_t(value), 0xF);
        bar0_.write(word + 4, uint32_t(value >> 32), 0xF, written);
    } else {
        bar0_.write(word, uint32_t(value) << (8 * lane), strobe, written);
    }
}

void Board::functionReset(std::function<void()> done) {
    settleUntil_ = clocked_ + SETTLE_CYCLES;
    xdma_.reset();
    bar0_.write(HOST_CMBMSC, 0, 0xF);
    bar0_.write(HOST_CMBMSC + 4, 0, 0xF);
    bar0_.write(HOST_CC, 0, 0xF, [done = std::move(done)](uint32_t) { done(); });
}

} // namespace assasin
