#include "cli/arguments.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "cli/answer/usage_goals.hpp"
#include "cli/run/given.hpp"
#include "tessera/base/error.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

namespace po = boost::program_options;

constexpr int no_guessing =
    po::command_line_style::default_style & ~po::command_line_style::allow_guessing;

/// What Boost knows of an option; it owns the result.
po::value_semantic* semantic(const options::Value& value) {
    using Kind = options::Value::Kind;
    if (value.kind == Kind::flag) {
        return po::bool_switch();
    }
    if (value.kind == Kind::text) {
        auto* const result = po::value<std::string>()->value_name(value.name);
        return value.has_default ? result->default_value(value.standard) : result;
    }
    auto* const result = po::value<std::vector<std::string>>()->value_name(value.name);
    if (value.has_default) {
        result->default_value({value.standard}, value.standard);
    }
    return value.several ? result->multitoken() : result;
}

po::options_description for_boost(const options::Description& description) {
    po::options_description result(description.title(), description.width());
    auto add = result.add_options();
    for (const options::Option& option : description.options()) {
        const std::string letter = option.letter.empty() ? "" : "," + option.letter.substr(1);
        add((option.name + letter).c_str(), semantic(option.value), option.text.c_str());
    }
    return result;
}

std::vector<std::string> words_of(const po::variable_value& value, options::Value::Kind kind) {
    using Kind = options::Value::Kind;
    return kind == Kind::flag   ? std::vector<std::string>()
           : kind == Kind::text ? std::vector{value.as<std::string>()}
                                : value.as<std::vector<std::string>>();
}

std::vector<std::string> option_names(const options::Description& description) {
    std::vector<std::string> names;
    for (const options::Option& option : description.options()) {
        names.push_back("--" + option.name);
    }
    return names;
}

// boost puts dashes before names or not, depending on the error.
std::string dashed(std::string name) {
    name.erase(0, name.find_first_not_of('-'));
    return (name.size() == 1 ? "-" : "--") + name;
}

}  // namespace

std::vector<options::Given> options::given(const std::vector<std::string>& args,
                                           const Description& known) {
    const po::options_description description = for_boost(known);
    std::vector<Given> result;
    try {
        const auto parsed =
            po::command_line_parser(args).options(description).style(no_guessing).run();
        for (const auto& option : parsed.options) {
            result.push_back({option.string_key, option.original_tokens, option.value});
        }
    } catch (const po::error& error) {
        throw std::invalid_argument(error.what());
    }
    return result;
}

std::ostream& options::operator<<(std::ostream& out, const Description& description) {
    return out << for_boost(description);
}

void add_inputs(options::Description& description, const std::string& letters) {
    auto add = description.add_options();
    const auto has = [&](char letter) { return letters.find(letter) != std::string::npos; };
    if (has('a')) {
        add("arch,a", options::text().named("ARCH"),
            "architecture: a file, or a name in arch-specs/");
    }
    if (has('w')) {
        add("workload,w", options::text().named("WORKLOAD"),
            "workload: a file, or a name in problem-shapes/");
    }
    if (has('e')) {
        add("einsums", options::text().named("LIST"),
            "only these Einsums of the workload, as in conv1,conv2");
    }
    if (has('m')) {
        add("mapping,m", options::text().named("FILE"), "mapping file");
    }
    if (has('D')) {
        add("define,D", options::list().named("NAME=VALUE"),
            "set a variable of the files; may be repeated");
    }
    if (has('S')) {
        add("set", options::list().named("PATH=VALUE"),
            "set any key of the files, as in arch.GlobalBuffer.size=1e6 or "
            "workload.rank_sizes.M=64; may be repeated");
    }
    add("help,h", options::flag(), "this text");
    add("help-all", options::flag(), "this text with all options");
}

void print_help(std::ostream& out, const std::string& examples,
                const options::Description& description) {
    out << "Examples:\n" << examples << "\n" << description;
}

