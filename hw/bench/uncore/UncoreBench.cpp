// SPDX-License-Identifier: BSD-3-Clause
#include "UncoreBench.h"

#include "assasin_contract.h"

#include <stdexcept>
#include <string>

namespace uncorebench {

#define BEAT_PORT(p)                                                                                                   \
    BeatPort {                                                                                                         \
        &top.p##_ready, &top.p##_valid, &top.p##_bits_data, &top.p##_bits_last, &top.p##_bits_dst, &top.p##_bits_addr, \
            &top.p##_bits_bytes, &top.p##_bits_toStream, &top.p##_bits_stream, &top.p##_bits_mark                      \
    }
#define REG_PORT(p)                                                                                                    \
    RegPort {                                                                                                          \
        &top.p##_req_ready, &top.p##_req_valid, &top.p##_req_bits_addr, &top.p##_req_bits_write,                       \
            &top.p##_req_bits_wdata, &top.p##_resp_valid, &top.p##_resp_bits                                           \
    }
#define FETCH_PORT(p)                                                                                                  \
    FetchPort {                                                                                                        \
        &top.p##_ready, &top.p##_valid, &top.p##_bits_addr, &top.p##_bits_bytes                                        \
    }

#define TILE_PORT(p)                                                                                                   \
    TilePort {                                                                                                         \
        &top.p##_aw_ready, &top.p##_aw_valid, &top.p##_aw_bits_addr, &top.p##_aw_bits_len, &top.p##_w_ready,           \
            &top.p##_w_valid, &top.p##_w_bits_data, &top.p##_w_bits_strb, &top.p##_w_bits_last, &top.p##_b_ready,      \
            &top.p##_b_valid, &top.p##_ar_ready, &top.p##_ar_valid, &top.p##_ar_bits_addr, &top.p##_ar_bits_len,       \
            &top.p##_r_ready, &top.p##_r_valid, &top.p##_r_bits_data, &top.p##_r_bits_last                             \
    }

UncoreBench::UncoreBench(uint32_t seed)
    : rng(seed), dram(top, rng, taken),
      xdma(top, rng, taken), pagePorts_{BEAT_PORT(io_channels_0_pages), BEAT_PORT(io_channels_1_pages),
                                        BEAT_PORT(io_channels_2_pages)},
      programPorts_{BEAT_PORT(io_channels_0_program), BEAT_PORT(io_channels_1_program),
                    BEAT_PORT(io_channels_2_program)},
      drainPorts_{BEAT_PORT(io_cores_0_drain), BEAT_PORT(io_cores_1_drain), BEAT_PORT(io_cores_2_drain),
                  BEAT_PORT(io_cores_3_drain)},
      packetPorts_{BEAT_PORT(io_cores_0_packets), BEAT_PORT(io_cores_1_packets), BEAT_PORT(io_cores_2_packets),
                   BEAT_PORT(io_cores_3_packets)},
      regPorts_{REG_PORT(io_channels_0_regs), REG_PORT(io_channels_1_regs), REG_PORT(io_channels_2_regs),
                REG_PORT(io_cores_0_regs),    REG_PORT(io_cores_1_regs),    REG_PORT(io_cores_2_regs),
                REG_PORT(io_cores_3_regs)},
      fetchPorts_{FETCH_PORT(io_channels_0_fetch), FETCH_PORT(io_channels_1_fetch), FETCH_PORT(io_channels_2_fetch)} {
    const TilePort tilePorts[CORES] = {TILE_PORT(io_cores_0_dram), TILE_PORT(io_cores_1_dram),
                                       TILE_PORT(io_cores_2_dram), TILE_PORT(io_cores_3_dram)};
    for (unsigned i = 0; i < CORES; i++) {
        tiles[i].connect(tilePorts[i]);
    }
    top.io_channels_0_asleep = top.io_channels_1_asleep = top.io_channels_2_asleep = 1;
    top.io_firmware_status_state = 1;
    top.reset = 1;
    ticks(3);
    top.reset = 0;
    ticks(2);
}

UncoreBench::~UncoreBench() {
    top.final();
}

void UncoreBench::tick(const std::function<void()> &look) {
    top.io_board_timebase = now;
    dram.drive(now);
    xdma.drive(now);
    for (auto [ports, sources, n] : {std::tuple(pagePorts_.data(), pages.data(), CHANNELS),
                                     std::tuple(drainPorts_.data(), drains.data(), CORES)}) {
        for (unsigned i = 0; i < n; i++) {
            Source &s = sources[i];
            *ports[i].valid = !s.beats.empty() && (*ports[i].valid || rng() % 100 >= s.hesitation);
            if (*ports[i].valid) {
                ports[i].put(s.beats.front());
            }
        }
    }
    for (const BeatPort &p : packetPorts_) {
        *p.ready = rng() % 100 >= sinkHesitation;
    }
    for (unsigned i = 0; i < CHANNELS; i++) {
        *programPorts_[i].ready = 1;
        *fetchPorts_[i].valid = !fetches[i].empty();
        if (!fetches[i].empty()) {
            *fetchPorts_[i].addr = fetches[i].front().first;
            *fetchPorts_[i].bytes = fetches[i].front().second;
        }
    }
    for (TileModel &tile : tiles) {
        tile.drive(rng);
    }
    driveRegs();
    driveXdmaRegs();
    top.io_board_irq_ack = irqAck_;
    top.io_board_irq_msix = msix;
    top.eval();

    if (look) {
        look();
    }
    dram.sample(now);
    xdma.sample(now);
    for (auto [ports, sources, n] : {std::tuple(pagePorts_.data(), pages.data(), CHANNELS),
                                     std::tuple(drainPorts_.data(), drains.data(), CORES)}) {
        for (unsigned i = 0; i < n; i++) {
            if (*ports[i].valid && *ports[i].ready) {
                sources[i].beats.pop_front();
                sources[i].sent++;
                taken.push_back(ports[i].valid);
            }
        }
    }
    for (unsigned i = 0; i < CORES; i++) {
        if (*packetPorts_[i].valid && *packetPorts_[i].ready && arrived) {
            arrived(i, packetPorts_[i].get());
        }
    }
    for (unsigned i = 0; i < CHANNELS; i++) {
        if (*programPorts_[i].valid && arrived) {
            arrived(CORES + i, programPorts_[i].get());
        }
        if (*fetchPorts_[i].valid && *fetchPorts_[i].ready) {
            fetches[i].pop_front();
        }
    }
    for (TileModel &tile : tiles) {
        tile.sample();
    }
    sampleRegs();
    sampleXdmaRegs();
    const uint16_t request = top.io_board_irq_req;
    irqAck_ = 0;
    for (unsigned v = 0; v < 16; v++) {
        if ((request & ~irqSeen_) >> v & 1 && onInterrupt) {
            onInterrupt(v);
        }
        // Without MSI-X both edges are acknowledged.
        const bool wants =
            msix ? request >> v & 1 && !(top.io_board_irq_ack >> v & 1) : ((request ^ intx_) >> v & 1) != 0;
        if (wants && ackInterrupts && rng() % 4 == 0) {
            irqAck_ = static_cast<uint16_t>(irqAck_ | 1u << v);
            interrupts[v] += request >> v & 1;
            intx_ = static_cast<uint16_t>(msix ? 0 : intx_ ^ 1u << v);
        }
    }
    irqSeen_ = request;

    top.clock = 1;
    top.eval();
    top.clock = 0;
    top.eval();
    for (uint8_t *valid : taken) {
        *valid = 0;
    }
    taken.clear();
    now++;
}

void UncoreBench::ticks(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        tick();
    }
}

