// tessera plugins new KIND NAME: a folder with a plugin that works, to be changed by its author.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "base/data_path.hpp"
#include "cli/cli.hpp"
#include "plugins_actions.hpp"
#include "tessera/base/error.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/spec/position.hpp"

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

struct Kind {
    const char* name;  // on the command line, and folder of the template
    const char* text;
    const char* use;  // options that make a map use it
};

constexpr Kind kinds[] = {
    {"search", "search strategy", "--mapper search --strategy @NAME@ --max-evals 1000"},
    {"mapper", "mapper", "--mapper @NAME@"},
    {"model", "cost model", "--model @NAME@"},
};

const Kind& kind_of(const std::string& name) {
    std::vector<std::string> names;
    for (const Kind& kind : kinds) {
        if (name == kind.name) {
            return kind;
        }
        names.push_back(kind.name);
    }
    const std::string near = spec::did_you_mean(name, names);
    throw UserError("plugins new: '" + name + "' is no kind of plugin (expected " +
                    spec::name_list(names) + ")" + (near.empty() ? "" : "; " + near));
}

void check_name(const std::string& name) {
    bool good = !name.empty() && name[0] >= 'a' && name[0] <= 'z' && name.size() <= 64;
    for (const char c : name) {
        good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    }
    if (!good) {
        throw UserError(
            "plugins new: '" + name +
            "' is no good name (expected small letters, digits and underscores, a letter "
            "first)");
    }
}

template <class Role>
void refuse_taken(const std::string& role, const std::string& name) {
    if (const plugin::Entry<Role>* entry = plugin::Registry<Role>::instance().find(name)) {
        throw UserError("plugins new: the name '" + name + "' is taken by the " + role + " in " +
                        (entry->file.empty() ? "the program itself" : entry->file) +
                        ", and a second one could not be loaded; choose another");
    }
}

/// Mappers and strategies share one name space.
void check_free(const Kind& kind, const std::string& name) {
    if (kind.name == std::string("model")) {
        refuse_taken<model::CostModel>("cost model", name);
        return;
    }
    refuse_taken<mapper::Mapper>("mapper", name);
    refuse_taken<search::SearchStrategy>("search strategy", name);
}

/// my_strategy -> MyStrategy
std::string class_name(const std::string& name) {
    std::string result;
    bool start = true;
    for (const char c : name) {
        if (c == '_') {
            start = true;
            continue;
        }
        result += start ? static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c) : c;
        start = false;
    }
    return result;
}

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size()) {
        text.replace(at, mark.size(), by);
    }
    return text;
}

fs::path template_folder() {
    for (const fs::path& folder : data_folders()) {
        std::error_code ignored;
        if (fs::is_regular_file(folder / "plugins/template/Makefile.in", ignored)) {
            return folder / "plugins/template";
        }
    }
    throw UserError("the template for plugins is not installed (share/tessera/plugins/template)");
}

/// Of PREFIX/share/tessera/plugins/template; empty for a template in a checkout.
std::string prefix_of(const fs::path& folder) {
    const fs::path share = folder.parent_path().parent_path().parent_path();
    return share.filename() == "share" ? share.parent_path().string() : "";
}

std::string read(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        throw UserError(file.string() + " cannot be read");
    }
    return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& text) {
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.flush();
    if (!out) {
        throw UserError(file.string() + " cannot be written");
    }
}

}  // namespace

int new_plugin(const std::string& kind_name, const std::string& name, std::ostream& out) {
    const Kind& kind = kind_of(kind_name);
    check_name(name);
    check_free(kind, name);
    const fs::path from = template_folder(), to = name;
    if (fs::exists(to)) {
        throw UserError("plugins new: " + to.string() + " exists already");
    }
    const auto fill = [&](const std::string& text) {
        const std::string use = replaced(kind.use, "@NAME@", name);
        std::string filled = replaced(text, "@USE@", use);
        filled = replaced(filled, "@EXAMPLE@",
                          "tessera map -a tpu-v4i -w gpt3-6.7b -D TOKENS=2048 --plugin ./tessera-" +
                              name + ".so " + use);
        filled = replaced(filled, "@KIND@", kind.text);
        filled = replaced(filled, "@CLASS@", class_name(name));
        filled = replaced(filled, "@PREFIX@", prefix_of(from));
        return replaced(filled, "@NAME@", name);
    };
    std::error_code failed;
    fs::create_directories(to / "test", failed);
    if (failed) {
        throw UserError("plugins new: " + to.string() + " cannot be made: " + failed.message());
    }
    write(to / (name + ".cpp"), fill(read(from / kind.name / "plugin.cpp.in")));
    write(to / "Makefile", fill(read(from / "Makefile.in")));
    write(to / "README.md", fill(read(from / "README.md.in")));
    write(to / "test" / "run.sh", fill(read(from / "run.sh.in")));
    out << "made " << name << "/: " << name << ".cpp, Makefile, README.md, test/run.sh\n"
        << "next: cd " << name << " && make && make check\n";
    return ExitCode::ok;
}

}  // namespace tessera::cli