Arguments::Arguments(const std::string& command, const std::vector<std::string>& args,
                     const options::Description& description)
    : command_(command) {
    const po::options_description known = for_boost(description);
    try {
        po::variables_map found;
        po::store(
            po::command_line_parser(args).options(known).positional({}).style(no_guessing).run(),
            found);
        for (const options::Option& option : description.options()) {
            if (const po::variable_value& value = found[option.name]; !value.empty()) {
                values_[option.name] = {words_of(value, option.value.kind), !value.defaulted()};
            }
        }
    } catch (const po::unknown_option& error) {
        const std::string name = dashed(error.get_option_name());
        const std::string near = spec::did_you_mean(name, option_names(description));
        throw UserError("unknown option '" + name + "'" + (near.empty() ? "" : "; " + near) +
                        "; see tessera " + command + " --help");
    } catch (const po::too_many_positional_options_error&) {
        throw UserError("tessera " + command +
                        " takes only options; give files with -a, -w and -m (see tessera " +
                        command + " --help)");
    } catch (const po::multiple_occurrences& error) {
        throw UserError("option '" + dashed(error.get_option_name()) + "' is given twice");
    } catch (const po::error_with_option_name& error) {
        throw UserError("option '" + dashed(error.get_option_name()) +
                        "' lacks its value or has one too many; see tessera " + command +
                        " --help");
    } catch (const po::error& error) {
        throw UserError(std::string(error.what()) + "; see tessera " + command + " --help");
    }
}

void Arguments::fail(const std::string& name, const std::string& value, const std::string& expected,
                     const std::vector<std::string>& known) const {
    const std::string near = spec::did_you_mean(value, known);
    throw UserError("--" + name + ": '" + value + "' is not understood (expected " + expected +
                    ")" + (near.empty() ? "" : "; " + near));
}

std::string Arguments::text(const std::string& name) const {
    const std::vector<std::string> words = all(name);
    return words.empty() ? "" : words.front();
}

std::string Arguments::required(const std::string& name, const std::string& what) const {
    if (values_.count(name) == 0) {
        throw UserError("option '--" + name + "' (" + what + ") is missing; see tessera " +
                        command_ + " --help");
    }
    return not_empty(name, what);
}

std::string Arguments::not_empty(const std::string& name, const std::string& what) const {
    std::string value = text(name);
    if (value.empty()) {
        throw UserError("option '--" + name + "' is empty; name " + what + ", or see tessera " +
                        command_ + " --help");
    }
    return value;
}

std::size_t Arguments::choice(const std::string& name,
                              const std::vector<std::string>& choices) const {
    const std::string value = text(name);
    const auto found = std::find(choices.begin(), choices.end(), value);
    if (found == choices.end()) {
        fail(name, value, "one of " + spec::name_list(choices), choices);
    }
    return static_cast<std::size_t>(found - choices.begin());
}

