// What both drop-in programs share: arguments, errors, output files.
#include "timeloop.hpp"

#include "base/memory_reserve.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <new>
#include <ostream>
#include <sstream>

#include "base/printable.hpp"
#include "cli/cli.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* usage = R"( [-o DIR] FILE...

Takes Timeloop's input files (YAML or libconfig; problem, architecture, mapping or constraints, ERT,
ART), writes Timeloop's output files to DIR (default: here). See docs/timeloop.md.

  -o DIR    an existing folder for the output files
  --strict  exit 1 if no valid mapping is found
)";

constexpr const char* mapper_usage = R"(
Searches by a strategy of Tessera's in place of the input's algorithm, until time-limit (60 s) or
search-size:
  --strategy NAME           for example annealing, genetic, random; see tessera plugins list
  --knob NAME.KNOB=VALUE    a knob of the strategy, or of its runner (search.islands); repeatable
  --knobs FILE              knobs from a file, {COMPONENT: {KNOB: VALUE}}
  --plugin FILE             load this plugin first; repeatable
)";

bool is_strategy_option(const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return name == "--strategy" || name == "--knob" || name == "--knobs" || name == "--plugin";
}

TimeloopArguments parse(const std::vector<std::string>& args, std::ostream& err) {
    TimeloopArguments result;
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (args[i] == "-o") {
            if (++i == args.size()) {
                throw UserError("-o lacks its value (expected an existing folder)");
            }
            result.folder = args[i];
            std::error_code ignored;
            if (!fs::is_directory(result.folder, ignored)) {
                throw UserError("-o: '" + result.folder +
                                "' is no folder (expected an existing folder); create it first");
            }
        } else if (args[i] == "--strict") {
            result.strict = true;
        } else if (is_strategy_option(args[i])) {
            const std::string option = args[i];
            if (option.find('=') == std::string::npos && ++i == args.size()) {
                throw UserError(option + " lacks its value; see --help");
            }
            result.strategy.push_back(option);
            if (args[i] != option) {
                result.strategy.push_back(args[i]);
            }
        } else if (args[i] == "--help" || args[i] == "-h") {
            result.help = true;
        } else if (args[i] == "timeloop-mapper.map.yaml") {
            err << "WARNING: found timeloop-mapper.map.yaml in input file list, ignoring.\n";
        } else {
            result.files.push_back(args[i]);
        }
    }
    return result;
}

int dispatch(const std::string& name, const std::vector<std::string>& args, std::ostream& out,
             std::ostream& err) {
    const TimeloopArguments arguments = parse(args, err);
    const bool maps = name == "timeloop-mapper";
    if (arguments.help) {
        out << "Usage: " << name << usage << (maps ? mapper_usage : "");
        return ExitCode::ok;
    }
    if (!arguments.strategy.empty() && !maps) {
        throw UserError(arguments.strategy.front() + " belongs to timeloop-mapper, not to " + name);
    }
    if (arguments.files.empty()) {
        err << "Usage: " << name << usage;
        return 1;
    }
    for (const std::string& file : arguments.files) {
        out << "input file: " << file << "\n";
    }
    out.flush();
    return name == "timeloop-model" ? timeloop_model(arguments, out, err)
                                    : timeloop_mapper(arguments, out, err);
}

}  // namespace

bool is_timeloop_name(const std::string& name) {
    return name == "timeloop-model" || name == "timeloop-mapper";
}

int run_timeloop(const std::string& name, const std::vector<std::string>& args, std::ostream& out,
                 std::ostream& err) {
    const base::MemoryReserve reserve;
    const base::PrintableOutput printable_out(out), printable_err(err);
    try {
        const int code = dispatch(name, args, out, err);
        out.flush();
        return out ? code : 1;
    } catch (const Bug& error) {
        err << "ERROR: " << error.what() << "\n";
        return ExitCode::bug;
    } catch (const Error& error) {
        err << "ERROR: " << error.what() << "\n";
        return 1;
    } catch (const std::bad_alloc&) {
        err << "ERROR: " << out_of_memory_text;
        return ExitCode::limit_before_result;
    } catch (const std::exception& error) {
        err << "ERROR: " << Bug(error.what()).what() << "\n";
    } catch (...) {
        err << "ERROR: " << Bug("an exception of unknown type").what() << "\n";
    }
    return ExitCode::bug;
}

