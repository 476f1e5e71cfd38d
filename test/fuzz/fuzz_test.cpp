// Random inputs for every reader, made from shipped files. Each runs in a process of its own; none
// may crash, hang, take a gigabyte, be called a bug of ours, leave files behind when it is refused,
// or be refused without the file and the place.
//
// TESSERA_FUZZ: how many inputs of all readers together. TESSERA_FUZZ_SEED: another seed gives
// other inputs. Those that fail are kept in BUILD/fuzz, one folder each, with the command that
// repeats it.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <iostream>

#include "fuzz/readers.hpp"
#include "fuzz/shrink.hpp"
#include "support/setting.hpp"

namespace {

using namespace tessera::fuzz;
namespace fs = std::filesystem;

constexpr std::size_t usual_inputs = 400;
constexpr std::size_t program_share = 50;  // one in so many runs the whole program
constexpr int kept_of_a_kind = 3;
constexpr int shrink_tries = 60;

/// A folder for the inputs that disappears with the object.
class Scratch {
public:
    Scratch() {
        std::string name = (fs::temp_directory_path() / "tessera-fuzz-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("no temporary folder");
        }
        path_ = name;
        // Nothing of the user takes part.
        ::setenv("HOME", path_.c_str(), 1);
        ::setenv("XDG_DATA_HOME", path_.c_str(), 1);
        ::setenv("TESSERA_PLUGIN_CACHE", (path_ / "plugins.json").c_str(), 1);
        ::unsetenv("TESSERA_PLUGIN_PATH");
    }
    ~Scratch() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    fs::path cell() const {
        return path_ / "cell";
    }

private:
    fs::path path_;
};

std::string quoted(const std::string& word) {
    std::string result = "'";
    for (const char c : word) {
        result += c == '\'' ? "'\\''" : std::string(1, c);
    }
    return result + "'";
}

std::string command(const fs::path& folder, const Input& input) {
    std::string text =
        "cd " + folder.string() + " && " + (build_folder() / input.words.front()).string();
    for (std::size_t i = 1; i < input.words.size(); ++i) {
        text += " " + quoted(input.words[i]);
    }
    return text;
}

/// Faults of one kind differ in numbers only.
std::string kind_of(const std::string& fault, const std::string& err) {
    std::string text = fault + ": " + err.substr(0, 160);
    std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    return text.substr(0, 100);
}

class Fuzzer {
public:
    explicit Fuzzer(Reader reader) : reader_(std::move(reader)) {}

    void run(std::size_t inputs, std::size_t seed, const fs::path& cell) {
        for (std::size_t i = 0; i < inputs; ++i) {
            std::seed_seq start{seed, i, std::hash<std::string>()(reader_.name)};
            Random random(start);
            const Input input = reader_.make(random);
            const Way way = i % program_share == 0 ? Way::program : Way::fork;
            const Outcome outcome = tessera::fuzz::run(input, cell, way);
            ++codes_[outcome.code];
            const std::string wrong = fault(input, outcome, reader_.place);
            BOOST_TEST(wrong == "", reader_.name << " input " << i << ": " << wrong);
            if (!wrong.empty()) {
                keep(input, wrong, outcome.err, way, cell, i);
            }
        }
    }

    /// "specs: 450 inputs, exit 0: 120, exit 2: 330".
    void print() const {
        std::size_t total = 0;
        std::string text;
        for (const auto& [code, count] : codes_) {
            total += count;
            text += ", exit " + std::to_string(code) + ": " + std::to_string(count);
        }
        std::cout << "fuzz " << reader_.name << ": " << total << " inputs" << text << ", "
                  << faults_ << " faults\n";
    }

private:
    void keep(const Input& input, const std::string& wrong, const std::string& err, Way way,
              const fs::path& cell, std::size_t number) {
        ++faults_;
        if (++kinds_[kind_of(wrong, err)] > kept_of_a_kind) {
            return;
        }
        const auto fails = [&](const Input& other) {
            return fault(other, tessera::fuzz::run(other, cell, way), reader_.place) == wrong;
        };
        const bool slow = wrong == "hangs";
        const Input small = slow ? input : shrunk(input, fails, shrink_tries);
        std::string name = reader_.name + "-" + std::to_string(number);
        std::replace(name.begin(), name.end(), ' ', '-');
        const fs::path folder = build_folder() / "fuzz" / name;
        small.save(folder);
        std::cout << "fault: " << wrong << "\n  " << command(folder, small) << "\n  "
                  << err.substr(0, 300) << "\n";
    }

    Reader reader_;
    std::map<int, std::size_t> codes_;
    std::map<std::string, int> kinds_;
    std::size_t faults_ = 0;
};

void fuzz(const Reader& reader, double share, const fs::path& cell) {
    Fuzzer fuzzer(reader);
    const auto inputs = static_cast<double>(tessera::test::setting("TESSERA_FUZZ", usual_inputs));
    fuzzer.run(static_cast<std::size_t>(inputs * share),
               tessera::test::setting("TESSERA_FUZZ_SEED", 1), cell);
    fuzzer.print();
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fuzzing, Scratch)

BOOST_AUTO_TEST_CASE(native_specs) {
    fuzz(specs(), 0.28, cell());
}

BOOST_AUTO_TEST_CASE(native_mappings) {
    fuzz(mappings(), 0.15, cell());
}

BOOST_AUTO_TEST_CASE(mappings_of_zigzag) {
    fuzz(zigzag(), 0.04, cell());
}

BOOST_AUTO_TEST_CASE(timeloop_files) {
    fuzz(timeloop(), 0.25, cell());
}

BOOST_AUTO_TEST_CASE(options_and_knobs) {
    fuzz(knobs(), 0.1, cell());
}

BOOST_AUTO_TEST_CASE(folders_of_runs) {
    fuzz(run_folders(cell()), 0.1, cell());
}

BOOST_AUTO_TEST_CASE(records_of_plugins) {
    fuzz(plugin_records(), 0.08, cell());
}

BOOST_AUTO_TEST_SUITE_END()