bool UncoreBench::until(const std::function<bool()> &condition, unsigned limit) {
    for (unsigned i = 0; i < limit; i++) {
        if (condition()) {
            return true;
        }
        tick();
    }
    return condition();
}

void UncoreBench::driveRegs() {
    for (unsigned i = 0; i < CHANNELS + CORES; i++) {
        *regPorts_[i].ready = rng() % 4 != 0;
        *regPorts_[i].respValid = regAnswer_[i];
        *regPorts_[i].respData = regData_[i];
    }
}

// A block answers with its number and the offset.
void UncoreBench::sampleRegs() {
    for (unsigned i = 0; i < CHANNELS + CORES; i++) {
        const RegPort &p = regPorts_[i];
        regAnswer_[i] = *p.valid && *p.ready;
        if (regAnswer_[i]) {
            regAccesses.push_back({i, *p.addr, *p.write != 0, *p.wdata});
            regData_[i] = i << 16 | *p.addr;
        }
    }
}

void UncoreBench::driveXdmaRegs() {
    top.io_board_xdmaRegs_awaddr_ready = !axlAddr_ && rng() % 2;
    top.io_board_xdmaRegs_wdata_ready = !axlData_ && rng() % 2;
    top.io_board_xdmaRegs_araddr_ready = !axlRead_ && rng() % 2;
    const bool known = axlAddrValue_ / 4 < xdmaRegs.size();
    top.io_board_xdmaRegs_bresp_valid = axlAddr_ && axlData_;
    top.io_board_xdmaRegs_bresp_bits = known ? 0 : 2;
    top.io_board_xdmaRegs_rdata_valid = axlRead_;
    top.io_board_xdmaRegs_rdata_bits_data = known ? xdmaRegs[axlAddrValue_ / 4] : 0;
    top.io_board_xdmaRegs_rdata_bits_resp = known ? 0 : 2;
}

