/* SPDX-License-Identifier: BSD-3-Clause */
/* What of an offload's ELF file goes to the drive. Debug information is many times as large as the code. */
#include <assasin/assasin.h>

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool understood(const Elf32_Ehdr *header, size_t bytes) {
    return bytes >= sizeof(*header) && !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
           header->e_ident[EI_CLASS] == ELFCLASS32 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_phentsize == sizeof(Elf32_Phdr) && header->e_phoff <= bytes &&
           header->e_phnum <= (bytes - header->e_phoff) / sizeof(Elf32_Phdr);
}

size_t assasin_function_image(const void *elf, size_t bytes, void *image) {
    Elf32_Ehdr header = {0};
    memmove(image, elf, bytes);
    memcpy(&header, image, bytes < sizeof(header) ? bytes : sizeof(header));
    if (!understood(&header, bytes))
        return bytes;
    /* Linkers put sections that are not loaded last; so what is needed is a beginning of the file. */
    size_t end = header.e_phoff + header.e_phnum * sizeof(Elf32_Phdr);
    if (end < sizeof(header))
        end = sizeof(header);
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf32_Phdr segment;
        memcpy(&segment, (const uint8_t *)image + header.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset)
            return bytes;
        if (segment.p_filesz && segment.p_offset + segment.p_filesz > end)
            end = segment.p_offset + segment.p_filesz;
    }
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    memcpy(image, &header, sizeof(header));
    return end;
}
