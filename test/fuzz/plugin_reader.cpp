// A sound plugin whose ELF tables or record are not what they were. Code, relocations and the
// symbols that they name stay: a plugin whose record is right may do what it likes.

#include <elf.h>

#include <cstring>

#include "fuzz/hostile.hpp"
#include "fuzz/readers.hpp"

namespace tessera::fuzz {

namespace {

struct Part {
    std::size_t at, size, step;  ///< step: of one entry
};

template <class T>
T at(const std::string& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

struct Plugin {
    std::string bytes;
    Part record{};
    std::vector<Part> tables;

    explicit Plugin(std::string all) : bytes(std::move(all)) {
        const auto header = at<Elf64_Ehdr>(bytes, 0);
        tables = {{0, sizeof header, 2},
                  {header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), 8},
                  {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), 8}};
        const auto section = [&](std::size_t i) {
            return at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
        };
        const Elf64_Shdr names = section(header.e_shstrndx);
        for (std::size_t i = 0; i < header.e_shnum; ++i) {
            const Elf64_Shdr one = section(i);
            const Part part{one.sh_offset, one.sh_size, 8};
            if (std::string(bytes.c_str() + names.sh_offset + one.sh_name) == ".tessera.plugin") {
                record = part;
            } else if (i == header.e_shstrndx) {
                tables.push_back(part);
            }
        }
    }
};

void change_table(Random& random, std::string& bytes, const Part& part) {
    static constexpr std::uint64_t values[] = {
        0,          1,           2,     0x7f,       0xff,       0xffff,     0x7fffffff,
        0xffffffff, 1ULL << 32U, ~0ULL, ~0ULL >> 1, ~0ULL - 63, 1ULL << 63U};
    const std::size_t offset = part.at + below(random, part.size / part.step) * part.step;
    const std::uint64_t value =
        one_in(random, 3) ? below(random, bytes.size() + 64) : pick(random, values);
    std::memcpy(bytes.data() + offset, &value, std::min(part.step, bytes.size() - offset));
}

/// The record keeps its size.
void change_record(Random& random, std::string& bytes, const Part& part) {
    std::string record = bytes.substr(part.at, part.size);
    (one_in(random, 2) ? mutate_lines : mutate_bytes)(random, record);
    record.resize(part.size);
    bytes.replace(part.at, part.size, record);
}

}  // namespace

Reader plugin_records() {
    const auto sound =
        std::make_shared<Plugin>(read_bytes(build_folder() / "abi/corpus/tessera-corpus.so"));
    return {"plugin records", Place::file, [sound](Random& random) {
                std::string bytes = sound->bytes;
                for (std::size_t i = 0; i < 1 + below(random, 3); ++i) {
                    if (one_in(random, 2)) {
                        change_record(random, bytes, sound->record);
                    } else {
                        change_table(random, bytes, pick(random, sound->tables));
                    }
                }
                if (one_in(random, 20)) {
                    bytes.resize(below(random, bytes.size()));
                }
                Input input;
                input.files["tessera-x.so"] = bytes;
                input.words = {"tessera", "plugins", "info", "corpus", "--plugin", "tessera-x.so"};
                return input;
            }};
}

}  // namespace tessera::fuzz
