#include "field_folder.hpp"

#include <unistd.h>

#include <ostream>
#include <sstream>

#include "base/parsed_json.hpp"
#include "base/process_pool.hpp"
#include "cli/output.hpp"
#include "field_input.hpp"
#include "tessera/base/error.hpp"

namespace tessera::cli {

namespace {

using io::ParsedJson;
using Policy = io::RunDirectory::Policy;

constexpr const char* journal_file = "points.jsonl";

std::string curves_csv(const Field& field) {
    std::ostringstream out;
    out.precision(17);
    out << "instance,mapper,seed,time_s,evaluated,value,cpu_s,charged\n";
    for (std::size_t i = 0; i < field.trials.size(); ++i) {
        const std::size_t m = field.mapper_of(i);
        const std::size_t instance = field.instance_of(i);
        for (const ComparisonPoint& point : field.trials[i].curve) {
            out << instance << "," << field.mappers[m] << "," << field.trials[i].seed << ","
                << point.time_s << "," << point.evaluated << "," << point.value << ","
                << point.cpu_s << "," << point.charged << "\n";
        }
    }
    return out.str();
}

}  // namespace

FieldFolder::~FieldFolder() {
    if (journal_ >= 0) {
        ::close(journal_);
    }
}

std::size_t FieldFolder::open(const Arguments& arguments, const io::Json& description,
                              Field& field) {
    const bool force = arguments.flag("force"), resume = arguments.flag("resume");
    if ((force || resume) && !arguments.has("output")) {
        throw UserError(std::string("option '--") + (force ? "force" : "resume") +
                        "' needs the folder: -o DIR");
    }
    if (force && resume) {
        throw UserError("options '--force' and '--resume' exclude each other");
    }
    if (!arguments.has("output")) {
        return 0;
    }
    folder_.emplace(arguments.text("output"), force    ? Policy::replace
                                              : resume ? Policy::resume
                                                       : Policy::refuse);
    const bool goes_on = resume && folder_->state() != io::RunDirectory::State::free;
    if (goes_on) {
        check_same(description);
    }
    folder_->open();
    std::size_t known = 0;
    if (goes_on) {
        known = read_known(field);
    } else {
        folder_->write("run.json", io::dumped(description), true);
    }
    folder_->write("checkpoint.json", "{}\n");
    journal_ = folder_->folder().open_to_append(journal_file);
    return known;
}

void FieldFolder::check_same(const io::Json& now) const {
    const ParsedJson before = base::parsed_json(folder_->read("run.json"));
    const ParsedJson expected = base::parsed_json(io::dumped(now));
    if (!before.is_object() || !before.contains("field") || before["field"] != expected["field"]) {
        throw UserError("-o " + folder_->path().string() +
                        ": holds another comparison (instances, mappers, seeds, options or "
                        "files differ); give its command again, or choose another folder");
    }
}

std::size_t FieldFolder::read_known(Field& field) {
    const std::string text = folder_->read(journal_file);
    std::size_t known = 0, whole = 0;
    for (std::size_t end; (end = text.find('\n', whole)) != std::string::npos; whole = end + 1) {
        const ParsedJson line = base::parsed_json(text.substr(whole, end - whole));
        if (!line.is_object() || !line.contains("search") || !line.contains("trial") ||
            !line["search"].is_number_unsigned()) {
            continue;
        }
        const auto i = line["search"].get<std::size_t>();
        const std::optional<Trial> trial = read_trial(line["trial"]);
        if (i < field.trials.size() && trial && trial->status != Trial::Status::failed) {
            field.trials[i] = *trial;
            ++known;
        }
    }
    if (whole < text.size()) {
        folder_->write(journal_file, text.substr(0, whole), true);
    }
    return known;
}

void FieldFolder::add(std::size_t search, const ParsedJson& trial) {
    if (journal_ >= 0) {
        const ParsedJson line = {{"search", search}, {"trial", trial}};
        base::write_to_pipe(journal_,
                            line.dump(-1, ' ', false, ParsedJson::error_handler_t::replace) + "\n");
    }
}

void FieldFolder::show(const std::string& status) {
    if (!folder_ || !shows_) {
        return;
    }
    try {
        folder_->write("status.json", status);
    } catch (const UserError&) {
        shows_ = false;
    }
}

bool FieldFolder::finish(const Field& field, bool whole, bool told, std::ostream& out,
                         std::ostream& err) {
    if (!folder_) {
        return true;
    }
    const std::map<std::string, std::string> files = {
        {"result.json", io::dumped(field_json(field))},
        {"trials.csv", trials_csv(field)},
        {"curves.csv", curves_csv(field)},
        {"report.html", field_html(field)}};
    const auto unwritten = folder_->finish(files, whole);
    if (!unwritten.empty()) {
        explain_unwritten(err, *folder_, unwritten, files,
                          "make room and give the command again with --resume");
    } else if (told) {
        print_place(out, *folder_);
    }
    return unwritten.empty();
}

}  // namespace tessera::cli
