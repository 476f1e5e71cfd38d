#include "cli/inputs.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "api/inputs.hpp"
#include "base/printable.hpp"
#include "io/sha256.hpp"
#include "model/overflow.hpp"
#include "spec/kept_files.hpp"
#include "spec/reader.hpp"
#include "spec/warnings.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

void included(const fs::path& file, std::vector<fs::path>& found);

// Every file that `include` reaches from a tree, in order of appearance.
void included(const spec::Node& node, const fs::path& folder, std::vector<fs::path>& found) {
    for (const spec::Node& item : node.items) {
        included(item, folder, found);
    }
    for (const spec::Node::Entry& entry : node.entries) {
        if (entry.key != "include") {
            included(entry.value, folder, found);
            continue;
        }
        std::vector<spec::Node> names = entry.value.items;
        if (entry.value.is_scalar()) {
            names.push_back(entry.value);
        }
        for (const spec::Node& name : names) {
            std::error_code ignored;
            const fs::path whole = folder / name.text;
            // "link/.." is not always the folder of the link.
            const fs::path normal = whole.lexically_normal();
            const fs::path path = fs::equivalent(whole, normal, ignored) ? normal : whole;
            if (fs::is_regular_file(path, ignored) &&
                std::find(found.begin(), found.end(), path) == found.end()) {
                found.push_back(path);
                included(path, found);
            }
        }
    }
}

// Parsing takes longer than all else that is done before a search. The word can be written with
// escapes.
void included(const fs::path& file, std::vector<fs::path>& found) {
    const std::string text = spec::read_bytes(file.string());
    if (text.find("include") != std::string::npos || text.find('\\') != std::string::npos) {
        included(spec::read_file(file.string()), file.parent_path(), found);
    }
}

void record(const std::string& role, const fs::path& path, std::vector<InputFile>& files) {
    std::vector<fs::path> all = {path};
    included(path, all);
    for (const fs::path& one : all) {
        files.push_back({role, one.string(), io::sha256(spec::read_bytes(one.string()))});
    }
}

}  // namespace

std::vector<std::string> words_at_commas(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream list(text);
    for (std::string word; std::getline(list, word, ',');) {
        words.push_back(word);
    }
    return words;
}

Inputs::Inputs(const Arguments& arguments, arch::Compat compat_mode, bool with_mapping)
    : compat(compat_mode) {
    const auto text = [&](const char* option) {
        return arguments.has(option) ? arguments.not_empty(option, "a file") : std::string();
    };
    const spec::ReadOnce one_text_of_each_file;
    api::Inputs loaded = api::load_inputs(
        {text("arch"), text("workload"), with_mapping ? text("mapping") : "", arguments.defines(),
         words_at_commas(arguments.text("einsums")),
         arch::Convention::of(compat_mode).customary_renames, arguments.settings()});
    architecture = std::move(loaded.architecture);
    workload = std::move(loaded.workload);
    mapping = std::move(loaded.mapping);
    files = input_files(loaded.files);
    guessed_roles = std::move(loaded.guessed_roles);
    warnings = std::move(loaded.warnings);
}

mapping::Mapping given_mapping(const std::string& path, const spec::Defines& defines,
                               const model::Problem& problem, std::ostream& err) {
    const spec::HeardWarnings heard;
    model::SettledMapping result = model::settle_overflow(
        problem, api::given_mapping(path, defines, *problem.workload, *problem.architecture));
    print_file_warnings(err, heard.lines());
    print_left_out(err, result.left_out);
    return std::move(result.mapping);
}

void Inputs::settle_mapping() {
    model::SettledMapping result = model::settle_overflow(problem(), std::move(*mapping));
    mapping = std::move(result.mapping);
    left_out = std::move(result.left_out);
}

void print_left_out(std::ostream& err, const std::vector<std::string>& left_out) {
    for (const std::string& line : left_out) {
        err << "tessera: " << base::one_line(line) << "\n";
    }
}

void print_guessed(std::ostream& err, const std::vector<workload::GuessedRole>& roles) {
    if (roles.empty()) {
        return;
    }
    std::string first;
    std::set<std::string> einsums;
    for (const workload::GuessedRole& role : roles) {
        einsums.insert(role.einsum);
        if (role.einsum == roles.front().einsum) {
            first += (first.empty() ? role.einsum + ": " : ", ") + role.role;
            for (const std::string& tensor : role.tensors) {
                first += " " + tensor;
            }
        }
    }
    err << "tessera: the architecture asks for tensors by role, which "
        << (einsums.size() == 1 ? "an Einsum does" : "Einsums do")
        << " not name; taken: " << base::one_line(first);
    if (einsums.size() > 1) {
        err << "; and " << einsums.size() - 1 << " more alike, which tessera check lists";
    }
    err << " (docs/formats.md, renames)\n";
}

std::vector<std::string> guessed_lines(const std::vector<workload::GuessedRole>& roles) {
    std::vector<std::string> lines;
    for (const workload::GuessedRole& role : roles) {
        lines.push_back(base::one_line(workload::to_text(role)));
    }
    return lines;
}

void print_file_warnings(std::ostream& err, const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
        err << "tessera: warning: " << warning << "\n";
    }
}

std::vector<InputFile> input_files(const std::vector<api::Input>& named) {
    std::vector<InputFile> files;
    for (const api::Input& input : named) {
        record(input.role, input.path, files);
    }
    return files;
}

}  // namespace tessera::cli
