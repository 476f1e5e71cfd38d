#include "plugin/elf_file.hpp"

#include <gelf.h>

#include <algorithm>
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

/// A range of the file or of memory that neither wraps around nor exceeds `end`.
bool lies_within(std::uint64_t at, std::uint64_t size, std::uint64_t begin, std::uint64_t end) {
    return at >= begin && at <= end && size <= end - at;
}

/// What the system maps by these headers it maps over whatever is there: it believes them. Loaded
/// segments lie in the file, ascend, and hold no more of the file than they have memory; everything
/// else that the system looks up lies in one of them.
bool sound_segments(Elf* elf, std::uint64_t file_bytes) {
    constexpr std::uint64_t most_memory = std::uint64_t{1} << 46U, page = 4096;
    std::size_t count = 0;
    if (::elf_getphdrnum(elf, &count) != 0) {
        return false;
    }
    std::vector<GElf_Phdr> all(count), loaded;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < count; ++i) {
        GElf_Phdr& segment = all[i];
        if (::gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) {
            return false;
        }
        if (segment.p_type != PT_LOAD) {
            continue;
        }
        if (!lies_within(segment.p_offset, segment.p_filesz, 0, file_bytes) ||
            !lies_within(segment.p_vaddr, segment.p_memsz, end, most_memory) ||
            segment.p_filesz > segment.p_memsz ||
            segment.p_offset % page != segment.p_vaddr % page) {
            return false;
        }
        end = segment.p_vaddr + segment.p_memsz;
        loaded.push_back(segment);
    }
    return !loaded.empty() && std::all_of(all.begin(), all.end(), [&](const GElf_Phdr& one) {
        const bool looked_up = one.p_type != PT_NULL && one.p_type != PT_GNU_STACK;
        return !looked_up || std::any_of(loaded.begin(), loaded.end(), [&](const GElf_Phdr& in) {
            const std::uint64_t bytes = one.p_type == PT_TLS ? one.p_filesz : one.p_memsz;
            return lies_within(one.p_vaddr, bytes, in.p_vaddr, in.p_vaddr + in.p_memsz);
        });
    });
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
    if (file.problem.empty() && !sound_segments(elf.get(), content->size())) {
        file.problem = "its program headers are broken; build it again";
    }
    return file;
}

}  // namespace tessera::plugin
