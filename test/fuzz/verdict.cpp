#include "fuzz/verdict.hpp"

#include <algorithm>
#include <regex>

#include "base/parsed_json.hpp"
#include "base/printable.hpp"
#include "cli/timeloop/timeloop.hpp"

namespace tessera::fuzz {

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// What --json has of a refusal.
bool is_error_document(const Input& input, const std::string& out) {
    const base::ParsedJson document = base::parsed_json(out);
    return std::ranges::count(input.words, "--json") > 0 && document.is_object() &&
           document.value("status", "") == "error";
}

bool refused(const Input& input, const Outcome& outcome) {
    if (!cli::is_timeloop_name(input.words.front())) {
        return outcome.code == 2;
    }
    // Those programs have one exit code for wrong files and for mappings that do not fit.
    const bool illegal = contains(outcome.err, "ERROR: level ") ||
                         contains(outcome.err, "ERROR: couldn't map level ") ||
                         contains(outcome.err, "ERROR: mapping violates");
    return outcome.code == 1 && !illegal;
}

/// The first line that is not a warning, with what follows it.
std::string message(const std::string& err) {
    std::size_t at = 0;
    while (at < err.size()) {
        const std::size_t end = std::min(err.find('\n', at), err.size());
        const std::string line = err.substr(at, end - at);
        if (!contains(line, "WARNING: ") && !contains(line, "warning: ")) {
            break;
        }
        at = end + 1;
    }
    return at < err.size() ? err.substr(at) : "";
}

bool names_place(const Input& input, const std::string& text, Place place) {
    static const std::regex option("(^|[ '(])--?[A-Za-z][a-z-]*");
    static const std::regex line("^:[0-9]+(:[0-9]+)?");
    if (std::regex_search(text.substr(0, 2000), option)) {
        return true;
    }
    // A word, the value in NAME=VALUE, or the first of a list; as they are or made printable.
    const auto quoted = [&](const std::string& word) {
        const std::size_t equals = word.find('=') + 1;  // 0: none
        for (const std::string& part :
             {word, word.substr(equals), word.substr(0, word.find(','))}) {
            if (!part.empty() &&
                (contains(text, "'" + part) || contains(text, "'" + base::one_line(part) + "'"))) {
                return true;
            }
        }
        return false;
    };
    if (place == Place::word && std::any_of(input.words.begin(), input.words.end(), quoted)) {
        return true;
    }
    for (const auto& [name, bytes] : input.files) {
        const std::string folder = name.substr(0, name.find('/'));
        if (place == Place::file && contains(text, folder + ": ")) {
            return true;
        }
        for (std::size_t at = text.find(name); at != std::string::npos;
             at = text.find(name, at + 1)) {
            const std::string rest = text.substr(at + name.size(), 16);
            if (place == Place::file || std::regex_search(rest, line)) {
                return true;
            }
        }
    }
    // Nothing in the file can be pointed at.
    for (const char* whole :
         {": the file is empty", ": cannot read the file", "cannot be mixed: "}) {
        if (contains(text, whole)) {
            return true;
        }
    }
    return false;
}

std::string crash(const Outcome& outcome) {
    if (outcome.hung) {
        return "hangs";
    }
    if (outcome.grew) {
        return "needs more than 1 GiB";
    }
    for (const char* report : {"AddressSanitizer", "runtime error:", "LeakSanitizer"}) {
        if (contains(outcome.err, report)) {
            return "sanitizer report";
        }
    }
    if (outcome.signal != 0) {
        return "signal " + std::to_string(outcome.signal);
    }
    if (outcome.code == 70 || contains(outcome.err, "internal error") ||
        contains(outcome.err, "bug in tessera")) {
        return "internal error";
    }
    return "";
}

/// What a terminal would act on. Nothing here writes to a terminal, so no escape is meant.
bool controls_terminal(const std::string& text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        const bool plain = c >= 0x20 || c == '\n' || c == '\t';
        const bool second_set = c == 0xc2 && next >= 0x80 && next < 0xa0;  // U+0080 to U+009F
        if (!plain || c == 0x7f || second_set) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::string fault(const Input& input, const Outcome& outcome, Place place) {
    if (const std::string what = crash(outcome); !what.empty()) {
        return what;
    }
    if (outcome.code > 5) {
        return "exit code " + std::to_string(outcome.code);
    }
    if (outcome.code != 0 && outcome.err.empty() && outcome.out.empty()) {
        return "no message";
    }
    if (controls_terminal(outcome.out) || controls_terminal(outcome.err)) {
        return "raw control character";
    }
    if (!refused(input, outcome)) {
        return "";
    }
    // Timeloop's programs say what they read before they refuse something, as Timeloop does.
    if (!outcome.out.empty() && !is_error_document(input, outcome.out) &&
        !cli::is_timeloop_name(input.words.front())) {
        return "refused, yet something was printed";
    }
    if (outcome.files != input.files) {
        return "refused, yet files were written";
    }
    if (!names_place(input, message(outcome.err), place)) {
        return "message without a place";
    }
    return "";
}

}  // namespace tessera::fuzz
