// Documents are read in a terminal: their lines end at column 100. Tables and commands may be
// longer, as they cannot be broken.
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t columns = 100;

/// Of UTF-8.
std::size_t width(const std::string& line) {
    std::size_t n = 0;
    for (const char c : line) {
        n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    }
    return n;
}

/// Numbers of the lines that are too long, from 1.
std::vector<int> long_lines(std::istream& text) {
    std::vector<int> found;
    bool fenced = false;
    int number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        const std::size_t first = line.find_first_not_of(' ');
        if (first == std::string::npos) {
            continue;
        }
        const bool fence = line.compare(first, 3, "```") == 0;
        fenced = fenced != fence;
        const bool command = line.compare(0, 4, "    ") == 0;
        const bool one_word = line.find(' ', first) == std::string::npos;
        if (!fenced && !fence && !command && !one_word && line[first] != '|' &&
            width(line) > columns) {
            found.push_back(number);
        }
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_long_line_is_seen_but_in_tables_and_commands) {
    const std::string word(60, 'x');
    const std::string line = word + " " + word + "\n";
    std::string umlauts;
    for (int i = 0; i < 40; ++i) {
        umlauts += "\xC3\xA4";
    }
    std::istringstream text(line + "| " + line + "```\n" + line + "```\n    " + line + "- " + line +
                            word + word + "\n" + word.substr(1) + " " + umlauts + "\n");
    BOOST_TEST(long_lines(text) == (std::vector<int>{1, 7}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lines_of_documents_end_at_column_100) {
    const fs::path top = fs::path(tessera::test::test_folder()).parent_path();
    std::vector<fs::path> files{top / "README.md"};
    for (const char* folder : {"docs", "plugins", "examples", "bench", "test"}) {
        for (const auto& entry : fs::recursive_directory_iterator(top / folder)) {
            if (entry.is_regular_file() && entry.path().extension() == ".md") {
                files.push_back(entry.path());
            }
        }
    }
    for (const fs::path& file : files) {
        std::ifstream in(file);
        for (const int number : long_lines(in)) {
            BOOST_ERROR(file.lexically_relative(top).string()
                        << ":" << number << " is longer than " << columns << " columns");
        }
    }
    BOOST_TEST(files.size() > 40u);
}
