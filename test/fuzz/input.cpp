#include "fuzz/input.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tessera::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr const char* command_file = "command";

// A word may hold what ends a line.
std::string escaped(const std::string& word) {
    std::string result;
    for (const char c : word) {
        result += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
    }
    return result;
}

std::string unescaped(const std::string& line) {
    std::string result;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool escape = line[i] == '\\' && i + 1 < line.size();
        i += escape ? 1 : 0;
        result += escape && line[i] == 'n' ? '\n' : line[i];
    }
    return result;
}

}  // namespace

void Input::put_into(const fs::path& folder) const {
    for (const auto& [name, bytes] : files) {
        fs::create_directories((folder / name).parent_path());
        std::ofstream(folder / name, std::ios::binary) << bytes;
    }
}

void Input::save(const fs::path& folder) const {
    fs::remove_all(folder);
    fs::create_directories(folder);
    put_into(folder);
    std::ofstream command(folder / command_file, std::ios::binary);
    for (const std::string& word : words) {
        command << escaped(word) << "\n";
    }
}

Input Input::load(const fs::path& folder) {
    Input input;
    input.files = files_in(folder);
    const auto command = input.files.extract(command_file);
    if (command.empty()) {
        throw std::runtime_error(folder.string() + " has no file " + command_file);
    }
    std::istringstream lines(command.mapped());
    for (std::string line; std::getline(lines, line);) {
        input.words.push_back(unescaped(line));
    }
    return input;
}

std::map<std::string, std::string> files_in(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            std::ifstream file(entry.path(), std::ios::binary);
            files[fs::relative(entry.path(), folder).string()] = {
                std::istreambuf_iterator<char>(file), {}};
        }
    }
    return files;
}

}  // namespace tessera::fuzz
