#include "plugin/elf_file.hpp"

#include <elf.h>

#include <cstring>
#include <optional>

#include "base/directory.hpp"
#include "tessera/base/error.hpp"

namespace tessera::plugin {

namespace {

#if defined(__x86_64__)
constexpr unsigned own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned own_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr unsigned own_machine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr unsigned own_machine = EM_PPC64;
#else
#error "the ELF machine of this processor is not known here"
#endif

/// Reads structures out of the file's bytes; nothing beyond their end.
class Bytes {
public:
    explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}

    template <class T>
    std::optional<T> at(std::uint64_t offset) const {
        if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
            return std::nullopt;
        }
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof(T));
        return value;
    }
    std::optional<std::string> block(std::uint64_t offset, std::uint64_t size) const {
        if (offset > bytes_.size() || bytes_.size() - offset < size) {
            return std::nullopt;
        }
        return bytes_.substr(offset, size);
    }
    /// Text that ends with 0.
    std::string text(std::uint64_t offset) const {
        const std::size_t end =
            offset < bytes_.size() ? bytes_.find('\0', offset) : std::string::npos;
        return end == std::string::npos ? "" : bytes_.substr(offset, end - offset);
    }

private:
    std::string bytes_;
};

std::vector<Elf64_Shdr> sections(const Bytes& bytes, const Elf64_Ehdr& header) {
    std::vector<Elf64_Shdr> all;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        const auto section = bytes.at<Elf64_Shdr>(header.e_shoff + static_cast<std::uint64_t>(i) *
                                                                       sizeof(Elf64_Shdr));
        if (!section) {
            return {};
        }
        all.push_back(*section);
    }
    return all;
}

void read_exports(const Bytes& bytes, const Elf64_Shdr& table, const Elf64_Shdr& strings,
                  std::vector<ElfFile::Export>& out) {
    for (std::uint64_t i = 1; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
        const auto symbol = bytes.at<Elf64_Sym>(table.sh_offset + i * sizeof(Elf64_Sym));
        if (!symbol) {
            return;
        }
        const unsigned bind = ELF64_ST_BIND(symbol->st_info);
        const unsigned visibility = ELF64_ST_VISIBILITY(symbol->st_other);
        // Symbols of version definitions (absolute) are no exports.
        if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || bind == STB_LOCAL ||
            visibility == STV_HIDDEN || visibility == STV_INTERNAL) {
            continue;
        }
        out.push_back({bytes.text(strings.sh_offset + symbol->st_name), bind == STB_GNU_UNIQUE});
    }
}

std::string header_problem(const Elf64_Ehdr& header) {
    if (header.e_ident[EI_CLASS] != ELFCLASS64) {
        return "it is not a 64-bit file; build it for this machine";
    }
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != own_machine) {
        return "it is built for another machine (ELF machine " + std::to_string(header.e_machine) +
               ", this one is " + std::to_string(own_machine) + "); build it for this machine";
    }
    return header.e_type == ET_DYN
               ? ""
               : "it is an ELF file, but no shared object; link it with -shared";
}

}  // namespace

ElfFile read_elf(const std::string& path) {
    ElfFile file;
    std::optional<std::string> content;
    try {
        content = base::read_regular_file(path);
    } catch (const UserError&) {
        // A pipe, or something else without an end.
    }
    if (!content) {
        file.problem = "it cannot be read as a file";
        return file;
    }
    const Bytes bytes(std::move(*content));
    const auto header = bytes.at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
        file.problem = "it is not a shared object (no ELF file)";
        return file;
    }
    file.problem = header_problem(*header);
    if (!file.problem.empty()) {
        return file;
    }
    const std::vector<Elf64_Shdr> all = sections(bytes, *header);
    if (header->e_shstrndx >= all.size()) {
        file.problem = "its section table is broken; build it again";
        return file;
    }
    for (const Elf64_Shdr& section : all) {
        const std::string name = bytes.text(all[header->e_shstrndx].sh_offset + section.sh_name);
        if (name == ".tessera.plugin") {
            file.has_record = true;
            file.record = bytes.block(section.sh_offset, section.sh_size).value_or("");
        } else if (section.sh_type == SHT_DYNSYM && section.sh_link < all.size()) {
            read_exports(bytes, section, all[section.sh_link], file.exports);
        }
    }
    return file;
}

}  // namespace tessera::plugin
