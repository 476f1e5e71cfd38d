// Knobs: the parameters of a component, each declared once. The declaration feeds parsing, range
// checks, `tessera plugins help`, the JSON Schema and the documentation.
//
//     static std::vector<plugin::Knob> knobs() {
//         return {plugin::Knob::integer("beam", 16, 1, 4096, "", "candidates kept per level")};
//     }
//     explicit MyStrategy(const plugin::KnobValues& knobs) : beam_(knobs.integer("beam")) {}
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tessera/plugin/abi.h"

namespace tessera::plugin {

enum class KnobType : std::uint32_t {
    integer = TESSERA_KNOB_INTEGER,
    number = TESSERA_KNOB_NUMBER,
    flag = TESSERA_KNOB_FLAG,
    text = TESSERA_KNOB_TEXT
};

struct Knob {
    KnobType type = KnobType::text;
    std::string name;
    std::string standard;  ///< the default, as text
    double lowest = -std::numeric_limits<double>::infinity();
    double highest = std::numeric_limits<double>::infinity();
    std::string unit;
    std::string text;
    std::vector<std::string> choices;  ///< text: allowed values; empty: any

    /// Ranges are inclusive; integers must stay below 2^53.
    static Knob integer(std::string name, std::int64_t standard, std::int64_t lowest,
                        std::int64_t highest, std::string unit, std::string text) {
        return {KnobType::integer,
                std::move(name),
                std::to_string(standard),
                static_cast<double>(lowest),
                static_cast<double>(highest),
                std::move(unit),
                std::move(text),
                {}};
    }
    static Knob number(std::string name, double standard, double lowest, double highest,
                       std::string unit, std::string text) {
        std::ostringstream digits;
        digits.precision(17);
        digits << standard;
        return {KnobType::number, std::move(name), digits.str(),    lowest,
                highest,          std::move(unit), std::move(text), {}};
    }
    static Knob flag(std::string name, bool standard, std::string text) {
        return {
            KnobType::flag, std::move(name), standard ? "1" : "0", 0, 1, "", std::move(text), {}};
    }
    static Knob choice(std::string name, std::string standard, std::vector<std::string> choices,
                       std::string text) {
        Knob knob;
        knob.name = std::move(name);
        knob.standard = std::move(standard);
        knob.choices = std::move(choices);
        knob.text = std::move(text);
        return knob;
    }
};

/// Checked values, one for every knob of the component. Names that were not declared give 0 or "".
class KnobValues {
public:
    KnobValues() = default;
    KnobValues(const tessera_value* values, std::uint32_t n) {
        for (std::uint32_t i = 0; i < n; ++i) {
            values_.emplace_back(values[i].name, values[i].text);
        }
    }

    std::int64_t integer(const std::string& name) const {
        return std::strtoll(text(name).c_str(), nullptr, 10);
    }
    double number(const std::string& name) const {
        return std::strtod(text(name).c_str(), nullptr);
    }
    bool flag(const std::string& name) const {
        return text(name) == "1";
    }
    std::string text(const std::string& name) const {
        for (const auto& [known, value] : values_) {
            if (known == name) {
                return value;
            }
        }
        return "";
    }
    void set(const std::string& name, const std::string& value) {
        values_.emplace_back(name, value);
    }
    const std::vector<std::pair<std::string, std::string>>& all() const {
        return values_;
    }

private:
    std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace tessera::plugin
