/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A case: the drive, and what happens to it from one power-on to the next. A seed gives one; a text file holds one.
 */
#pragma once

#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace torture {

/** What a user gave is wrong; the message says what to do. */
struct BadInput : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Command {
    enum Kind {
        Read,
        Write,
        Trim,
        Zeroes,
        Flush,
        Offload, /**< a function writes the blocks: all of them change or none */
        Format,  /**< when nothing is in flight; `blocks` is SES */
        Reset,   /**< of the controller, with whatever is in flight */
        Wait,    /**< until nothing is in flight */
        Idle,    /**< `blocks` thousand cycles in which the host does nothing, at least */
    } kind = Read;
    uint32_t lba = 0, blocks = 0;
    bool fua = false;

    bool changes() const {
        return kind == Write || kind == Trim || kind == Zeroes || kind == Offload || kind == Format;
    }
};

/** From one power-on to the next. */
struct Life {
    /** What comes behind the commands when they have completed; then power goes. */
    enum End { Idle, Off /**< a shutdown */ } end = Idle;
    /** Cycles after power-on at which power goes, wherever the drive is then: at boot, among the commands, in a
     * shutdown. */
    uint64_t cut = UINT64_MAX;
    uint32_t seed = 1;  /**< of what is left to chance while power is on */
    uint32_t depth = 1; /**< commands in flight */
    uint32_t hours = 0; /**< without power, before it */
    uint32_t dead = 0;  /**< a die dies before it: its number, from 1 on; 0: none */
    std::vector<Command> commands;
};

/** A package: sizes as parameter pages have them. */
struct Part {
    uint32_t channels = 2, ways = 2, luns = 1, planes = 1, blocks = 16, pages = 32, pageBytes = 4096, spare = 224;
    uint32_t read = 1500, program = 3000, erase = 6000, bus = 250; /**< cycles */
    uint32_t parity = 0; /**< 1: the drive is formatted with parity over dies */
};

struct Case {
    uint64_t seed = 0; /**< it came of, 0: written by hand */
    Part part;
    std::string media; /**< as `--media` of the boards */
    bool room = false; /**< a write that a drive without faults refuses breaks a rule */
    std::vector<Life> lives;

    /** Its first life writes the whole drive: later ones make collection run. */
    bool full() const {
        return !lives.empty() && lives[0].commands.size() > 1 && lives[0].commands[1].lba == 32 &&
               lives[0].commands[1].kind == Command::Write && lives[0].commands[1].blocks == 32;
    }
    std::string text() const;
    /** \throws BadInput naming the line */
    static Case parse(const std::string &text);
    static Case load(const std::string &path);
    void save(const std::string &path) const;
    uint64_t commands() const;
    /** The first block behind those that the commands use. */
    uint32_t end() const;
};

/** What cases are made of, beside what every drive meets: torn pages, cuts everywhere, resets, formats. */
struct Mix {
    /** Raw bit errors that the code corrects, programs and erases that fail, factory bad blocks, pages that share
     * cells. */
    bool media = true;
    bool faults = false;  /**< such programs, erases and blocks in every case */
    bool offloads = true; /**< offloads that write */
    bool pairs = false;   /**< in every case pages that share cells: a torn program spoils the page before */
    bool age = false;     /**< hours without power: weakly programmed pages fade */
    bool room = false;    /**< Case::room */
};

/** What the commands of a life are like. */
struct Shape {
    uint32_t blocks = 8;               /**< that the host uses, from the first */
    uint32_t writes = 50, flushes = 2; /**< per cent */
    uint32_t sectors = 1;              /**< a page: many writes are that long */
    bool formats = false, resets = false, offloads = false;
    uint32_t offloadBase = 0, offloadBlocks = 0; /**< where offloads write */
};
Command randomCommand(const Shape &shape, std::mt19937_64 &rng);

/** Deterministic: the case of a seed. */
Case generate(uint64_t seed, const Mix &mix);
/** A life that fits the case, as generate() makes them. */
Life generateLife(const Case &c, std::mt19937_64 &rng, const Mix &mix, uint32_t commands);

/** Blocks that cases use: the host's, behind them those of offloads, and then the host's again in cases that fill the
 * drive. */
constexpr uint32_t kOffloadBase = 192, kOffloadBlocks = 40, kHostBlocks = 160;

} // namespace torture
