// SPDX-License-Identifier: BSD-3-Clause
#include "elf_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <elf.h>

namespace cosim {
namespace {

class Reader {
  public:
    explicit Reader(const std::string &path) : path(path) {
        std::ifstream stream(path, std::ios::binary);
        if (!stream)
            throw std::runtime_error(path + ": cannot be read");
        data.assign(std::istreambuf_iterator<char>(stream), {});
    }

    [[noreturn]] void fail(const std::string &what) const {
        throw std::runtime_error(path + ": " + what);
    }

    template <typename T> T at(uint64_t offset) const {
        T value;
        std::memcpy(&value, span(offset, sizeof value), sizeof value);
        return value;
    }

    const char *span(uint64_t offset, uint64_t size) const {
        if (offset + size > data.size())
            fail("ends before byte " + std::to_string(offset + size) + ", which its headers name");
        return data.data() + offset;
    }

    /// NUL-terminated string.
    std::string text(uint64_t offset) const {
        span(offset, 1);
        return std::string(data.data() + offset, strnlen(data.data() + offset, data.size() - offset));
    }

  private:
    std::string path;
    std::vector<char> data;
};

} // namespace

ElfFile ElfFile::read(const std::string &path) {
    const Reader file(path);
    const auto header = file.at<Elf32_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        file.fail("is no ELF file");
    if (header.e_machine != EM_RISCV || header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        file.fail("is not for 32-bit little-endian RISC-V; link with -m elf32lriscv");
    if (header.e_type != ET_EXEC)
        file.fail("is not a linked, static executable");

    ElfFile elf;
    elf.entry = header.e_entry;
    if (elf.entry % 4)
        file.fail("has an entry that is not word aligned");
    for (unsigned i = 0; i < header.e_phnum; i++) {
        const auto segment = file.at<Elf32_Phdr>(header.e_phoff + uint64_t{i} * header.e_phentsize);
        if (segment.p_type != PT_LOAD || segment.p_memsz == 0)
            continue;
        if (segment.p_filesz > segment.p_memsz || uint64_t{segment.p_paddr} + segment.p_memsz > uint64_t{1} << 32)
            file.fail("has a malformed segment");
        const char *bytes = file.span(segment.p_offset, segment.p_filesz);
        elf.segments.push_back({segment.p_paddr, segment.p_memsz, {bytes, bytes + segment.p_filesz}});
    }
    if (elf.segments.empty())
        file.fail("has nothing to load");

    for (unsigned i = 0; i < header.e_shnum; i++) {
        const auto section = file.at<Elf32_Shdr>(header.e_shoff + uint64_t{i} * header.e_shentsize);
        if (section.sh_type != SHT_SYMTAB)
            continue;
        const auto names = file.at<Elf32_Shdr>(header.e_shoff + uint64_t{section.sh_link} * header.e_shentsize);
        for (uint32_t at = 0; at + sizeof(Elf32_Sym) <= section.sh_size; at += sizeof(Elf32_Sym)) {
            const auto symbol = file.at<Elf32_Sym>(uint64_t{section.sh_offset} + at);
            if (symbol.st_name != 0 && symbol.st_shndx != SHN_UNDEF)
                elf.symbols[file.text(uint64_t{names.sh_offset} + symbol.st_name)] = symbol.st_value;
        }
    }
    return elf;
}

} // namespace cosim
