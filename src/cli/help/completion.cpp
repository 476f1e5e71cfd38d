// tessera completion: scripts for shells, made of the option tables that --help prints.
//
//   Option        one option, and which words follow it
//   bash(), zsh(), fish()
//   print_words() the names that scripts ask for while a user types
#include <algorithm>
#include <ostream>

#include "base/data_path.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/help/help.hpp"
#include "cli/plugins/components.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/directives.hpp"

namespace tessera::cli {

namespace {

constexpr const char* examples =
    R"(  tessera completion bash > ~/.local/share/bash-completion/completions/tessera
  tessera completion zsh > ~/.zfunc/_tessera      (a folder of $fpath)
  tessera completion fish > ~/.config/fish/completions/tessera.fish
)";

struct Option {
    std::string name, letter, text, value;  ///< letter: "-a" or empty; value: "ARCH" or empty
};

std::vector<Option> options_of(const CommandText& text) {
    std::vector<Option> result;
    for (const options::Option& option : text.options.options()) {
        result.push_back({option.name, option.letter, option.text,
                          option.takes_value() ? option.value.name : ""});
    }
    return result;
}

/// Words known by now for an option's value.
std::string choices(const std::string& option) {
    static const std::pair<const char*, const char*> known[] = {
        {"metric", "edp energy latency traffic dynamic_energy leak_energy"},
        {"einsum-orders", "all file"},
        {"mapspace", "full accelforge timeloop"},
        {"ui", "auto tui line json snapshots none"},
        {"format", "html md svg csv"},
        {"compat", "none accelforge"},
        {"overlap", "none pipeline"},
        {"color", "auto always never"},
        {"symbols", "auto block braille ascii"},
        {"by", "component einsum tensor memory traffic spatial"},
    };
    for (const auto& [name, words] : known) {
        if (option == name) {
            return words;
        }
    }
    return "";
}

/// Whether the value of an option is a list with commas.
bool is_list(const std::string& option) {
    return option == "by" || option == "metric" || option == "mapper";
}

/// The kind of words that `tessera completion words` prints for an option's value, or nothing.
std::string asked(const std::string& option) {
    for (const char* kind : {"arch", "workload", "mapper", "strategy", "model", "knob", "define"}) {
        if (option == kind) {
            return kind;
        }
    }
    return "";
}

/// The same for shells that do not divide NAME=VALUE.
std::string whole_words(const std::string& kind) {
    return kind == "knob" ? "knob-values" : kind;
}

/// What may follow the command's name besides options.
std::string first_words(const std::string& command) {
    return command == "init"         ? "arch workload"
           : command == "schema"     ? "arch workload mapping"
           : command == "plugins"    ? "list info help schema check new"
           : command == "completion" ? "bash zsh fish"
                                     : "";
}

bool takes_folders(const std::string& command) {
    return command == "report" || command == "rerun" || command == "top";
}

std::string command_names() {
    std::string names;
    for (const Command& command : command_table()) {
        names += std::string(names.empty() ? "" : " ") + command.name;
    }
    return names;
}

/// Of all commands; options of one name take the same words everywhere.
std::vector<Option> options_with_words() {
    std::vector<Option> result;
    for (const Command& command : command_table()) {
        for (const Option& option : options_of(command.text())) {
            const bool known = std::any_of(result.begin(), result.end(), [&](const Option& other) {
                return other.name == option.name;
            });
            const bool folder = option.value == "DIR" || option.value == "RUN";
            if (!known && !option.value.empty() &&
                (folder || !asked(option.name).empty() || !choices(option.name).empty())) {
                result.push_back(option);
            }
        }
    }
    return result;
}

void bash(std::ostream& out) {
    out << "# Completion of tessera for bash; made by `tessera completion bash`.\n"
           "_tessera() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local command=${COMP_WORDS[1]} words= name= option= list= head=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '"
        << command_names() << " help --help --version' -- \"$current\"))\n"
        << "        return\n"
           "    fi\n"
           "    # '=' divides words: NAME = VALUE.\n"
           "    if [ \"$current\" = = ]; then\n"
           "        name=$before option=${COMP_WORDS[COMP_CWORD-2]} current=\n"
           "    elif [ \"$before\" = = ]; then\n"
           "        name=${COMP_WORDS[COMP_CWORD-2]} option=${COMP_WORDS[COMP_CWORD-3]}\n"
           "    fi\n"
           "    if [ \"$option\" = --knob ]; then\n"
           "        words=$(tessera completion words value \"$name\" 2>/dev/null)\n"
           "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "        return\n"
           "    fi\n"
           "    case $before in\n";
    for (const Option& option : options_with_words()) {
        out << "        --" << option.name << (option.letter.empty() ? "" : "|" + option.letter)
            << ") " << (is_list(option.name) ? "list=1 " : "");
        if (const std::string kind = asked(option.name); !kind.empty()) {
            out << "words=$(tessera completion words " << kind
                << (kind == "define" ? " \"${COMP_WORDS[@]}\"" : "") << " 2>/dev/null) ;;\n";
        } else if (const std::string words = choices(option.name); !words.empty()) {
            out << "words='" << words << "' ;;\n";
        } else {
            out << "COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n";
        }
    }
    out << "    esac\n"
           "    if [ -n \"$words\" ]; then\n"
           "        [[ $list && $current == *,* ]] && head=${current%,*},\n"
           "        COMPREPLY=($(compgen -P \"$head\" -W \"$words\" -- \"${current#\"$head\"}\"))\n"
           "        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
           "        return\n"
           "    fi\n"
           "    case $command in\n"
           "        help|man) words='"
        << command_names() << "' ;;\n"
        << "        show) words=\"$(tessera completion words arch 2>/dev/null)\n"
           "$(tessera completion words workload 2>/dev/null)\" ;;\n";
    for (const Command& command : command_table()) {
        if (const std::string words = first_words(command.name); !words.empty()) {
            out << "        " << command.name << ") words='" << words << "' ;;\n";
        } else if (takes_folders(command.name)) {
            out << "        " << command.name << ") words=$(compgen -d -- \"$current\") ;;\n";
        }
    }
    out << "    esac\n"
           "    if [ \"${current:0:1}\" = - ]; then\n"
           "        case $command in\n";
    for (const Command& command : command_table()) {
        out << "            " << command.name << ") words='";
        for (const Option& option : options_of(command.text())) {
            out << "--" << option.name << (option.letter.empty() ? "" : " " + option.letter) << " ";
        }
        out << "' ;;\n";
    }
    out << "        esac\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "}\n"
           "complete -o default -F _tessera tessera\n";
}

