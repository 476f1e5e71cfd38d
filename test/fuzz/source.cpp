#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "fuzz/readers.hpp"
#include "spec/reader.hpp"

namespace tessera::fuzz {

namespace fs = std::filesystem;

Source::Source(std::string all) : text(std::move(all)) {
    spec::ReadOptions options;
    options.first_key_wins = true;
    options.deep_merge_keys = true;
    tree = spec::read_text(text, "source", options);
}

std::string Source::mutated(Random& random, const Donors& donors) const {
    if (one_in(random, 5)) {
        std::string copy = text;
        (one_in(random, 2) ? mutate_lines : mutate_bytes)(random, copy);
        return copy;
    }
    spec::Node copy = tree;
    mutate_tree(random, copy, donors);
    return written(copy, format);
}

std::string read_bytes(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("the corpus lacks " + path.string());
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> shipped(const fs::path& folder, const std::string& ending) {
    std::map<std::string, std::string> files = files_in(folder);
    std::erase_if(files, [&](const auto& file) { return !file.first.ends_with(ending); });
    return files;
}

}  // namespace tessera::fuzz
