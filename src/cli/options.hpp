// The options of a command as data: parsing, help, manual pages and completion are made of them.
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli::options {

/// What stands behind the name of an option.
struct Value {
    enum class Kind { flag, text, list };

    Kind kind = Kind::flag;
    std::string name = "arg";  ///< in help
    bool has_default = false;
    std::string standard;  ///< the default
    bool several = false;  ///< of a list: several words may follow one name

    Value named(std::string text) const {
        Value result = *this;
        result.name = std::move(text);
        return result;
    }
    Value by_default(std::string text) const {
        Value result = *this;
        result.has_default = true;
        result.standard = std::move(text);
        return result;
    }
    Value many() const {
        Value result = *this;
        result.several = true;
        return result;
    }
};

/// It is there or not.
inline Value flag() {
    return {};
}
inline Value text() {
    Value result;
    result.kind = Value::Kind::text;
    return result;
}
/// The option may be repeated.
inline Value list() {
    Value result;
    result.kind = Value::Kind::list;
    return result;
}

struct Option {
    std::string name;    ///< without dashes
    std::string letter;  ///< "-a", or empty
    Value value;
    std::string text;  ///< what it does

    bool takes_value() const {
        return value.kind != Value::Kind::flag;
    }
};

/// The options of a command, in the order of its help.
class Description {
public:
    explicit Description(std::string title = "", unsigned width = 80)
        : title_(std::move(title)), width_(width) {}

    /// Adds options one after the other: add_options()("name,letter", value, text)(...).
    class Adder {
    public:
        explicit Adder(Description& description) : description_(&description) {}
        const Adder& operator()(const std::string& names, Value value, std::string text) const {
            const std::size_t comma = names.find(',');
            description_->add({names.substr(0, comma),
                               comma == std::string::npos ? "" : "-" + names.substr(comma + 1),
                               std::move(value), std::move(text)});
            return *this;
        }

    private:
        Description* description_;
    };
    Adder add_options() {
        return Adder(*this);
    }
    void add(Option option) {
        options_.push_back(std::move(option));
    }
    void add(const Description& others) {
        options_.insert(options_.end(), others.options_.begin(), others.options_.end());
    }

    const std::string& title() const {
        return title_;
    }
    unsigned width() const {
        return width_;
    }
    const std::vector<Option>& options() const {
        return options_;
    }

private:
    std::string title_;
    unsigned width_;
    std::vector<Option> options_;
};

/// As --help has them, in lines of at most the description's width.
std::ostream& operator<<(std::ostream& out, const Description& description);

}  // namespace tessera::cli::options