/// Between single quotes, of a shell that has no escape there.
std::string single_quoted(const std::string& text, const std::string& special = "") {
    std::string result = "'";
    for (const char c : text) {
        result += special.find(c) != std::string::npos ? "\\" + std::string(1, c)
                  : c == '\''                          ? "'\\''"
                                                       : std::string(1, c);
    }
    return result + "'";
}

void zsh(std::ostream& out) {
    out << "#compdef tessera\n"
           "# Completion of tessera for zsh; made by `tessera completion zsh`.\n"
           "_tessera_words() {\n"
           "    local -a words\n"
           "    words=(${(f)\"$(tessera completion words \"$@\" 2>/dev/null)\"})\n"
           "    compadd -a words\n"
           "}\n"
           "_tessera() {\n"
           "    if (( CURRENT == 2 )); then\n"
           "        local -a commands\n"
           "        commands=(\n";
    for (const Command& command : command_table()) {
        out << "            " << single_quoted(std::string(command.name) + ":" + command.summary)
            << "\n";
    }
    out << "        )\n"
           "        _describe command commands\n"
           "        return\n"
           "    fi\n"
           "    local command=$words[2]\n"
           "    shift words; (( CURRENT-- ))\n"
           "    case $command in\n";
    for (const Command& command : command_table()) {
        out << "        " << command.name << ") _arguments";
        for (const Option& option : options_of(command.text())) {
            std::string rest = "[" + option.text + "]";
            for (std::size_t at = 1; (at = rest.find_first_of("[]:", at)) + 1 < rest.size();
                 at += 2) {
                rest.insert(at, "\\");
            }
            if (!option.value.empty()) {
                const std::string kind = asked(option.name), words = choices(option.name);
                const bool folder = option.value == "DIR" || option.value == "RUN";
                rest +=
                    ":" + option.value + ":" +
                    (kind == "arch" || kind == "workload"
                         ? "{ _tessera_words " + kind + "; _files }"
                     : kind == "define"     ? "{ _tessera_words define $words }"
                     : !kind.empty()        ? "{ _tessera_words " + whole_words(kind) + " }"
                     : is_list(option.name) ? "{ _values -s , " + option.name + " " + words + " }"
                     : !words.empty()       ? "(" + words + ")"
                     : folder               ? "_files -/"
                                            : "_files");
            }
            out << " \\\n            "
                << (option.letter.empty()
                        ? single_quoted("*--" + option.name + rest)
                        : "{" + option.letter + ",--" + option.name + "}" + single_quoted(rest));
        }
        const std::string words = first_words(command.name);
        out << " \\\n            "
            << single_quoted(!words.empty()                ? "*: :(" + words + ")"
                             : takes_folders(command.name) ? "*: :_files -/"
                             : command.name == std::string("show")
                                 ? "*: :{ _tessera_words arch; _tessera_words workload }"
                                 : "*: :_files")
            << " ;;\n";
    }
    out << "    esac\n}\n_tessera \"$@\"\n";
}