void UncoreBench::sampleXdmaRegs() {
    if (top.io_board_xdmaRegs_bresp_valid && top.io_board_xdmaRegs_bresp_ready) {
        if (axlAddrValue_ / 4 < xdmaRegs.size()) {
            xdmaRegs[axlAddrValue_ / 4] = axlDataValue_;
        }
        axlAddr_ = axlData_ = false;
    }
    if (top.io_board_xdmaRegs_rdata_valid && top.io_board_xdmaRegs_rdata_ready) {
        axlRead_ = false;
    }
    if (top.io_board_xdmaRegs_awaddr_valid && top.io_board_xdmaRegs_awaddr_ready) {
        axlAddr_ = true;
        axlAddrValue_ = top.io_board_xdmaRegs_awaddr_bits;
    }
    if (top.io_board_xdmaRegs_wdata_valid && top.io_board_xdmaRegs_wdata_ready) {
        axlData_ = true;
        axlDataValue_ = top.io_board_xdmaRegs_wdata_bits_data;
    }
    if (top.io_board_xdmaRegs_araddr_valid && top.io_board_xdmaRegs_araddr_ready) {
        axlRead_ = true;
        axlAddrValue_ = top.io_board_xdmaRegs_araddr_bits;
    }
}

uint32_t UncoreBench::hostRead(uint32_t addr) {
    top.io_board_bar0_araddr_valid = 1;
    top.io_board_bar0_araddr_bits = addr;
    top.io_board_bar0_rdata_ready = 1;
    bool asked = false;
    for (unsigned i = 0; i < 10000; i++) {
        bool taken = false, done = false;
        uint32_t data = 0;
        tick([&] {
            taken = top.io_board_bar0_araddr_valid && top.io_board_bar0_araddr_ready;
            done = asked && top.io_board_bar0_rdata_valid;
            data = top.io_board_bar0_rdata_bits_data;
        });
        if (taken) {
            asked = true;
            top.io_board_bar0_araddr_valid = 0;
        }
        if (done) {
            top.io_board_bar0_rdata_ready = 0;
            return data;
        }
    }
    throw std::runtime_error("BAR0 read of " + std::to_string(addr) + " is not answered");
}

