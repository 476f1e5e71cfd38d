#include "plugin/elf_file.hpp"

#include <gelf.h>

#include <memory>
#include <optional>

#include "base/directory.hpp"
#include "tessera/base/error.hpp"

/// The header of the file that this code lies in; the linker defines it.
extern "C" [[gnu::visibility("hidden")]] const Elf64_Ehdr own_header asm("__ehdr_start");

namespace tessera::plugin {

namespace {

struct End {
    void operator()(Elf* elf) const {
        ::elf_end(elf);
    }
};
using ElfHandle = std::unique_ptr<Elf, End>;

/// Looks into `content`, which must outlive the handle.
ElfHandle opened(std::string& content) {
    static const unsigned version = ::elf_version(EV_CURRENT);
    static_cast<void>(version);
    return ElfHandle(::elf_memory(content.data(), content.size()));
}

std::string header_problem(const GElf_Ehdr& header) {
    if (header.e_ident[EI_CLASS] != ELFCLASS64) {
        return "it is not a 64-bit file; build it for this machine";
    }
    if (header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != own_header.e_machine) {
        return "it is built for another machine (ELF machine " + std::to_string(header.e_machine) +
               ", this one is " + std::to_string(own_header.e_machine) +
               "); build it for this machine";
    }
    return header.e_type == ET_DYN
               ? ""
               : "it is an ELF file, but no shared object; link it with -shared";
}

void read_exports(Elf* elf, Elf_Scn* section, const GElf_Shdr& table,
                  std::vector<ElfFile::Export>& out) {
    Elf_Data* const data = ::elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 1; data != nullptr && ::gelf_getsym(data, i, &symbol) != nullptr; ++i) {
        const unsigned bind = GELF_ST_BIND(symbol.st_info);
        const unsigned visibility = GELF_ST_VISIBILITY(symbol.st_other);
        // Symbols of version definitions (absolute) are no exports.
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || bind == STB_LOCAL ||
            visibility == STV_HIDDEN || visibility == STV_INTERNAL) {
            continue;
        }
        const char* const name = ::elf_strptr(elf, table.sh_link, symbol.st_name);
        out.push_back({name != nullptr ? name : "", bind == STB_GNU_UNIQUE});
    }
}

/// \returns false if the tables contradict themselves
bool read_sections(Elf* elf, ElfFile& file) {
    std::size_t names = 0, count = 0;
    // A table that does not lie in the file counts as none.
    if (::elf_getshdrnum(elf, &count) != 0 || ::elf_getshdrstrndx(elf, &names) != 0 ||
        names >= count) {
        return false;
    }
    Elf_Scn* section = nullptr;
    while ((section = ::elf_nextscn(elf, section)) != nullptr) {
        GElf_Shdr header;
        if (::gelf_getshdr(section, &header) == nullptr) {
            return false;
        }
        const char* const name = ::elf_strptr(elf, names, header.sh_name);
        if (name != nullptr && std::string(name) == ".tessera.plugin") {
            const Elf_Data* const data = ::elf_rawdata(section, nullptr);
            file.record = data == nullptr || data->d_buf == nullptr
                              ? ""
                              : std::string(static_cast<const char*>(data->d_buf), data->d_size);
        } else if (header.sh_type == SHT_DYNSYM) {
            read_exports(elf, section, header, file.exports);
        }
    }
    return true;
}

}  // namespace

ElfFile read_elf(const std::string& path) {
    ElfFile file;
    std::optional<std::string> content;
    try {
        content = base::read_regular_file(path);
    } catch (const UserError&) {  // a pipe, or something else without an end
    }
    if (!content) {
        file.problem = "it cannot be read as a file";
        return file;
    }
    const ElfHandle elf = opened(*content);
    GElf_Ehdr header;
    if (elf == nullptr || ::elf_kind(elf.get()) != ELF_K_ELF ||
        ::gelf_getehdr(elf.get(), &header) == nullptr) {
        file.problem = "it is not a shared object (no ELF file)";
        return file;
    }
    file.problem = header_problem(header);
    if (file.problem.empty() && !read_sections(elf.get(), file)) {
        file.problem = "its section table is broken; build it again";
    }
    return file;
}

}  // namespace tessera::plugin
