// The command line of the benchmarks: options with one value each, or none, then `-- options of
// tessera map`.
#pragma once

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"

namespace bench {

class Options {
public:
    /// `usage`: the options after the benchmark's name, as they are shown.
    Options(std::string name, std::string usage)
        : name_(std::move(name)), usage_(std::move(usage)) {}

    void number(const std::string& option, double& positive) {
        set_[option] = [this, &positive](const std::string& text) {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            if (text.empty() || *end != 0 || !(value > 0)) {
                refuse("'" + text + "' is not a positive number");
            }
            positive = value;
        };
    }
    void text(const std::string& option, std::string& value) {
        set_[option] = [&value](const std::string& text) { value = text; };
    }
    /// An option without a value.
    void flag(const std::string& option, bool& value) {
        flags_[option] = &value;
    }
    /// A list with commas, at least one entry.
    void list(const std::string& option, std::vector<std::string>& values) {
        set_[option] = [this, option, &values](const std::string& text) {
            values = split(text);
            if (values.empty()) {
                refuse("'" + option + "' needs a list");
            }
        };
    }

    /// Sets what was named; what follows `--`. Ends the program (2) with a message and the usage if
    /// an option is unknown or its value of no use, and (0) with the usage if --help is asked for.
    std::vector<std::string> read(int argc, char** argv) const {
        const std::vector<std::string> args(argv + 1, argv + argc);
        for (std::size_t i = 0; i < args.size(); i += 2) {
            if (args[i] == "--") {
                return {args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end()};
            }
            if (args[i] == "--help" || args[i] == "-h") {
                std::cout << usage();
                std::exit(0);
            }
            if (const auto flag = flags_.find(args[i]); flag != flags_.end()) {
                *flag->second = true;
                --i;  // no value follows
                continue;
            }
            const auto found = set_.find(args[i]);
            if (found == set_.end()) {
                refuse("unknown option '" + args[i] + "'");
            }
            if (i + 1 >= args.size()) {
                refuse("'" + args[i] + "' needs a value");
            }
            found->second(args[i + 1]);
        }
        return {};
    }

    [[noreturn]] void refuse(const std::string& wrong) const {
        std::cerr << name_ << ": " << wrong << "\n" << usage();
        std::exit(2);
    }

private:
    std::string usage() const {
        return "usage: " + name_ + " " + usage_ + " [-- options of tessera map]\n";
    }

    std::string name_, usage_;
    std::map<std::string, std::function<void(const std::string&)>> set_;
    std::map<std::string, bool*> flags_;
};

}  // namespace bench
