// SPDX-License-Identifier: BSD-3-Clause
#include "Reliability.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace assasin {

namespace {

struct Number {
    const char *key;
    double Reliability::*field;
    double low, high;
};

constexpr Number kNumbers[] = {
    {"rber", &Reliability::rber, 0, 0.45},
    {"wear-rber", &Reliability::wearRber, 0, 0.45},
    {"retention-rber", &Reliability::retentionRber, 0, 0.45},
    {"disturb-rber", &Reliability::disturbRber, 0, 0.45},
    {"weak-rber", &Reliability::weakRber, 0, 0.45},
    {"random-share", &Reliability::randomShare, 0, 1},
    {"page-spread", &Reliability::pageSpread, 0, 2},
    {"erased-share", &Reliability::erasedShare, 0, 1},
    {"retry-gain", &Reliability::retryGain, 0, 1},
    {"endurance", &Reliability::endurance, 1, 1e6},
    {"wear", &Reliability::wear, 0, 1e6},
    {"life", &Reliability::life, 0, 1e6},
    {"program-fail", &Reliability::programFail, 0, 1},
    {"erase-fail", &Reliability::eraseFail, 0, 1},
    {"factory-bad", &Reliability::factoryBad, 0, 1},
};
constexpr const char *kOthers[] = {"seed",     "retry-levels", "tearing", "pairing", "dead-die",
                                   "dead-how", "dead-after",   "fitted",  "absent"};

std::string shown(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

[[noreturn]] void fail(const std::string &key, const std::string &value, const std::string &choose) {
    throw std::runtime_error(key + "=" + value + ": choose " + choose);
}

uint64_t whole(const std::string &key, const std::string &value, uint64_t high) {
    char *end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(value.c_str(), &end, 10);
    if (value.empty() || value[0] < '0' || value[0] > '9' || *end || errno || number > high)
        fail(key, value, "a whole number, 0 to " + std::to_string(high));
    return number;
}

/** The parts of a list with '+' between them. */
std::vector<std::string> listed(const std::string &value) {
    std::vector<std::string> items;
    for (size_t at = 0; at <= value.size();) {
        const size_t end = std::min(value.find('+', at), value.size());
        items.push_back(value.substr(at, end - at));
        at = end + 1;
    }
    return items;
}

/** `value`, numbers below 16 with dots between them, is one of `count` of them. */
bool numbers(const std::string &value, unsigned count, unsigned *out) {
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        const size_t end = i + 1 < count ? value.find('.', at) : value.size();
        if (end == std::string::npos || end == at || end - at > 2)
            return false;
        out[i] = 0;
        for (; at < end; at++) {
            if (value[at] < '0' || value[at] > '9')
                return false;
            out[i] = out[i] * 10 + static_cast<unsigned>(value[at] - '0');
        }
        if (out[i] > 15)
            return false;
        at = end + 1;
    }
    return true;
}

} // namespace

void Reliability::set(const std::string &key, const std::string &value) {
    for (const Number &n : kNumbers) {
        if (key != n.key)
            continue;
        char *end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        if (value.empty() || *end || !(number >= n.low && number <= n.high))
            fail(key, value, "a number, " + shown(n.low) + " to " + shown(n.high));
        this->*n.field = number;
        return;
    }
    if (key == "seed") {
        seed = whole(key, value, UINT64_MAX);
    } else if (key == "retry-levels") {
        retryLevels = static_cast<unsigned>(whole(key, value, 16));
    } else if (key == "tearing") {
        if (value != "true" && value != "false")
            fail(key, value, "true or false");
        tearing = value == "true";
    } else if (key == "pairing") {
        if (value != "none" && value != "dist3")
            fail(key, value, "none or dist3");
        pairing = value == "none" ? NandPairing::None : NandPairing::Dist3;
    } else if (key == "dead-die") {
        char rest = 0;
        if (value == "none") {
            dieDies = false;
        } else if (std::sscanf(value.c_str(), "%2u.%2u.%2u%c", &deadChannel, &deadWay, &deadLun, &rest) == 3) {
            dieDies = true;
        } else {
            fail(key, value, "none or CHANNEL.WAY.LUN, such as 0.1.0");
        }
    } else if (key == "dead-how") {
        if (value != "fail" && value != "ones" && value != "busy")
            fail(key, value, "fail, ones or busy");
        deadHow = value == "fail" ? DeadDie::Fail : value == "ones" ? DeadDie::Ones : DeadDie::Busy;
    } else if (key == "dead-after") {
        deadAfter = whole(key, value, UINT64_MAX);
    } else if (key == "fitted") {
        unsigned there = value == "all" ? 0xFFFF : 0;
        unsigned enable[1];
        for (const std::string &item : value == "all" ? std::vector<std::string>{} : listed(value)) {
            if (!numbers(item, 1, enable))
                fail(key, value, "all, or chip enables with + between them, such as 0+4");
            there |= 1u << enable[0];
        }
        fitted = static_cast<uint16_t>(there);
    } else if (key == "absent") {
        if (value == "none")
            absent.fill(0);
        unsigned place[2];
        for (const std::string &item : value == "none" ? std::vector<std::string>{} : listed(value)) {
            if (!numbers(item, 2, place))
                fail(key, value, "none, or CHANNEL.WAY with + between them, such as 0.1+1.3");
            absent[place[0]] = static_cast<uint16_t>(absent[place[0]] | 1u << place[1]);
        }
    } else {
        std::string legal;
        for (const Number &n : kNumbers)
            legal += (legal.empty() ? "" : ", ") + std::string(n.key);
        for (const char *name : kOthers)
            legal += ", " + std::string(name);
        throw std::runtime_error("there is no '" + key + "': choose from " + legal);
    }
}

void Reliability::setAll(const std::string &text) {
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find(',', at), text.size());
        const std::string pair = text.substr(at, end - at);
        const size_t sign = pair.find('=');
        if (sign == std::string::npos)
            throw std::runtime_error("'" + pair + "': give KEY=VALUE, such as rber=1e-4");
        const std::string key = pair.substr(0, sign);
        set(key, pair.substr(sign + 1));
        factoryBadGiven = factoryBadGiven || key == "factory-bad";
        at = end + 1;
    }
}

int Reliability::lowerPage(unsigned page, unsigned pagesPerBlock) const {
    if (pairing == NandPairing::None || pagesPerBlock < 4 || page < 2)
        return -1;
    if (page == pagesPerBlock - 1)
        return static_cast<int>(page) - 2;
    if (page % 2)
        return -1;
    return page == 2 ? 0 : static_cast<int>(page) - 3;
}

} // namespace assasin