void UncoreBench::hostWrite(uint32_t addr, uint32_t data, uint8_t strb) {
    top.io_board_bar0_awaddr_bits = addr;
    top.io_board_bar0_wdata_bits_data = data;
    top.io_board_bar0_wdata_bits_strb = strb;
    top.io_board_bar0_bresp_ready = 1;
    // Address and data may come in any order.
    const unsigned addrAt = rng() % 3, dataAt = rng() % 3;
    bool addrSent = false, dataSent = false;
    for (unsigned i = 0; i < 10000; i++) {
        top.io_board_bar0_awaddr_valid = !addrSent && i >= addrAt;
        top.io_board_bar0_wdata_valid = !dataSent && i >= dataAt;
        bool a = false, d = false, done = false;
        tick([&] {
            a = top.io_board_bar0_awaddr_valid && top.io_board_bar0_awaddr_ready;
            d = top.io_board_bar0_wdata_valid && top.io_board_bar0_wdata_ready;
            done = addrSent && dataSent && top.io_board_bar0_bresp_valid;
        });
        addrSent |= a;
        dataSent |= d;
        if (done) {
            top.io_board_bar0_bresp_ready = 0;
            return;
        }
    }
    throw std::runtime_error("BAR0 write of " + std::to_string(addr) + " is not answered");
}

UncoreBench::Access UncoreBench::access(uint32_t addr, bool write, uint32_t data, unsigned sizeLog2) {
    const unsigned lane = addr & 3;
    const uint8_t mask = static_cast<uint8_t>(((1u << (1u << sizeLog2)) - 1) << lane);
    top.io_firmware_dmem_req_valid = 1;
    top.io_firmware_dmem_req_bits_addr = addr;
    top.io_firmware_dmem_req_bits_write = write;
    top.io_firmware_dmem_req_bits_size = static_cast<uint8_t>(sizeLog2);
    top.io_firmware_dmem_req_bits_mask = mask;
    top.io_firmware_dmem_req_bits_wdata = data << (8 * lane);
    bool asked = false;
    for (unsigned i = 0; i < 20000; i++) {
        bool taken = false, answered = false;
        Access result{0, false, i};
        tick([&] {
            taken = top.io_firmware_dmem_req_valid && top.io_firmware_dmem_req_ready;
            answered = top.io_firmware_dmem_resp_valid;
            result.data = top.io_firmware_dmem_resp_bits_rdata >> (8 * lane);
            result.error = top.io_firmware_dmem_resp_bits_err;
        });
        if (!asked && answered) {
            throw std::runtime_error("data bus: answer without a request");
        }
        const bool done = asked && answered;
        if (taken) {
            asked = true;
            top.io_firmware_dmem_req_valid = 0;
        }
        if (done) {
            return result;
        }
    }
    throw std::runtime_error("data bus: access to " + std::to_string(addr) + " is not answered");
}

uint32_t UncoreBench::load(uint32_t addr) {
    const Access a = access(addr, false, 0, 2);
    if (a.error) {
        throw std::runtime_error("load of " + std::to_string(addr) + " faults");
    }
    return a.data;
}

void UncoreBench::store(uint32_t addr, uint32_t data) {
    if (access(addr, true, data, 2).error) {
        throw std::runtime_error("store to " + std::to_string(addr) + " faults");
    }
}

void UncoreBench::release() {
    hostWrite(BAR_CTRL + CTRL_RESET, 0);
    if (!until([&] { return !top.io_hold; })) {
        throw std::runtime_error("the reset of the firmware does not end");
    }
}

void UncoreBench::deviceWrite(uint32_t addr, const std::vector<uint8_t> &data) {
    xdma.write(addr, data);
    if (!until([&] { return !xdma.busy(); })) {
        throw std::runtime_error("AXI slave: write hangs");
    }
}

std::vector<uint8_t> UncoreBench::deviceRead(uint32_t addr, unsigned bytes) {
    xdma.read(addr, bytes);
    if (!until([&] { return !xdma.busy(); })) {
        throw std::runtime_error("AXI slave: read hangs");
    }
    return xdma.readData;
}

void UncoreBench::fetch(unsigned n, uint32_t addr, uint16_t bytes) {
    fetches.at(n).emplace_back(addr, bytes);
}

} // namespace uncorebench