std::uint64_t Arguments::whole(const std::string& name, std::uint64_t lowest,
                               std::uint64_t highest) const {
    const std::string value = text(name);
    std::uint64_t result = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (code != std::errc() || end != value.data() + value.size() || result < lowest ||
        result > highest) {
        fail(name, value,
             "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest));
    }
    return result;
}

int Arguments::limit(const std::string& name) const {
    if (text(name) == "unlimited") {
        return mapspace::MapSpaceOptions::unlimited;
    }
    const std::string value = text(name);
    int result = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (code != std::errc() || end != value.data() + value.size() || result < 0) {
        fail(name, value, "a whole number or 'unlimited'", {"unlimited"});
    }
    return result;
}

double Arguments::duration_s(const std::string& name) const {
    const std::string value = text(name);
    static const std::pair<const char*, double> units[] = {
        {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    double number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code == std::errc() && std::isfinite(number) && number > 0) {
        for (const auto& [unit, seconds] : units) {
            if (std::string(end) == unit) {
                return number * seconds;
            }
        }
    }
    fail(name, value, "a positive time with its unit: 500ms, 3s, 2m or 1h");
}

std::uint64_t Arguments::size_bytes(const std::string& name) const {
    const std::string value = text(name);
    static const std::pair<const char*, double> units[] = {
        {"B", 1},    {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1 << 30}, {"TiB", 1.099511627776e12},
        {"kB", 1e3}, {"MB", 1e6},   {"GB", 1e9},      {"TB", 1e12}};
    double number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code == std::errc() && std::isfinite(number) && number > 0 && number < 1e15) {
        for (const auto& [unit, bytes] : units) {
            if (std::string(end) == unit && number * bytes >= 1 && number * bytes < 9e18) {
                return static_cast<std::uint64_t>(number * bytes);
            }
        }
    }
    fail(name, value, "a positive size with its unit: 900MiB, 2GiB or 2GB");
}

double Arguments::number(const std::string& name, double below, const std::string& expected) const {
    const std::string value = text(name);
    double result = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (code != std::errc() || end != value.data() + value.size() || !std::isfinite(result) ||
        !(result > 0) || (below > 0 && !(result < below))) {
        fail(name, value, expected);
    }
    return result;
}

namespace {

/// Of "NAME=VALUE"; none: one of them is missing.
std::optional<std::pair<std::string, std::string>> sides_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
        return std::nullopt;
    }
    return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

spec::Defines Arguments::defines() const {
    spec::Defines result;
    for (const std::string& define : all("define")) {
        const auto sides = sides_of(define);
        if (!sides) {
            fail("define", define, "NAME=VALUE, for example -D TOKENS=2048");
        }
        if (!result.insert(*sides).second) {
            throw UserError("-D " + sides->first + " is given twice");
        }
    }
    return result;
}

std::vector<spec::Setting> Arguments::settings() const {
    std::vector<spec::Setting> result;
    for (const std::string& setting : all("set")) {
        const auto sides = sides_of(setting);
        if (!sides) {
            fail("set", setting, "PATH=VALUE, for example --set arch.GlobalBuffer.size=1e6");
        }
        if (std::ranges::count(result, sides->first, &spec::Setting::path) > 0) {
            throw UserError("--set " + sides->first + " is given twice");
        }
        result.push_back({sides->first, sides->second});
    }
    return result;
}

std::vector<mapper::Metric> Arguments::metrics() const {
    std::vector<std::string> names;
    for (const mapper::MetricFacts& one : mapper::all_metrics) {
        names.emplace_back(one.name);
    }
    std::string expected;
    for (const std::string& name : names) {
        expected += name + ", ";
    }
    expected += "or two as energy,latency; for tessera map resource_usage:MEMORY, too";
    std::vector<mapper::Metric> result;
    const UsageGoals usage = usage_goals(*this);
    for (const std::string& name : listed_metrics(*this)) {
        if (memory_of_usage(name) && command_ != "map") {
            fail("metric", name,
                 "another one: the usage of memories is a metric of tessera map alone");
        }
        if (memory_of_usage(name)) {
            continue;
        }
        const mapper::MetricFacts* const found = mapper::find_metric(name);
        if (found == nullptr) {
            fail("metric", name, expected, names);
        }
        const mapper::Metric metric = found->metric;
        if (std::find(result.begin(), result.end(), metric) != result.end()) {
            fail("metric", text("metric"), "each metric once");
        }
        result.push_back(metric);
    }
    if (usage.alone) {
        result.push_back(mapper::Metric::energy);
    }
    const bool edp = std::find(result.begin(), result.end(), mapper::Metric::edp) != result.end();
    if (result.empty() || text("metric").back() == ',') {
        fail("metric", text("metric"), expected);
    }
    if (edp && result.size() > 1) {
        fail("metric", text("metric"),
             "edp alone of these three: it is the product of the other two");
    }
    if (result.size() > 2) {
        fail("metric", text("metric"), "at most two metrics besides resource_usage:MEMORY");
    }
    return result;
}

arch::Compat Arguments::compat() const {
    if (!has("compat")) {
        // An explicit preset is asked for to compare with the reference.
        const bool preset = has("mapspace") && text("mapspace") == "accelforge";
        return preset ? arch::Compat::accelforge : arch::Compat::none;
    }
    return choice("compat", {"none", "accelforge"}) == 0 ? arch::Compat::none
                                                         : arch::Compat::accelforge;
}

}  // namespace tessera::cli