void TimeloopFiles::add_evaluation(const timeloop::Input& input,
                                   const timeloop::Evaluated& evaluated) {
    using timeloop::Dialect;
    const Dialect dialect = input.document.dialect;
    const auto text = [](const auto& write) {
        std::ostringstream stream;
        write(stream);
        return stream.str();
    };
    add(".stats.txt",
        text([&](std::ostream& out) { timeloop::write_stats(out, evaluated, dialect); }));
    add(".map.txt",
        text([&](std::ostream& out) { timeloop::write_map_text(out, evaluated, dialect); }));
    add(".map+stats.xml", text([&](std::ostream& out) { timeloop::write_xml(out, evaluated); }));
    add(dialect == Dialect::master ? ".map.tensella.txt" : ".map.tenssella.txt",
        text([&](std::ostream& out) {
            timeloop::write_tenssella(out, evaluated.problem, evaluated.mapping);
        }));
    // The Python front end reads areas from here, whoever made them.
    if (input.energies != timeloop::EnergyOrigin::accelergy && dialect == Dialect::master) {
        std::error_code ignored;
        const bool has_ert = input.energies == timeloop::EnergyOrigin::input;
        if (!fs::exists(prefix_ + ".ERT.yaml", ignored) || !has_ert) {
            add(".ERT.yaml",
                text([&](std::ostream& out) { timeloop::write_ert(out, evaluated.architecture); }));
        }
        if (!fs::exists(prefix_ + ".ART.yaml", ignored) || !has_ert) {
            add(".ART.yaml",
                text([&](std::ostream& out) { timeloop::write_art(out, evaluated.architecture); }));
        }
    }
}

void TimeloopFiles::write() const {
    std::string unwritten, mapping;
    for (const auto& [ending, content] : contents_) {
        const std::string path = prefix_ + ending;
        std::ofstream file(path, std::ios::binary);
        file << content;
        file.close();
        if (file) {
            continue;
        }
        unwritten += (unwritten.empty() ? "" : ", ") + path;
        if (ending == ".map.yaml" || ending == ".map.cfg") {
            mapping = "\n" + path + " would hold:\n" + content;
        }
    }
    if (!unwritten.empty()) {
        throw UserError(unwritten +
                        ": cannot write the file; check the folder, its permissions and the free "
                        "space" +
                        mapping);
    }
}

void print_warnings(std::ostream& err, const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings) {
        err << "WARNING: " << warning << "\n";
    }
}

std::vector<std::string> evaluation_warnings(const timeloop::Stats& stats) {
    std::vector<std::string> result;
    for (const std::string& text : stats.forgotten) {
        result.push_back(text + "; the figures leave out the traffic that this would need");
    }
    if (stats.wrapped) {
        result.push_back(
            "a counter of this mapping is negative (imperfect factors) or beyond 2^63 (cycles at a "
            "bandwidth of almost nothing) and wraps around, as in Timeloop; the figures mean "
            "nothing");
    }
    if (stats.miscounted) {
        std::ostringstream text;
        text << std::fixed << std::setprecision(0) << "Timeloop counts "
             << (stats.sparse ? stats.arithmetic.algorithmic_computes : stats.arithmetic.computes)
             << " computes for this imperfect mapping, the problem has " << stats.problem_computes
             << std::setprecision(2)
             << ": computes, their energy, energy per compute, operational intensities and "
                "utilization are Timeloop's; of the utilization of "
             << stats.utilization << ", " << stats.problem_utilization() << " is work";
        result.push_back(text.str());
    }
    return result;
}

void report_progress(std::ostream& out, const timeloop::Input& input) {
    out << "Problem configuration complete.\n";
    if (input.energies == timeloop::EnergyOrigin::input) {
        out << "Found Accelergy ERT (energy reference table), replacing internal energy model.\n";
    }
    if (input.has_art) {
        out << "Found Accelergy ART (area reference table), replacing internal area model.\n";
    }
    out << "Architecture configuration complete.\nSparse optimization configuration complete.\n";
}

}  // namespace tessera::cli
