// The drop-in names: `timeloop-model` and `timeloop-mapper` as functions.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "timeloop/write.hpp"

namespace tessera::cli {

/// Whether `name` (the last part of argv[0]) is one of the two.
bool is_timeloop_name(const std::string& name);

/// Runs `name` with what follows it on the command line. Exit codes as Timeloop's: 0 also if no
/// valid mapping is found (1 with --strict), 1 for wrong input and mappings that do not fit.
/// Never throws.
int run_timeloop(const std::string& name, const std::vector<std::string>& args, std::ostream& out,
                 std::ostream& err);

/// `[-o DIR] FILE...`
struct TimeloopArguments {
    std::vector<std::string> files;
    std::string folder = ".";
    bool strict = false, help = false;
    std::vector<std::string> strategy;  ///< --strategy, --knob, --knobs with their values
};

// The two programs behind run_timeloop(). They throw tessera::Error.
int timeloop_model(const TimeloopArguments& arguments, std::ostream& out, std::ostream& err);
int timeloop_mapper(const TimeloopArguments& arguments, std::ostream& out, std::ostream& err);

/// Runs map, model, check or explain if -a, -w or -m name input files of Timeloop's; nothing if
/// they do not. \throws tessera::Error
std::optional<int> timeloop_inputs(const std::string& command, const std::vector<std::string>& args,
                                   std::ostream& out, std::ostream& err);

/// Output files, all written at the end or none.
class TimeloopFiles {
public:
    explicit TimeloopFiles(std::string prefix) : prefix_(std::move(prefix)) {}
    const std::string& prefix() const {
        return prefix_;
    }
    void add(const std::string& ending, std::string content) {
        contents_[ending] = std::move(content);
    }
    /// stats.txt, map.txt, map+stats.xml, the Tenssella form; ERT and ART where the input has none.
    void add_evaluation(const timeloop::Input& input, const timeloop::Evaluated& evaluated);
    /// \throws UserError naming the file that cannot be written
    void write() const;

private:
    std::string prefix_;
    std::map<std::string, std::string> contents_;
};

/// Timeloop's lines on the parts of an input that are read.
void report_progress(std::ostream& out, const timeloop::Input& input);
void print_warnings(std::ostream& err, const std::vector<std::string>& warnings);
/// What the figures of an evaluation do not mean: forgotten data, wrapped counters,
/// miscounted computes.
std::vector<std::string> evaluation_warnings(const timeloop::Stats& stats);

}  // namespace tessera::cli
