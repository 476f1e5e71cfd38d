// The folder of a comparison on many instances: what is known of it, trial by trial.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "cli/arguments.hpp"
#include "field_results.hpp"
#include "io/json_text.hpp"
#include "io/run_directory.hpp"

namespace tessera::cli {

/// Without -o it keeps nothing. Thread rule: one thread.
class FieldFolder {
public:
    FieldFolder() = default;
    ~FieldFolder();
    FieldFolder(const FieldFolder&) = delete;
    FieldFolder& operator=(const FieldFolder&) = delete;

    /// Opens what -o, --force and --resume say. `description`: of the comparison, run.json. Trials
    /// that the folder has go into `field`. \returns how many \throws UserError if it holds another
    /// comparison
    std::size_t open(const Arguments& arguments, const io::Json& description, Field& field);

    bool keeps() const {
        return folder_.has_value();
    }
    /// "": none
    std::string path() const {
        return folder_ ? folder_->path().string() : "";
    }

    void add(std::size_t search, const io::ParsedJson& trial);
    /// status.json, until the disk is full: what is found counts more than who watches.
    void show(const std::string& status);
    /// Writes the reports. `told`: also say where they are. \returns whether all could be written
    bool finish(const Field& field, bool whole, bool told, std::ostream& out, std::ostream& err);

private:
    void check_same(const io::Json& now) const;
    std::size_t read_known(Field& field);

    std::optional<io::RunDirectory> folder_;
    int journal_ = -1;
    bool shows_ = true;
};

}  // namespace tessera::cli
