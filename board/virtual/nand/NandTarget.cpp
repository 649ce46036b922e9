// SPDX-License-Identifier: BSD-3-Clause
#include "NandTarget.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

namespace assasin {

namespace {

std::string hex(unsigned value) {
    char text[16];
    std::snprintf(text, sizeof text, "%02Xh", value);
    return text;
}

constexpr uint64_t kDummyBusyNs = 500; // tDBSY between the planes of a multi-plane operation
constexpr unsigned kReadLevel = 0x89;  // feature address of the read level

} // namespace

NandTarget::NandTarget(const NandSetup &setup, unsigned channel, unsigned way)
    : setup_(setup), channel_(channel), way_(way), luns_(setup.part.geometry.luns), times_(setup.timing.sdr(0)),
      features_(256 * 4, 0) {
    for (Lun &lun : luns_)
        lun.registers.resize(setup.part.geometry.planes);
    auto page = setup.part.parameterPage();
    for (unsigned copy = 0; copy < PartFile::kParameterPageCopies; copy++)
        parameters_.insert(parameters_.end(), page.begin(), page.end());
    // Power has come: it was lost before, with whatever was under way.
    for (unsigned lun = 0; lun < luns_.size(); lun++)
        setup.cells.cut(channel, way, lun);
}

std::string NandTarget::place() const {
    return "channel " + std::to_string(channel_) + " way " + std::to_string(way_) + " LUN " + std::to_string(lun_);
}

void NandTarget::violate(uint64_t now, const std::string &rule, const std::string &detail) const {
    throw NandViolation(place(), now, rule, detail + " (last command " + hex(lastCommand_) + ")");
}

void NandTarget::require(uint64_t now, const char *rule, uint64_t from, uint64_t cycles,
                         const std::string &what) const {
    if (now - from < cycles)
        violate(now, rule,
                what + " after " + std::to_string(now - from) + " cycles, the part needs " + std::to_string(cycles));
}

unsigned NandTarget::blockOf(uint32_t row) const {
    const NandGeometry &g = setup_.part.geometry;
    return (row & ((1u << g.lunShift()) - 1)) >> g.pageBits();
}

uint32_t NandTarget::rowOfAddress(unsigned first) const {
    return address_[first] | address_[first + 1] << 8 | static_cast<uint32_t>(address_[first + 2]) << 16;
}

std::vector<uint8_t> &NandTarget::pageRegister(Lun &lun, unsigned plane) {
    std::vector<uint8_t> &reg = lun.registers[plane];
    if (reg.empty())
        reg.resize(setup_.part.geometry.rawPageBytes(), 0xFF);
    return reg;
}

// ---------------------------------------------------------------- bus timing

void NandTarget::select(uint64_t now) {
    selectedAt_ = now;
    afterSelect_ = true;
    afterLatch_ = false;
    dataPhase_ = false;
}

void NandTarget::deselect(uint64_t now) {
    if (dataPhase_)
        require(now, "tPST", dataAt_ + times_.beat, times_.tPST, "chip enable high after the last data beat");
}

void NandTarget::latch(uint64_t now) {
    require(now, "tCS", selectedAt_, times_.tCS, "command or address after chip enable low");
    if (dataPhase_)
        require(now, "tPST", dataAt_ + times_.beat, times_.tPST, "command or address after the last data beat");
    else if (latchedAt_ != 0)
        require(now, "tWC", latchedAt_, times_.tWC, "command or address after the one before");
    latchedAt_ = now;
    afterLatch_ = true;
    dataPhase_ = false;
}

// ---------------------------------------------------------------- rules

void NandTarget::needReady(uint64_t now, const char *what) const {
    const Lun &lun = luns_[lun_];
    if (!busy(lun, now))
        return;
    if (now < lun.lowAt)
        violate(now, "tWB",
                std::string(what) + " before the part has shown busy: " + std::to_string(lun.lowAt - now) +
                    " cycles too early");
    violate(now, "busy",
            std::string(what) + " while the LUN is busy for another " + std::to_string(lun.readyAt - now) + " cycles");
}

void NandTarget::needAllReady(uint64_t now) const {
    for (const Lun &lun : luns_)
        if (busy(lun, now) || working(lun, now))
            violate(now, busy(lun, now) && now < lun.lowAt ? "tWB" : "busy",
                    "command while a LUN is busy for another " +
                        std::to_string((busy(lun, now) ? lun.readyAt : lun.behind.end) - now) + " cycles");
}

void NandTarget::needOutput(uint64_t now) const {
    if (driving_ & ~(1u << lun_))
        violate(now, "LUN selection",
                "data out of LUN " + std::to_string(lun_) + " while other LUNs may drive the bus (mask " +
                    std::to_string(driving_) + "): 78h selects");
    if (columnLun_ != lun_)
        violate(now, "LUN selection",
                "data out of LUN " + std::to_string(lun_) + " at the column of LUN " + std::to_string(columnLun_) +
                    ": change read column comes first");
}

/** 80h may clear the page registers of all LUNs that are not busy (ONFI, restrictions of multiple LUN operations). */
void NandTarget::clearRegisters(uint64_t now) {
    for (Lun &lun : luns_)
        if (!busy(lun, now))
            for (std::vector<uint8_t> &reg : lun.registers)
                std::fill(reg.begin(), reg.end(), 0xFF);
}

void NandTarget::needAddress(uint64_t now, uint8_t confirm, uint8_t setup) const {
    if (setupCommand_ != setup)
        violate(now, "command order", "command " + hex(confirm) + " without " + hex(setup) + " before it");
    if (addressCount_ != addressNeed_)
        violate(now, "address cycles",
                std::to_string(addressCount_) + " address cycles before " + hex(confirm) + ", " +
                    std::to_string(addressNeed_) + " belong there");
}

void NandTarget::checkRow(uint64_t now, uint32_t row) {
    const NandGeometry &g = setup_.part.geometry;
    unsigned lun = row >> g.lunShift();
    if (lun >= g.luns)
        violate(now, "address range",
                "row address " + std::to_string(row) + " is past the last LUN (" + g.text() + ")");
    if (blockOf(row) >= g.blocksPerLun())
        violate(now, "address range",
                "row address " + std::to_string(row) + " is block " + std::to_string(blockOf(row)) + ", the LUN has " +
                    std::to_string(g.blocksPerLun()) + " (" + g.text() + ")");
    if (programLun_ != kNone && programLun_ != static_cast<int>(lun))
        violate(now, "LUN selection",
                "LUN " + std::to_string(lun) + " is addressed while LUN " + std::to_string(programLun_) +
                    " is being given a page: 10h or 15h comes first");
    lun_ = lun;
    row_ = row;
    // LUNs that are not addressed let go of the bus; busy ones do not hear it.
    for (unsigned i = 0; i < luns_.size(); i++)
        if (i != lun && !busy(luns_[i], now))
            driving_ &= ~(1u << i);
    // A sequence that was given up leaves no planes behind.
    if (!luns_[lun].morePlanes)
        luns_[lun].queued.clear();
}

void NandTarget::checkProgram(uint64_t now, uint32_t row) const {
    const NandAddress at = addressOf(lun_, row);
    for (uint32_t before :
         luns_[lun_].behind.operation == Array::Program ? luns_[lun_].behind.rows : luns_[lun_].queued)
        if (blockOf(before) == at.block && pageOf(before) >= at.page)
            violate(now, "page order",
                    "program of block " + std::to_string(at.block) + " page " + std::to_string(at.page) +
                        " behind page " + std::to_string(pageOf(before)) + ", which is being programmed");
    const NandCells::Obstacle obstacle = setup_.cells.obstacle(at);
    if (obstacle == NandCells::Obstacle::None || obstacle == NandCells::Obstacle::Damaged)
        return;
    const std::string what = "program of block " + std::to_string(at.block) + " page " + std::to_string(at.page);
    if (obstacle == NandCells::Obstacle::Order)
        violate(now, "page order",
                what + " behind page " +
                    std::to_string(setup_.cells.image().nextPage({channel_, way_, lun_, at.block}) - 1) +
                    " of the block");
    violate(now, "page not erased", what + ", which is programmed already");
}

// ---------------------------------------------------------------- commands

void NandTarget::command(uint64_t now, uint8_t byte) {
    advance(now);
    latch(now);
    lastCommand_ = byte;
    if (!wasReset_ && byte != 0xFF)
        violate(now, "command order", "command " + hex(byte) + " before the first RESET");
    const NandGeometry &g = setup_.part.geometry;

    // Commands that collect address cycles
    auto collect = [&](unsigned cycles) {
        setupCommand_ = byte;
        addressCount_ = 0;
        addressNeed_ = cycles;
        writing_ = false;
    };
    bool inProgram = setupCommand_ == 0x80 || setupCommand_ == 0x85;
    if (inProgram && byte != 0x10 && byte != 0x11 && byte != 0x15 && byte != 0x85 && byte != 0x80 && byte != 0xFF)
        violate(now, "command order", "command " + hex(byte) + " inside a program sequence");

    switch (byte) {
    case 0xFF:
        reset(now);
        return;
    case 0x70:
        for (const Lun &lun : luns_)
            if (&lun != &luns_[lun_] && busy(lun, now))
                violate(now, "LUN selection", "70h while several LUNs are at work: 78h names one");
        if (output_ != Output::Status)
            beforeStatus_ = output_;
        output_ = Output::Status;
        statusPlanes_ = ~0u;
        setupCommand_ = kNone;
        return;
    case 0x78:
        collect(3);
        return;
    case 0x00:
        collect(5);
        // Alone it brings the output back from status to data.
        if (output_ == Output::Status)
            output_ = beforeStatus_;
        return;
    case 0x05:
        collect(2);
        return;
    case 0x06:
        collect(5);
        return;
    case 0x80:
        collect(5);
        return;
    case 0x85:
        if (!inProgram)
            violate(now, "command order", "change write column outside a program sequence");
        collect(2);
        return;
    case 0x60:
        collect(3);
        return;
    case 0x90:
    case 0xEC:
    case 0xEE:
    case 0xEF:
        needAllReady(now);
        collect(1);
        output_ = Output::None;
        return;
    default:
        break;
    }

    // Commands that confirm
    if ((byte == 0x15 || byte == 0x31 || byte == 0x3F) && !setup_.part.cacheCommands)
        violate(now, "command", "command " + hex(byte) + ": this part has no cache commands");
    Lun &lun = luns_[lun_];
    switch (byte) {
    case 0x30:
    case 0x32:
        needAddress(now, byte, 0x00);
        addPlaneRow(now, lun, row_, byte == 0x32);
        if (byte == 0x32) {
            start(now, lun, Array::Other, kDummyBusyNs);
        } else {
            lun.rows = lun.queued;
            lun.queued.clear();
            lun.readRow = static_cast<int>(row_);
            lun.behind.next.clear();
            plane_ = planeOf(row_);
            column_ = columnOfAddress();
            outPosition_ = column_;
            output_ = Output::Data;
            driving_ |= 1u << lun_;
            start(now, lun, Array::Read, setup_.part.array.tR);
        }
        break;
    case 0x31:
        if (setupCommand_ == 0x00 && addressCount_ != 0)
            needAddress(now, byte, 0x00);
        startCacheRead(now, lun, setupCommand_ == 0x00 && addressCount_ != 0);
        outPosition_ = 0;
        output_ = Output::Data;
        driving_ |= 1u << lun_;
        break;
    case 0x3F:
        if (lun.behind.operation != Array::Read && lun.behind.next.empty())
            violate(now, "command order", "command 3Fh without 31h before it");
        start(now, lun, Array::CacheReadEnd, kDummyBusyNs);
        outPosition_ = 0;
        output_ = Output::Data;
        break;
    case 0xE0:
        if (setupCommand_ != 0x05 && setupCommand_ != 0x06)
            violate(now, "command order", "command E0h without 05h or 06h before it");
        needAddress(now, byte, static_cast<uint8_t>(setupCommand_));
        needReady(now, "change read column");
        column_ = columnOfAddress();
        if (column_ >= g.rawPageBytes())
            violate(now, "address range",
                    "column " + std::to_string(column_) + ", a page has " + std::to_string(g.rawPageBytes()));
        if (setupCommand_ == 0x06) {
            plane_ = planeOf(row_);
            driving_ |= 1u << lun_;
        }
        columnLun_ = lun_;
        outPosition_ = column_;
        output_ = Output::Data;
        columnChange_ = true;
        break;
    case 0x10:
    case 0x11:
    case 0x15:
        if (!inProgram)
            violate(now, "command order", "command " + hex(byte) + " without 80h before it");
        needAddress(now, byte, static_cast<uint8_t>(setupCommand_));
        addPlaneRow(now, lun, row_, byte == 0x11);
        driving_ &= ~(1u << lun_);
        if (byte != 0x11)
            programLun_ = kNone;
        if (byte == 0x11) {
            start(now, lun, Array::Other, kDummyBusyNs);
        } else if (writeProtected_) {
            lun.queued.clear();
            start(now, lun, Array::Other, kDummyBusyNs);
        } else {
            lun.rows = lun.queued;
            lun.queued.clear();
            if (byte == 0x15)
                start(now, lun, Array::CacheProgram, kDummyBusyNs);
            else
                start(now, lun, Array::Program, setup_.part.array.tPROG);
        }
        break;
    case 0xD0:
    case 0xD1:
        needAddress(now, byte, 0x60);
        addPlaneRow(now, lun, row_, byte == 0xD1);
        driving_ &= ~(1u << lun_);
        if (byte == 0xD1) {
            start(now, lun, Array::Other, kDummyBusyNs);
        } else if (writeProtected_) {
            lun.queued.clear();
            start(now, lun, Array::Other, kDummyBusyNs);
        } else {
            lun.rows = lun.queued;
            lun.queued.clear();
            start(now, lun, Array::Erase, setup_.part.array.tBERS);
        }
        break;
    default:
        violate(now, "command", "command " + hex(byte) + " is not one this part knows");
    }
    setupCommand_ = kNone;
    writing_ = false;
}

void NandTarget::addPlaneRow(uint64_t now, Lun &lun, uint32_t row, bool more) {
    for (uint32_t other : lun.queued)
        if (planeOf(other) == planeOf(row))
            violate(now, "multi-plane",
                    "plane " + std::to_string(planeOf(row)) + " is addressed twice in one operation");
    lun.queued.push_back(row);
    lun.morePlanes = more;
}

void NandTarget::address(uint64_t now, uint8_t byte) {
    advance(now);
    latch(now);
    if (setupCommand_ == kNone || addressCount_ >= addressNeed_)
        violate(now, "address cycles",
                "address cycle " + std::to_string(addressCount_ + 1) + " where " +
                    std::to_string(setupCommand_ == kNone ? 0 : addressNeed_) + " belong");
    address_[addressCount_++] = byte;
    if (addressCount_ == addressNeed_)
        addressDone(now);
}

void NandTarget::addressDone(uint64_t now) {
    const NandGeometry &g = setup_.part.geometry;
    switch (setupCommand_) {
    case 0x00:
    case 0x80:
    case 0x06:
        checkRow(now, rowOfAddress(2));
        needReady(now, "address");
        if (columnOfAddress() >= g.rawPageBytes())
            violate(now, "address range",
                    "column " + std::to_string(columnOfAddress()) + ", a page has " + std::to_string(g.rawPageBytes()));
        columnLun_ = lun_;
        if (setupCommand_ == 0x80) {
            checkProgram(now, row_);
            column_ = columnOfAddress();
            if (programLun_ == kNone)
                clearRegisters(now);
            programLun_ = static_cast<int>(lun_);
            std::vector<uint8_t> &reg = pageRegister(luns_[lun_], planeOf(row_));
            std::fill(reg.begin(), reg.end(), 0xFF);
            writing_ = true;
        }
        break;
    case 0x85:
        column_ = columnOfAddress();
        if (column_ >= g.rawPageBytes())
            violate(now, "address range",
                    "column " + std::to_string(column_) + ", a page has " + std::to_string(g.rawPageBytes()));
        writing_ = true;
        columnChange_ = true;
        break;
    case 0x60:
        checkRow(now, rowOfAddress(0));
        needReady(now, "address");
        break;
    case 0x78:
        checkRow(now, rowOfAddress(0));
        if (output_ != Output::Status)
            beforeStatus_ = output_;
        output_ = Output::Status;
        statusPlanes_ = 1u << planeOf(row_);
        driving_ = 1u << lun_;
        setupCommand_ = kNone;
        break;
    case 0x90:
        idAddress_ = address_[0];
        if (idAddress_ != 0x00 && idAddress_ != 0x20)
            violate(now, "address range", "READ ID at address " + hex(idAddress_) + ", 00h and 20h are there");
        output_ = Output::Id;
        outPosition_ = 0;
        setupCommand_ = kNone;
        break;
    case 0xEC:
        if (address_[0] != 0)
            violate(now, "address range", "parameter page at address " + hex(address_[0]) + ", only 00h is there");
        output_ = Output::Parameter;
        outPosition_ = 0;
        setupCommand_ = kNone;
        startTarget(now, setup_.part.array.tR);
        break;
    case 0xEE:
        featureAddress_ = address_[0];
        output_ = Output::Feature;
        outPosition_ = 0;
        setupCommand_ = kNone;
        startTarget(now, setup_.part.array.tFEAT);
        break;
    case 0xEF:
        featureAddress_ = address_[0];
        featureCount_ = 0;
        break;
    default:
        break;
    }
}

// ---------------------------------------------------------------- data

bool NandTarget::dataIn(uint64_t now, uint32_t beat) {
    advance(now);
    bool feature = setupCommand_ == 0xEF && addressCount_ == addressNeed_ && featureCount_ < 4;
    if (!feature && !writing_)
        violate(now, "data in", "data in outside a data phase");
    if (afterLatch_) {
        if (columnChange_)
            require(now, "tCCS", latchedAt_, times_.tCCS, "data in after change write column");
        else
            require(now, "tADL", latchedAt_, times_.tADL, "data in after the last address cycle");
    } else {
        if (afterSelect_)
            require(now, "tCS", selectedAt_, times_.tCS, "data in after chip enable low");
        require(now, "data rate", dataAt_, times_.beat, "data-in beat after the one before");
    }
    columnChange_ = afterLatch_ = afterSelect_ = false;
    dataPhase_ = true;
    dataAt_ = now;
    if (feature) {
        featureIn_[featureCount_++] = static_cast<uint8_t>(beat);
        if (featureCount_ == 4) {
            setupCommand_ = kNone;
            featurePending_ = true;
            startTarget(now, setup_.part.array.tFEAT);
        }
        return featurePending_;
    }
    unsigned bytes = sdr_ ? 1 : setup_.timing.phyBytes();
    std::vector<uint8_t> &reg = pageRegister(luns_[lun_], planeOf(row_));
    if (column_ + bytes > reg.size())
        violate(now, "data in",
                "data in past the end of the page and its spare area (" + std::to_string(reg.size()) + " bytes)");
    for (unsigned i = 0; i < bytes; i++)
        reg[column_++] = static_cast<uint8_t>(beat >> 8 * i);
    return false;
}

uint32_t NandTarget::dataOut(uint64_t now) {
    if (afterLatch_ || afterSelect_) {
        advance(now);
        if (output_ == Output::None)
            violate(now, "data out", "data out outside a data phase");
        if (output_ != Output::Status) {
            needReady(now, "data out");
            if (output_ == Output::Data)
                needOutput(now);
            if (luns_[lun_].readyAt != 0)
                require(now, "tRR", luns_[lun_].readyAt, times_.tRR + times_.tRPRE,
                        "first data beat (tRR + tRPRE) after ready");
        }
        require(now, "tRPRE", selectedAt_, times_.tCS + times_.tRPRE,
                "first data beat (tCS + tRPRE) after chip enable low");
        if (afterLatch_ && columnChange_)
            require(now, "tCCS", latchedAt_, times_.tCCS + times_.tRPRE,
                    "first data beat (tCCS + tRPRE) after change read column");
        else if (afterLatch_)
            require(now, "tWHR", latchedAt_, times_.tWHR + times_.tRPRE,
                    "first data beat (tWHR + tRPRE) after the command");
        afterLatch_ = afterSelect_ = columnChange_ = false;
    } else {
        require(now, "data rate", dataAt_, times_.beat, "data-out beat after the one before");
    }
    dataPhase_ = true;
    dataAt_ = now;
    switch (output_) {
    case Output::Status:
        counts_.statuses++;
        counts_.busyStatuses += busy(luns_[lun_], now);
        return statusByte(now);
    case Output::Data: {
        unsigned bytes = sdr_ ? 1 : setup_.timing.phyBytes();
        const std::vector<uint8_t> &reg = luns_[lun_].registers[plane_];
        if (outPosition_ + bytes > reg.size())
            violate(now, "data out",
                    "data out past the end of the page and its spare area (" + std::to_string(reg.size()) + " bytes)");
        uint32_t beat = 0;
        for (unsigned i = 0; i < bytes; i++)
            beat |= static_cast<uint32_t>(reg[outPosition_ + i]) << 8 * i;
        outPosition_ += bytes;
        return beat;
    }
    case Output::Id: {
        static const uint8_t kOnfi[8] = {'O', 'N', 'F', 'I', 0, 0, 0, 0};
        const uint8_t *id = idAddress_ == 0x20 ? kOnfi : setup_.part.id.data();
        return outPosition_ < 8 ? id[outPosition_++] : 0;
    }
    case Output::Parameter:
        if (outPosition_ >= parameters_.size())
            violate(now, "data out", "data out past the last copy of the parameter page");
        return parameters_[outPosition_++];
    case Output::Feature:
        if (outPosition_ >= 4)
            violate(now, "data out", "a feature has four bytes");
        return features_[featureAddress_ * 4u + outPosition_++];
    case Output::None:
        break;
    }
    violate(now, "data out", "data out outside a data phase");
}

uint8_t NandTarget::statusByte(uint64_t now) const {
    const Lun &lun = luns_[lun_];
    if (setup_.cells.dead(channel_, way_, lun_) == DeadDie::Ones)
        return 0xFF;
    uint8_t status = 0;
    if (!busy(lun, now))
        status |= working(lun, now) ? 0x40 : 0x60;
    if (!writeProtected_)
        status |= 0x80;
    if (lun.fail & statusPlanes_)
        status |= 0x01;
    if (lun.failBefore & statusPlanes_)
        status |= 0x02;
    return status;
}

// ---------------------------------------------------------------- array operations

void NandTarget::start(uint64_t now, Lun &lun, Array operation, uint64_t ns) {
    needReady(now, "array operation");
    const bool programs = operation == Array::Program || operation == Array::CacheProgram;
    const bool cacheRead = operation == Array::CacheRead || operation == Array::CacheReadEnd;
    if (working(lun, now) && operation != Array::Other &&
        lun.behind.operation != (programs    ? Array::Program
                                 : cacheRead ? Array::Read
                                             : Array::None))
        violate(now, "busy",
                "array operation while the array works behind the page register for another " +
                    std::to_string(lun.behind.end - now) + " cycles");
    lun.operation = operation;
    lun.lowAt = now + times_.tWB;
    uint64_t from = lun.lowAt;
    if (working(lun, now) && operation != Array::Other)
        from = std::max(from, lun.behind.end);
    const unsigned index = static_cast<unsigned>(&lun - luns_.data());
    if (from == kNoEvent || setup_.cells.dead(channel_, way_, index) == DeadDie::Busy) {
        lun.readyAt = kNoEvent;
    } else {
        lun.readyAt = from + setup_.timing.cycles(ns) + setup_.cells.faults().extraBusy(channel_, way_);
        busyTail_ = std::max(busyTail_, lun.readyAt);
    }
    lun.begun = false;
    if (!working(lun, now))
        beginArray(lun, index, operation);
}

void NandTarget::beginArray(Lun &lun, unsigned index, Array operation) {
    if ((operation != Array::Program && operation != Array::Erase) || lun.begun)
        return;
    lun.begun = true;
    lun.failBefore = lun.fail;
    lun.fail = 0;
    for (uint32_t row : lun.rows) {
        const NandAddress at = addressOf(index, row);
        if (operation == Array::Erase)
            setup_.cells.beginErase(at);
        else
            setup_.cells.beginProgram(at, pageRegister(lun, planeOf(row)).data());
    }
}

void NandTarget::startCacheRead(uint64_t now, Lun &lun, bool addressed) {
    if (lun.readRow == kNone)
        violate(now, "command order", "command 31h without 00h-30h before it");
    const uint32_t row = static_cast<uint32_t>(lun.readRow);
    if (!addressed && pageOf(row) + 1 == setup_.part.geometry.pagesPerBlock)
        violate(now, "address range", "command 31h behind the last page of block " + std::to_string(blockOf(row)));
    lun.rows = {addressed ? row_ : row + 1};
    start(now, lun, Array::CacheRead, kDummyBusyNs);
}

void NandTarget::startTarget(uint64_t now, uint64_t ns) {
    needAllReady(now);
    start(now, luns_[lun_], Array::Other, ns);
}

unsigned NandTarget::endArray(unsigned index, Array operation, const std::vector<uint32_t> &rows) {
    unsigned fail = 0;
    for (uint32_t row : rows) {
        const NandAddress at = addressOf(index, row);
        if (operation == Array::Read) {
            counts_.reads++;
            setup_.cells.read(at, pageRegister(luns_[index], planeOf(row)).data(), features_[kReadLevel * 4]);
        } else if (operation == Array::Program) {
            counts_.programs++;
            fail |= (setup_.cells.endProgram(at) ? 0u : 1u) << planeOf(row);
        } else if (operation == Array::Erase) {
            counts_.erases++;
            fail |= (setup_.cells.endErase(at) ? 0u : 1u) << planeOf(row);
        }
    }
    return fail;
}

void NandTarget::finish(Lun &lun, unsigned index) {
    const Array operation = lun.operation;
    lun.operation = Array::None;
    if (operation == Array::CacheProgram) {
        beginArray(lun, index, Array::Program);
        lun.behind = {Array::Program, lun.readyAt + setup_.timing.cycles(setup_.part.array.tPROG), lun.rows, {}};
    } else if (operation == Array::CacheRead || operation == Array::CacheReadEnd) {
        if (!lun.behind.next.empty()) {
            plane_ = planeOf(static_cast<uint32_t>(lun.readRow));
            pageRegister(lun, plane_).swap(lun.behind.next);
        }
        lun.behind = {};
        lun.readRow = kNone;
        if (operation == Array::CacheRead) {
            lun.readRow = static_cast<int>(lun.rows[0]);
            lun.behind = {Array::Read, lun.readyAt + setup_.timing.cycles(setup_.part.array.tR), lun.rows, {}};
        }
    } else {
        lun.fail |= endArray(index, operation, lun.rows);
    }
    lun.rows.clear();
}

void NandTarget::endBehind(Lun &lun, unsigned index) {
    const Array operation = lun.behind.operation;
    lun.behind.operation = Array::None;
    if (operation == Array::Program) {
        lun.fail |= endArray(index, operation, lun.behind.rows);
    } else {
        counts_.reads++;
        lun.behind.next.resize(setup_.part.geometry.rawPageBytes());
        setup_.cells.read(addressOf(index, lun.behind.rows[0]), lun.behind.next.data(), features_[kReadLevel * 4]);
    }
    beginArray(lun, index, lun.operation);
}

void NandTarget::advance(uint64_t now) {
    for (unsigned i = 0; i < luns_.size(); i++) {
        Lun &lun = luns_[i];
        for (;;) {
            const bool behindEnds = lun.behind.operation != Array::None && now >= lun.behind.end;
            const bool ends = lun.operation != Array::None && now >= lun.readyAt;
            if (behindEnds && !(ends && lun.readyAt < lun.behind.end))
                endBehind(lun, i);
            else if (ends)
                finish(lun, i);
            else
                break;
        }
    }
    if (featurePending_ && now >= busyTail_) {
        featurePending_ = false;
        applyFeature(now);
    }
}

void NandTarget::applyFeature(uint64_t now) {
    std::memcpy(&features_[featureAddress_ * 4u], featureIn_, 4);
    if (featureAddress_ != 0x01)
        return;
    unsigned mode = featureIn_[0] & 0xF, interface = featureIn_[0] >> 4 & 3;
    if (interface == 0 && mode <= 5) {
        sdr_ = true;
        times_ = setup_.timing.sdr(mode);
    } else if (interface == 2 && mode <= setup_.part.timingMode) {
        for (const auto &[address, value] : setup_.part.features)
            if (features_[address * 4u] != value)
                violate(now, "features",
                        "NV-DDR2 with feature " + hex(address) + " = " + hex(features_[address * 4u]) +
                            ": the part needs " + hex(value) + " there before");
        if (setup_.part.externalVref && mode >= 4 && !(features_[kConfiguration * 4] & kExternalVref))
            violate(now, "features",
                    "NV-DDR2 with feature 02h = " + hex(features_[kConfiguration * 4]) +
                        ": the part needs the external VREFQ at this rate");
        sdr_ = false;
        times_ = setup_.timing.nvddr2();
    } else {
        violate(now, "timing mode",
                "feature 01h = " + hex(featureIn_[0]) + ": the part offers SDR modes 0-5 and NV-DDR2 modes 0-" +
                    std::to_string(setup_.part.timingMode));
    }
}

void NandTarget::reset(uint64_t now) {
    for (unsigned i = 0; i < luns_.size(); i++) {
        Lun &lun = luns_[i];
        setup_.cells.cut(channel_, way_, i);
        if (lun.readyAt != kNoEvent)
            lun.operation = Array::None;
        lun.behind = {};
        lun.readRow = kNone;
        lun.rows.clear();
        lun.queued.clear();
        lun.morePlanes = false;
        lun.fail = lun.failBefore = 0;
    }
    wasReset_ = true;
    featurePending_ = false;
    setupCommand_ = kNone;
    writing_ = false;
    output_ = Output::None;
    lun_ = 0;
    driving_ = 0;
    columnLun_ = 0;
    programLun_ = kNone;
    std::fill(features_.begin(), features_.end(), 0);
    // tWB still runs in the timing the host used for the command.
    if (luns_[0].operation == Array::None)
        start(now, luns_[0], Array::Other, setup_.part.array.tRST);
    sdr_ = true;
    times_ = setup_.timing.sdr(0);
}

bool NandTarget::ready(uint64_t now) const {
    for (const Lun &lun : luns_)
        if (lun.operation != Array::None && now >= lun.lowAt && now < lun.readyAt)
            return false;
    return true;
}

uint64_t NandTarget::nextEvent(uint64_t now) const {
    uint64_t next = kNoEvent;
    for (const Lun &lun : luns_) {
        if (working(lun, now))
            next = std::min(next, lun.behind.end);
        if (lun.operation == Array::None)
            continue;
        if (now < lun.lowAt)
            next = std::min(next, lun.lowAt);
        else if (now < lun.readyAt)
            next = std::min(next, lun.readyAt);
    }
    return next;
}

} // namespace assasin
