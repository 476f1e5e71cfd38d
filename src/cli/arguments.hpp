// Parsing of one sub-command's arguments, with errors in our own words.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "spec/settings.hpp"
#include "tessera/arch/architecture.hpp"
#include "tessera/mapper/mapper.hpp"
#include "tessera/spec/directives.hpp"

namespace tessera::cli {

/// Adds -a, -w, -m, -D (those whose letter is in `letters`) and --help.
void add_inputs(options::Description& description, const std::string& letters);

class Arguments {
public:
    /// \throws UserError naming the option, what was expected and the nearest known option.
    Arguments(const std::string& command, const std::vector<std::string>& args,
              const options::Description& description);

    bool has(const std::string& name) const {
        const auto found = values_.find(name);
        return found != values_.end() && found->second.given;
    }
    bool flag(const std::string& name) const {
        return has(name);
    }
    std::string text(const std::string& name) const;
    /// Given by the user, not by default.
    bool given(const std::string& name) const {
        return has(name);
    }
    /// All values of an option that may be repeated.
    std::vector<std::string> list(const std::string& name) const {
        return has(name) ? all(name) : std::vector<std::string>();
    }
    /// The same, with the default if none was given.
    std::vector<std::string> all(const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::vector<std::string>() : found->second.words;
    }
    /// Must be given. `what` says what it is in the message.
    std::string required(const std::string& name, const std::string& what) const;
    /// The text of an option that was given. \throws UserError if it is empty
    std::string not_empty(const std::string& name, const std::string& what) const;
    /// One of `choices`; \returns its index.
    std::size_t choice(const std::string& name, const std::vector<std::string>& choices) const;
    std::uint64_t whole(const std::string& name, std::uint64_t lowest, std::uint64_t highest) const;
    /// A whole number or `unlimited` (MapSpaceOptions::unlimited).
    int limit(const std::string& name) const;
    /// "3s", "250ms", "2m", "1h" -> seconds.
    double duration_s(const std::string& name) const;
    /// "900MiB", "2GiB", "1000000" -> bytes.
    std::uint64_t size_bytes(const std::string& name) const;
    /// Above 0 and, if that is not 0, below `below`.
    double number(const std::string& name, double below, const std::string& expected) const;
    /// \throws UserError that names the option and its value. `expected`: what else it should be.
    [[noreturn]] void refuse(const std::string& name, const std::string& expected) const {
        fail(name, text(name), expected);
    }
    /// -D NAME=VALUE ...
    spec::Defines defines() const;
    /// --set PATH=VALUE ...
    std::vector<spec::Setting> settings() const;
    std::vector<mapper::Metric> metrics() const;
    arch::Compat compat() const;

private:
    [[noreturn]] void fail(const std::string& name, const std::string& value,
                           const std::string& expected,
                           const std::vector<std::string>& known = {}) const;

    struct Found {
        std::vector<std::string> words;
        bool given = false;  ///< by the user, not by default
    };

    std::string command_;
    std::map<std::string, Found> values_;
};

/// Prints the examples, then the options.
void print_help(std::ostream& out, const std::string& examples,
                const options::Description& description);

}  // namespace tessera::cli