void fish(std::ostream& out) {
    out << "# Completion of tessera for fish; made by `tessera completion fish`.\n";
    for (const Command& command : command_table()) {
        out << "complete -c tessera -f -n __fish_use_subcommand -a " << command.name << " -d "
            << single_quoted(command.summary) << "\n";
    }
    for (const Command& command : command_table()) {
        const std::string of = "complete -c tessera -n '__fish_seen_subcommand_from " +
                               std::string(command.name) + "'";
        for (const Option& option : options_of(command.text())) {
            out << of << " -l " << option.name;
            if (!option.letter.empty()) {
                out << " -s " << option.letter[1];
            }
            if (!option.value.empty()) {
                const std::string kind = asked(option.name), words = choices(option.name);
                out << " -r";
                if (!kind.empty()) {
                    out << " -a '(tessera completion words " << whole_words(kind)
                        << (kind == "define" ? " (commandline -opc)" : "") << " 2>/dev/null)'";
                } else if (is_list(option.name)) {
                    out << " -a '(__fish_append , " << words << ")'";
                } else if (!words.empty()) {
                    out << " -a '" << words << "'";
                }
            }
            // fish escapes inside single quotes.
            std::string text = option.text;
            for (std::size_t at = 0; (at = text.find_first_of("\\'", at)) != std::string::npos;
                 at += 2) {
                text.insert(at, "\\");
            }
            out << " -d '" << text << "'\n";
        }
        if (const std::string words = first_words(command.name); !words.empty()) {
            out << of << " -f -a '" << words << "'\n";
        }
        if (command.name == std::string("show")) {
            out << of
                << " -a '(tessera completion words arch; tessera completion words workload)'\n";
        }
    }
}

/// A flag is 0 or 1.
std::vector<std::string> values_of(const plugin::Knob& knob) {
    return knob.type == plugin::KnobType::flag ? std::vector<std::string>{"0", "1"} : knob.choices;
}

/// What print_words() prints of components: their names, their knobs as "NAME.KNOB=", these with
/// known values, too, or the values of one knob alone.
struct Printed {
    bool names = false, knobs = false, values = false;
    std::string of;  ///< "NAME.KNOB"
};

template <class Role>
void print_components(std::ostream& out, const Printed& what) {
    for (const plugin::Entry<Role>& entry : plugin::Registry<Role>::instance().entries()) {
        if (what.names) {
            out << entry.name << "\n";
        }
        for (const plugin::Knob& knob : entry.knobs) {
            const std::string name = entry.name + "." + knob.name;
            if (what.knobs) {
                out << name << "=\n";
            }
            for (const std::string& value : values_of(knob)) {
                if (what.values) {
                    out << name << "=" << value << "\n";
                } else if (what.of == name) {
                    out << value << "\n";
                }
            }
        }
    }
}

/// Variables of the files that a command line names.
void print_variables(std::ostream& out, const std::vector<std::string>& line) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) {
        const bool arch = line[i] == "-a" || line[i] == "--arch";
        if (!arch && line[i] != "-w" && line[i] != "--workload") {
            continue;
        }
        try {
            const auto file = find_data(arch ? "arch-specs" : "problem-shapes", line[i + 1]);
            for (const std::string& name :
                 spec::declared_variables(spec::load_tree(file.string()))) {
                out << name << "=\n";
            }
        } catch (const UserError&) {
            // While a line is typed it names no file yet.
        }
    }
}

/// `asked`: the kind, and what belongs to it.
void print_words(const std::vector<std::string>& asked, std::ostream& out) {
    const std::string& kind = asked[0];
    const bool knobs = kind == "knob" || kind == "knob-values" || kind == "value";
    if (kind == "mapper" || kind == "strategy" || knobs) {
        load_all_optional();  // one that cannot be has no words
    }
    if (kind == "arch" || kind == "workload") {
        for (const std::string& name :
             list_data(kind == "arch" ? "arch-specs" : "problem-shapes")) {
            out << name << "\n";
        }
    }
    if (kind == "define") {
        print_variables(out, asked);
    }
    const Printed what = {!knobs, kind != "value" && knobs, kind == "knob-values",
                          kind == "value" && asked.size() > 1 ? asked[1] : ""};
    if (kind == "mapper" || knobs) {
        print_components<mapper::Mapper>(out, what);
    }
    if (kind == "mapper" || kind == "strategy" || knobs) {
        print_components<search::SearchStrategy>(out, what);
    }
    if (kind == "model" || knobs) {
        print_components<model::CostModel>(out, what);
    }
}

}  // namespace

CommandText completion_text() {
    options::Description result("Options", 100);
    add_inputs(result, "");
    return {"bash|zsh|fish", examples, result};
}

int completion_command(const std::vector<std::string>& args, std::ostream& out, std::ostream&) {
    const CommandText text = completion_text();
    // What scripts ask for may have options of other commands in it.
    if (args.size() >= 2 && args[0] == "words") {
        print_words({args.begin() + 1, args.end()}, out);
        return ExitCode::ok;
    }
    std::vector<std::string> words, rest;
    for (const std::string& word : args) {
        (word.rfind('-', 0) == 0 ? rest : words).push_back(word);
    }
    const Arguments arguments("completion", rest, text.options);
    const std::string shell = words.empty() ? "" : words[0];
    if (shell == "bash") {
        bash(out);
    } else if (shell == "zsh") {
        zsh(out);
    } else if (shell == "fish") {
        fish(out);
    } else {
        throw UserError(
            "tessera completion takes bash, zsh or fish; see tessera completion --help");
    }
    return ExitCode::ok;
}

}  // namespace tessera::cli
