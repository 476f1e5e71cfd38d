// docs/glossary.md has the words of the code. Private ones for the same things do not come back.
#include <boost/test/unit_test.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/paths.hpp"

namespace {

namespace fs = std::filesystem;

fs::path top() {
    return fs::path(tessera::test::test_folder()).parent_path();
}

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Only words without another meaning in this code. In two parts, or this file would be found.
const std::vector<std::string>& retired() {
    static const std::vector<std::string> words = [] {
        std::vector<std::string> all;
        for (const auto& [first, second] : {std::pair{"rac", "er"},
                                            {"rac", "ers"},
                                            {"twi", "ns"},
                                            {"twi", "n"},
                                            {"work", "shop"},
                                            {"cr", "ew"},
                                            {"hope", "less"},
                                            {"pay", "er"},
                                            {"di", "ve"},
                                            {"wis", "h"},
                                            {"wis", "hes"},
                                            {"treat", "ments"},
                                            {"part", "ners"},

                                            {"prom", "ises"},
                                            {"guess", "es"},
                                            {"polis", "her"},
                                            {"narr", "owed"}}) {
            all.push_back(std::string(first) + second);
        }
        return all;
    }();
    return words;
}

/// Words of a text in lower case; identifiers fall into their parts.
std::set<std::string> words_of(const std::string& text) {
    std::set<std::string> found;
    std::string word;
    char before = ' ';
    for (const char c : text + " ") {
        const bool letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
        const bool hump = std::isupper(static_cast<unsigned char>(c)) != 0 &&
                          std::islower(static_cast<unsigned char>(before)) != 0;
        if (!letter || hump) {
            found.insert(word);
            word.clear();
        }
        if (letter) {
            word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
        before = c;
    }
    return found;
}

std::string retired_word(const std::string& text) {
    const std::set<std::string> words = words_of(text);
    for (const std::string& word : retired()) {
        if (words.count(word) > 0) {
            return word;
        }
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(retired_words_are_seen_in_identifiers_and_sentences) {
    for (const std::string& word : retired()) {
        const std::string camel =
            "class The" + std::string(1, std::toupper(word[0])) + word.substr(1) + "Thing {};";
        BOOST_TEST(retired_word("int first_" + word + "_of_all;") == word);
        BOOST_TEST(retired_word(camel) == word);
        BOOST_TEST(retired_word("// One " + word + ".") == word);
        BOOST_TEST(retired_word("int x" + word + "x;") == "");
    }
}

BOOST_AUTO_TEST_CASE(no_retired_word_stands_in_code_or_documents) {
    int files = 0;
    for (const char* folder :
         {"include", "src", "plugins", "test", "bench", "docs", "examples", "README.md"}) {
        std::vector<fs::path> all;
        if (fs::is_regular_file(top() / folder)) {
            all.push_back(top() / folder);
        } else {
            for (const auto& entry : fs::recursive_directory_iterator(top() / folder)) {
                all.push_back(entry.path());
            }
        }
        for (const fs::path& file : all) {
            const std::string name = file.lexically_relative(top()).string();
            if (!std::regex_search(name, std::regex("\\.(cpp|hpp|h|md|in)$")) ||
                name.rfind("test/reference/", 0) == 0) {
                continue;
            }
            ++files;
            BOOST_TEST(retired_word(read(file)) == "", name);
        }
    }
    BOOST_TEST(files > 500);
}

BOOST_AUTO_TEST_CASE(the_glossary_names_each_term_once) {
    const std::string glossary = read(top() / "docs/glossary.md");
    const std::regex row("\n- \\*\\*([^*]+)\\.\\*\\*");
    std::set<std::string> terms;
    for (std::sregex_iterator it(glossary.begin(), glossary.end(), row), end; it != end; ++it) {
        const std::string term = (*it)[1].str();
        BOOST_TEST(terms.insert(term).second, term);
        const std::size_t from = static_cast<std::size_t>(it->position()) + 1;
        const std::string entry = glossary.substr(from, glossary.find("\n- ", from) - from);
        for (const char* part : {"*Source:*", "*AccelForge:*", "*Timeloop:*"}) {
            BOOST_TEST(entry.find(part) != std::string::npos, term << " lacks " << part);
        }
    }
    BOOST_TEST(terms.size() > 40u);
    const std::regex breaks("\\s+");
    const std::string ffm = std::regex_replace(read(top() / "docs/ffm-proofs.md"), breaks, " ");
    const std::string all = std::regex_replace(glossary, breaks, " ");
    for (const char* used : {"incumbent", "cutoff", "class bound", "root relaxation",
                             "completion bound", "semi-join", "symmetric variables", "ertex bound",
                             "surrogate bound", "scalarised", "beam", "redundant", "refine"}) {
        BOOST_TEST(ffm.find(used) != std::string::npos, used);
        BOOST_TEST(all.find(used) != std::string::npos, used);
    }
}
