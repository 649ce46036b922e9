// SPDX-License-Identifier: BSD-3-Clause
#include "NativeBoard.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <time.h>
#include <unistd.h>

#include "sim/NandArray.h"

#include "assasin_contract.h"

namespace assasin {

namespace {

constexpr unsigned PHY_BYTES = 1;
constexpr unsigned STEPS = 16;          ///< rounds of the firmware between looks at the host's clock
constexpr double SERVE_SECONDS = 20e-6; ///< between looks at the sockets
constexpr double PUBLISH_SECONDS = 1.0;
constexpr uint32_t HOST_CC = 0x14, HOST_CMBMSC = 0x50;

double hostTime() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

} // namespace

void NativeBoard::check(const NativeOptions &options) {
    const Configuration config = Configuration::parse(options.config);
    NandArray::part(loadProfile(options.profile), options.media, config.channels, config.ways);
}

NativeBoard::NativeBoard(const NativeOptions &options)
    : options_(options), config_(Configuration::parse(options.config)), profile_(loadProfile(options.profile)),
      part_(NandArray::part(profile_, options.media, config_.channels, config_.ways)) {
    started_ = hostTime();
    {
        // Makes or empties the image, ends what a loss of power found under way, and lets the medium age, as on the
        // virtual board. Its packages' pins are of no use here.
        const NandArray packages(profile_, options.image, config_.channels, config_.ways, PHY_BYTES, options.format,
                                 options.media, options.nandAge);
        cutOperations_ = packages.damage().cut;
    }
    nand_ = std::make_unique<model::Nand>(part_, config_.channels, config_.ways,
                                          (std::filesystem::path(options.image) / "nand.img").string());
    drive_ = std::make_unique<NativeDrive>(*nand_, part_, config_, profile_, host_, function_);
    drive_->idle = [this] { idle(); };
    const auto clockMhz = uint32_t(1000.0 / profile_.nsPerCycle + 0.5);
    drive_->bootArg = uint32_t(options.format) << SYS_BOOT_ARG_FORMAT_SHIFT | clockMhz << SYS_BOOT_ARG_CLOCK_MHZ_SHIFT;
    console_ =
        std::make_unique<Console>(bar0_, options.console, options.socket.empty() ? "" : options.socket + ".console");
    firmware_ = std::make_unique<Firmware>(options.firmware);
}

NativeBoard::~NativeBoard() {
    model::current = nullptr;
}

bool NativeBoard::over() const {
    return stop_->requested.load(std::memory_order_relaxed) || drive_->now >= options_.quitAfter;
}

void NativeBoard::run(const Stop &stop) {
    stop_ = &stop;
    model::current = drive_.get();
    publish("booting", "");
    try {
        firmware_->boot();
        serveConsole();
        if (!options_.socket.empty()) {
            listen(options_.socket);
        }
        publish("serving", "");
        while (!over()) {
            for (unsigned i = 0; i < STEPS; i++) {
                firmware_->step();
            }
            const double now = hostTime();
            if (now - served_ >= SERVE_SECONDS) {
                serve();
            }
            if (now >= nextPublish_) {
                publish(state_, message_);
            }
        }
    } catch (const Stopped &) {
    } catch (...) {
        serveConsole();
        throw;
    }
    serveConsole();
    publish("stopped", "");
}

void NativeBoard::listen(const std::string &path) {
    BarTarget &target = *this;
    server_ = std::make_unique<Server>(path, function_, host_, target);
    bars_ = std::make_unique<BarServer>(path + ".bars", target);
}

/// The firmware sleeps.
void NativeBoard::idle() {
    drive_->serveXdma();
    const double now = hostTime();
    if (now - served_ >= SERVE_SECONDS) {
        serve();
    }
    if (over()) {
        throw Stopped{};
    }
    if (drive_->awake() || drive_->xdmaBusy()) {
        return;
    }
    const uint64_t event = std::min(drive_->eventAt(), options_.quitAfter), timer = drive_->timer();
    if (event <= timer && event != UINT64_MAX) {
        drive_->advanceTo(event);
        return;
    }
    serve();
    if (drive_->awake() || drive_->xdmaBusy()) {
        return;
    }
    if (timer == UINT64_MAX) {
        wait(-1);
        return;
    }
    if (options_.race) {
        drive_->advanceTo(timer);
        return;
    }
    // Only a timer is due: drive time keeps to real time, so that an idle drive leaves the host its processor.
    const uint64_t left = timer - drive_->now;
    const double seconds = double(left) * profile_.nsPerCycle * 1e-9;
    const double from = hostTime();
    wait(int(std::min(seconds * 1e3, 1e9)));
    const double passed = (hostTime() - from) * 1e9 / profile_.nsPerCycle;
    // Less than a millisecond is below poll's resolution.
    drive_->advanceTo(passed >= double(left) || seconds < 1e-3 ? timer : drive_->now + uint64_t(passed));
}

void NativeBoard::waitOnServers() {
    fds_.clear();
    if (server_) {
        server_->waitOn(fds_);
        bars_->waitOn(fds_);
    }
    console_->waitOn(fds_);
}

void NativeBoard::wait(int milliseconds) {
    waitOnServers();
    fds_.push_back({stop_->fd, POLLIN, 0});
    const double from = hostTime();
    if (milliseconds < 0 || milliseconds > 500) {
        publish(state_, message_);
    }
    ::poll(fds_.data(), nfds_t(fds_.size()), milliseconds);
    waited_ += hostTime() - from;
    serve();
}

void NativeBoard::serve() {
    served_ = hostTime();
    waitOnServers();
    if (fds_.empty() || ::poll(fds_.data(), nfds_t(fds_.size()), 0) == 0) {
        if (!drive_->console.empty()) {
            serveConsole();
        }
        drive_->serveXdma();
        return;
    }
    if (server_) {
        server_->poll();
        bars_->poll();
    }
    console_->poll(drive_->now);
    serveConsole();
    drive_->serveXdma();
}

/// Gives the console what it asks of BAR0.
void NativeBoard::serveConsole() {
    console_->drain(drive_->now);
    AxiLiteWires wires;
    while (!bar0_.idle()) {
        wires.awReady = wires.wReady = wires.arReady = true;
        wires.bValid = wires.rValid = false;
        bar0_.drive(wires);
        if (wires.wValid) {
            drive_->bar0Write(wires.awAddr, wires.wData, wires.wStrb);
            wires.bValid = true;
        } else if (wires.arValid) {
            wires.rData = drive_->bar0Read(wires.arAddr);
            wires.rResp = AXI_OKAY;
            wires.rValid = true;
        }
        bar0_.sample(wires);
    }
}

// ---------------------------------------------------------------- what the host asks for

void NativeBoard::barRead(int bar, uint32_t offset, unsigned size, std::function<void(uint64_t)> done) {
    const uint32_t word = offset & ~3u;
    const unsigned shift = 8 * (offset & 3);
    const uint64_t mask = size >= 8 ? UINT64_MAX : (uint64_t(1) << (8 * size)) - 1;
    const auto read = [&](uint32_t at) -> uint64_t {
        return bar == BOARD_BAR_XDMA ? drive_->xdma().readRegister(at) : drive_->bar0Read(at);
    };
    uint64_t value = read(word);
    if (size == 8) {
        value |= read(word + 4) << 32;
    }
    drive_->serveXdma();
    done(value >> shift & mask);
}

void NativeBoard::barWrite(int bar, uint32_t offset, uint64_t value, unsigned size, std::function<void()> done) {
    const uint32_t word = offset & ~3u;
    const unsigned lane = offset & 3;
    if (bar == BOARD_BAR_XDMA) {
        // The IP's registers take whole words; narrower writes are merged the way a read-modify-write would be.
        Xdma &xdma = drive_->xdma();
        if (size < 4) {
            const uint32_t mask = uint32_t((uint64_t(1) << (8 * size)) - 1) << (8 * lane);
            value = (xdma.readRegister(word) & ~mask) | (uint32_t(value) << (8 * lane) & mask);
        }
        xdma.writeRegister(word, uint32_t(value));
        if (size == 8) {
            xdma.writeRegister(word + 4, uint32_t(value >> 32));
        }
    } else if (size == 8) {
        drive_->bar0Write(word, uint32_t(value), 0xF);
        drive_->bar0Write(word + 4, uint32_t(value >> 32), 0xF);
    } else {
        drive_->bar0Write(word, uint32_t(value) << (8 * lane), uint8_t(((1u << size) - 1) << lane));
    }
    drive_->serveXdma();
    done();
}

void NativeBoard::functionReset(std::function<void()> done) {
    drive_->xdma().reset();
    drive_->bar0Write(HOST_CMBMSC, 0, 0xF);
    drive_->bar0Write(HOST_CMBMSC + 4, 0, 0xF);
    drive_->bar0Write(HOST_CC, 0, 0xF);
    drive_->serveXdma();
    done();
}

// ---------------------------------------------------------------- status

Status NativeBoard::status() const {
    Status s;
    s.state = state_;
    s.message = message_;
    s.config = config_.name;
    s.profile = profile_.name;
    s.profileFile = options_.profile;
    s.part = part_.name;
    s.image = options_.image;
    s.firmware = options_.firmware;
    s.socket = options_.socket;
    s.nsPerCycle = profile_.nsPerCycle;
    s.pid = int(getpid());
    s.channels = config_.channels;
    s.ways = config_.ways;
    s.timebase = drive_->now;
    s.asleepCycles = std::min(drive_->asleepCycles, s.timebase);
    s.cycles = s.timebase - s.asleepCycles;
    s.waitSeconds = waited_;
    s.hostSeconds = hostTime() - started_ - waited_;
    s.khz = s.hostSeconds > 0 ? double(s.timebase) / s.hostSeconds / 1e3 : 0;
    s.visited = server_ && server_->visited();
    s.visitorPid = server_ ? server_->visitorPid() : 0;
    s.visits = server_ ? server_->visits() : 0;
    s.dmaFaults = host_.faults();
    s.h2cBytes = drive_->h2cBytes();
    s.c2hBytes = drive_->c2hBytes();
    s.flashReadBytes = nand_->reads * part_.geometry.pageBytes;
    s.flashProgramBytes = nand_->pagePrograms * part_.geometry.pageBytes;
    const NandDamage &damage = nand_->cells().damage();
    s.nandBitErrors = damage.bitErrors;
    s.nandProgramFailures = damage.programFailures;
    s.nandEraseFailures = damage.eraseFailures;
    s.nandCutOperations = damage.cut + cutOperations_;
    s.interrupts = function_.messages();
    s.violations = state_ == "violation" ? 1 : 0;
    return s;
}

void NativeBoard::publish(const std::string &state, const std::string &message) {
    state_ = state;
    message_ = message;
    nextPublish_ = hostTime() + PUBLISH_SECONDS;
    const std::string text = "{\n  \"board\": \"native\"," + status().json().substr(1);
    if (!options_.status.empty()) {
        replaceFile(options_.status, text);
    }
    if (!options_.stats.empty() && (state == "stopped" || state == "failed" || state == "violation")) {
        replaceFile(options_.stats, text);
    }
}

} // namespace assasin
