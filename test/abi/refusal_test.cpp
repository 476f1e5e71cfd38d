// Plugins that do not fit are refused with one exact message, before anything of them runs, and
// never keep the program from its work when they were not asked for by name.
#include <elf.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "abi/program.hpp"
#include "tessera/base/error.hpp"
#include "tessera/base/version.hpp"
#include "tessera/plugin/loader.hpp"
#include "tessera/plugin/search_strategy.hpp"

using namespace tessera::abi_test;

namespace {

/// Asked for by name: exit code 3 and the message. Merely lying about: a warning, and the search
/// goes on.
void refused(const std::string& kind, const std::string& reason,
             std::map<std::string, std::string> variables = {}) {
    BOOST_TEST_CONTEXT(kind) {
        const std::string message = "cannot load " + plugin(kind) + ": " + reason + "\n";
        const Ran named = run(small_map() + " --plugin " + plugin(kind), variables);
        BOOST_TEST(named.code == 3);
        BOOST_TEST(named.err == "tessera: " + message);
        BOOST_TEST(named.out == "");
        variables["TESSERA_PLUGIN_PATH"] = (build() / "abi" / kind).string();
        const Ran found = run(small_map(), variables);
        BOOST_TEST(found.code == 0);
        BOOST_TEST(found.err == "tessera: warning: " + message);
        BOOST_TEST(found.out.find("Proven optimal") != std::string::npos);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_plugin_is_loaded_listed_and_used) {
    const Ran listed = run(tool() + " plugins list --json --plugin " + plugin("corpus"));
    BOOST_TEST_REQUIRE(listed.code == 0);
    bool found = false;
    const auto document = nlohmann::json::parse(listed.out);
    for (const auto& entry : document["plugins"]) {
        if (entry["name"] == "corpus") {
            found = true;
            BOOST_TEST(entry["kind"] == "strategy");
            BOOST_TEST(entry["file"] == plugin("corpus"));
        }
    }
    BOOST_TEST(found);
    const Ran used =
        run(small_map() + " --mapper corpus --max-evals 100",
            {{"TESSERA_PLUGIN_PATH", "/nonexistent:" + (build() / "abi" / "corpus").string()}});
    BOOST_TEST(used.code == 0);
    BOOST_TEST(used.err == "");
    BOOST_TEST(used.out.find("100 ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_plugin_of_the_other_compiler_is_used) {
    const Ran used =
        run(small_map() + " --mapper search --strategy clang --max-evals 100 --plugin " +
            plugin("clang"));
    BOOST_TEST(used.code == 0);
    BOOST_TEST(used.err == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_shared_object_is_refused) {
    const Folder folder;
    std::ofstream(folder / "tessera-text.so") << "hello\n";
    const std::string file = (folder / "tessera-text.so").string();
    const Ran named = run(small_map() + " --plugin " + file);
    BOOST_TEST(named.code == 3);
    BOOST_TEST(named.err ==
               "tessera: cannot load " + file + ": it is not a shared object (no ELF file)\n");
    const Ran missing = run(small_map() + " --plugin /nonexistent.so");
    BOOST_TEST(missing.code == 3);
    BOOST_TEST(missing.err == "tessera: cannot load /nonexistent.so: there is no such file\n");
}

BOOST_AUTO_TEST_CASE(a_shared_object_cut_off_anywhere_is_refused) {
    const std::string whole = read(plugin("corpus"));
    const Folder folder;
    for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 23) {
        const fs::path file = folder / "tessera-cut.so";
        std::ofstream(file, std::ios::binary) << whole.substr(0, size);
        const Ran cut = run(tool() + " plugins list --plugin " + file.string());
        BOOST_TEST(cut.code == 3, "cut off at " << size << ": " << cut.err);
        // The header is whole; the section table, which ends the file, is not.
        if (size >= sizeof(Elf64_Ehdr)) {
            BOOST_TEST(cut.err == "tessera: cannot load " + file.string() +
                                      ": its section table is broken; build it again\n");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_section_table_outside_of_the_file_is_refused) {
    const std::string whole = read(plugin("corpus"));
    const Folder folder;
    const auto changed = [&](const auto& change) {
        Elf64_Ehdr header;
        std::memcpy(&header, whole.data(), sizeof header);
        change(header);
        std::string bytes = whole;
        std::memcpy(bytes.data(), &header, sizeof header);
        const fs::path file = folder / "tessera-table.so";
        std::ofstream(file, std::ios::binary) << bytes;
        const Ran ran = run(tool() + " plugins list --plugin " + file.string());
        BOOST_TEST(ran.code == 3);
        BOOST_TEST(ran.err == "tessera: cannot load " + file.string() +
                                  ": its section table is broken; build it again\n");
    };
    changed([&](Elf64_Ehdr& header) { header.e_shoff = whole.size() + 10000; });
    changed([](Elf64_Ehdr& header) { header.e_shoff = ~std::uint64_t{7}; });
    changed([](Elf64_Ehdr& header) { header.e_shnum = 65000; });
    changed([](Elf64_Ehdr& header) { header.e_shstrndx = 60000; });
}

// The system would map such files over what is there.
BOOST_AUTO_TEST_CASE(program_headers_that_contradict_themselves_are_refused) {
    const std::string whole = read(plugin("corpus"));
    const Folder folder;
    Elf64_Ehdr header;
    std::memcpy(&header, whole.data(), sizeof header);
    const auto refused_with = [&](std::uint32_t type, const auto& change) {
        std::string bytes = whole;
        bool found = false;
        for (std::size_t i = 0; i < header.e_phnum && !found; ++i) {
            Elf64_Phdr segment;
            const std::size_t at = header.e_phoff + i * sizeof segment;
            std::memcpy(&segment, whole.data() + at, sizeof segment);
            found = segment.p_type == type && segment.p_filesz > 0;
            if (found) {
                change(segment);
                std::memcpy(bytes.data() + at, &segment, sizeof segment);
            }
        }
        BOOST_TEST_REQUIRE(found);
        const fs::path file = folder / "tessera-segments.so";
        std::ofstream(file, std::ios::binary) << bytes;
        const Ran ran = run(tool() + " plugins list --plugin " + file.string());
        BOOST_TEST(ran.code == 3, ran.err);
        BOOST_TEST(ran.err == "tessera: cannot load " + file.string() +
                                  ": its program headers are broken; build it again\n");
    };
    refused_with(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_filesz = segment.p_memsz + 9; });
    refused_with(PT_LOAD, [&](Elf64_Phdr& segment) {
        segment.p_filesz = segment.p_memsz = whole.size() + 10;
    });
    refused_with(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_offset = ~std::uint64_t{0} - 3; });
    refused_with(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_vaddr += 0x100000000; });
    refused_with(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_vaddr += 8; });
    refused_with(PT_LOAD, [](Elf64_Phdr& segment) { segment.p_memsz = ~std::uint64_t{0} >> 1U; });
    refused_with(PT_DYNAMIC, [](Elf64_Phdr& segment) { segment.p_vaddr += 0x10000000; });
    refused_with(PT_GNU_RELRO, [](Elf64_Phdr& segment) { segment.p_memsz += 0x10000000; });
}

BOOST_AUTO_TEST_CASE(another_machine) {
    refused("machine",
            "it is built for another machine (ELF machine 243, this one is 62); build it for this "
            "machine");
    refused("words", "it is not a 64-bit file; build it for this machine");
}

BOOST_AUTO_TEST_CASE(no_record) {
    refused("no-record",
            "it is no Tessera plugin: it has no section .tessera.plugin, which the macro "
            "TESSERA_PLUGIN makes");
}

BOOST_AUTO_TEST_CASE(no_entry_point) {
    refused(
        "no-entry",
        "it does not export tessera_plugin_entry_v1; write TESSERA_PLUGIN_LIBRARY in one of its "
        "source files");
}

BOOST_AUTO_TEST_CASE(foreign_exports) {
    refused("extra-export",
            "it exports 'foreign_symbol' besides its entry point; link it with the flags of "
            "pkg-config tessera-plugin");
}

BOOST_AUTO_TEST_CASE(unique_symbols) {
    refused("unique",
            "it exports the unique symbol '_ZN7CounterIiE5countE', which all plugins would share; "
            "compile it with -fno-gnu-unique");
}

BOOST_AUTO_TEST_CASE(old_string_abi) {
    refused("old-strings",
            "it is built with old-strings, this program with new-strings; compile it without "
            "-D_GLIBCXX_USE_CXX11_ABI=0");
}

BOOST_AUTO_TEST_CASE(another_standard_library) {
    refused(
        "library",
        "it is built with the C++ standard library libc++-16, this program with the C++ standard "
        "library libstdc++; build both with the same compiler settings");
}

BOOST_AUTO_TEST_CASE(renamed_field) {
    refused("renamed",
            "header tessera/search/space.hpp differs (it is built for tessera " TESSERA_VERSION
            ", this is "
            "tessera " TESSERA_VERSION "); rebuild it with the headers of this program");
}

BOOST_AUTO_TEST_CASE(reordered_virtual_functions) {
    refused("reordered",
            "header tessera/search/strategy.hpp differs (it is built for tessera " TESSERA_VERSION
            ", this is "
            "tessera " TESSERA_VERSION "); rebuild it with the headers of this program");
}

BOOST_AUTO_TEST_CASE(another_layout_by_compiler_settings) {
    refused("packed",
            "type mapping::PmappingNode has another size (it is built for tessera " TESSERA_VERSION
            ", this is "
            "tessera " TESSERA_VERSION "); build both with the same compiler settings");
}

BOOST_AUTO_TEST_CASE(newer_interface) {
    using Of = tessera::plugin::Contract<tessera::search::SearchStrategy>;
    const std::string major = std::to_string(Of::major);
    const std::string own = "this program has " + major + "." + std::to_string(Of::minor);
    refused("newer",
            "it needs interface search-strategy " + major + ".9, " + own + "; use a newer tessera");
    refused("other-major", "it implements interface search-strategy 9.0, " + own +
                               "; port it to the new interface (docs/plugin-abi.md)");
}

BOOST_AUTO_TEST_CASE(crash_in_the_first_examination) {
    refused("crashes", "it crashed when it was first examined (signal 6); run it under a debugger");
    refused("quits", "it ended the process when it was first examined");
}

BOOST_AUTO_TEST_CASE(hang_in_the_first_examination) {
    refused("hangs",
            "it did not come back within 0.3 s when it was first examined; its initialisation must "
            "not wait for anything",
            {{"TESSERA_PLUGIN_SCAN_TIME", "0.3"}});
}

BOOST_AUTO_TEST_CASE(what_crashed_once_is_not_run_again) {
    const Folder folder;
    const auto ran_with = [&](const char* limit_s) {
        return run(tool() + " plugins list --plugin " + plugin("hangs"),
                   {{"TESSERA_PLUGIN_CACHE", (folder / "deep/cache.json").string()},
                    {"TESSERA_PLUGIN_SCAN_TIME", limit_s}});
    };
    const Ran first = ran_with("0.3");
    BOOST_TEST(first.err.find("within 0.3 s") != std::string::npos, first.err);
    // A second examination would tell its own limit.
    const Ran second = ran_with("0.4");
    BOOST_TEST(first.err == second.err);
    BOOST_TEST(second.code == 3);
    const auto document = nlohmann::json::parse(read(folder / "deep/cache.json"));
    BOOST_TEST(document["files"].contains(plugin("hangs")));
}

BOOST_AUTO_TEST_CASE(a_plugin_that_another_program_cannot_link_is_not_remembered) {
    // This test exports nothing, so the plugin finds nothing in it.
    const Folder folder;
    const std::string cache = (folder / "cache.json").string();
    const std::string needy = (build() / "loaded/lib/tessera/plugins/tessera-ffm.so").string();
    const char* before = std::getenv("TESSERA_PLUGIN_CACHE");
    const std::string kept = before != nullptr ? before : "";
    ::setenv("TESSERA_PLUGIN_CACHE", cache.c_str(), 1);
    BOOST_CHECK_EXCEPTION(tessera::plugin::load_file(needy), tessera::PluginError,
                          [](const tessera::PluginError& error) {
                              return std::string(error.what()).find("the system cannot load it") !=
                                     std::string::npos;
                          });
    before != nullptr ? ::setenv("TESSERA_PLUGIN_CACHE", kept.c_str(), 1)
                      : ::unsetenv("TESSERA_PLUGIN_CACHE");
    const Ran ran = run((build() / "loaded/bin/tessera").string() + " plugins info ffm",
                        {{"TESSERA_PLUGIN_CACHE", cache}});
    BOOST_TEST(ran.code == 0, ran.err);
    BOOST_TEST(ran.err == "");
}

BOOST_AUTO_TEST_CASE(a_broken_cache_is_ignored) {
    const Folder folder;
    for (const char* text : {"", "{", "[]", "{\"files\": 3}", "{\"files\": {\"x\": 3}}"}) {
        std::ofstream(folder / "cache.json") << text;
        const Ran ran = run(tool() + " plugins list --plugin " + plugin("corpus"),
                            {{"TESSERA_PLUGIN_CACHE", (folder / "cache.json").string()}});
        BOOST_TEST(ran.code == 0);
    }
}

BOOST_AUTO_TEST_CASE(names_are_taken_once) {
    const Ran named = run(tool() + " plugins list --plugin " + plugin("corpus") + " --plugin " +
                          plugin("second"));
    BOOST_TEST(named.code == 3);
    BOOST_TEST(named.err == "tessera: cannot load " + plugin("second") +
                                ": two components are called 'corpus': a search strategy in " +
                                plugin("corpus") + " and one in " + plugin("second") +
                                "; load only one of them\n");
    refused("taken",
            "two components are called 'random': a search strategy in the program itself "
            "and one in " +
                plugin("taken") + "; load only one of them");
    const Ran both =
        run(small_map(), {{"TESSERA_PLUGIN_PATH", (build() / "abi/corpus").string() + ":" +
                                                      (build() / "abi/second").string()}});
    BOOST_TEST(both.code == 0);
    BOOST_TEST(both.err.find(plugin("second") + ": two components are called") !=
               std::string::npos);
    // The same file twice is no conflict.
    const Ran same = run(tool() + " plugins list --plugin " + plugin("corpus") + " --plugin " +
                         plugin("corpus"));
    BOOST_TEST(same.code == 0);
}

BOOST_AUTO_TEST_CASE(plugins_of_the_users_data_folder_are_found) {
    const Folder folder;
    for (const auto& [variable, plugins] :
         {std::pair<std::string, fs::path>{"XDG_DATA_HOME", "tessera/plugins"},
          {"HOME", ".local/share/tessera/plugins"}}) {
        const fs::path home = folder / variable;
        fs::create_directories(home / plugins);
        fs::copy_file(plugin("corpus"), home / plugins / "tessera-corpus.so");
        std::map<std::string, std::string> variables{{"XDG_DATA_HOME", ""}};
        variables[variable] = home.string();
        const Ran used = run(small_map() + " --mapper corpus --max-evals 100", variables);
        BOOST_TEST(used.code == 0, used.err);
    }
}

BOOST_AUTO_TEST_CASE(folders_that_everybody_may_write_to_are_refused) {
    const Folder folder;
    fs::copy_file(plugin("corpus"), folder / "tessera-corpus.so");
    fs::permissions(folder.path(), fs::perms::all);
    const Ran found = run(small_map(), {{"TESSERA_PLUGIN_PATH", folder.path().string()}});
    BOOST_TEST(found.code == 0);
    BOOST_TEST(found.err == "tessera: warning: cannot load " + folder.path().string() +
                                ": everybody may write to this folder; chmod go-w it\n");
    const Ran wanted =
        run(small_map() + " --mapper corpus", {{"TESSERA_PLUGIN_PATH", folder.path().string()}});
    BOOST_TEST(wanted.code == 2);
    BOOST_TEST(wanted.err.find("unknown mapper 'corpus'") != std::string::npos);
}

namespace {

/// A folder of plugins two folders below one of the test.
struct Shelf {
    Folder root;
    fs::path middle = root / "middle", plugins = middle / "plugins",
             file = plugins / "tessera-corpus.so";

    Shelf() {
        fs::create_directories(plugins);
        fs::copy_file(plugin("corpus"), file);
    }
    /// What `plugins list` says against using this folder; empty: it takes the plugin.
    static std::string refusal(const fs::path& searched, const std::string& where = ".") {
        const Ran ran = run("cd " + quoted(where) + " && " + tool() + " plugins info corpus",
                            {{"TESSERA_PLUGIN_PATH", searched.string()}});
        BOOST_TEST((ran.code == 0) == ran.err.empty(), ran.err);
        return ran.err.substr(0, ran.err.find('\n'));
    }
    static std::string warning(const fs::path& path, const std::string& reason) {
        return "tessera: warning: cannot load " + path.string() + ": " + reason;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(folders_in_which_others_can_put_plugins_are_refused) {
    const Shelf shelf;
    const auto refusal = [&] { return Shelf::refusal(shelf.plugins); };
    const auto of_folder = [&](const std::string& reason) {
        return Shelf::warning(shelf.plugins, reason);
    };
    const auto group = std::to_string(::getgid());
    BOOST_TEST(refusal() == "");
    const auto with_mode = [&](const fs::path& path, mode_t mode, const std::string& expected) {
        struct stat before{};
        BOOST_REQUIRE_EQUAL(::stat(path.c_str(), &before), 0);
        BOOST_REQUIRE_EQUAL(::chmod(path.c_str(), mode), 0);
        BOOST_TEST(refusal() == expected, path);
        ::chmod(path.c_str(), before.st_mode & 07777);
    };
    with_mode(shelf.plugins, 0775,
              of_folder("group " + group + " may write to this folder; chmod g-w it"));
    with_mode(shelf.plugins, 01777, of_folder("everybody may write to this folder; chmod go-w it"));
    const std::string above = "the folder " + shelf.middle.string() + " above it";
    with_mode(shelf.middle, 0777, of_folder("everybody may write to " + above + "; chmod go-w it"));
    with_mode(shelf.middle, 0775,
              of_folder("group " + group + " may write to " + above + "; chmod g-w it"));
    with_mode(shelf.middle, 01777, "");  // others cannot rename what is not theirs
    with_mode(shelf.file, 0664,
              Shelf::warning(shelf.file, "group " + group + " may write to it; chmod g-w it"));
    with_mode(shelf.file, 0666,
              Shelf::warning(shelf.file, "everybody may write to it; chmod go-w it"));
}

BOOST_AUTO_TEST_CASE(plugins_of_other_users_are_refused,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                         return boost::test_tools::assertion_result(::geteuid() == 0);
                     })) {
    const Shelf shelf;
    const std::string stranger = "belongs to user 4242, neither you nor root; ";
    const auto owned = [&](const fs::path& path, const fs::path& named, const std::string& reason) {
        BOOST_REQUIRE_EQUAL(::chown(path.c_str(), 4242, 4242), 0);
        BOOST_TEST(Shelf::refusal(shelf.plugins) == Shelf::warning(named, reason));
        BOOST_REQUIRE_EQUAL(::chown(path.c_str(), 0, 0), 0);
    };
    owned(shelf.plugins, shelf.plugins,
          "this folder " + stranger + "move the plugins to a folder of your own");
    owned(shelf.middle, shelf.plugins,
          "the folder " + shelf.middle.string() + " above it " + stranger +
              "move the plugins to a folder of your own");
    owned(shelf.file, shelf.file, "it " + stranger + "copy it yourself, or load it with --plugin");
}

BOOST_AUTO_TEST_CASE(plugins_behind_links_and_relative_paths_are_refused) {
    const Shelf shelf;
    const std::string elsewhere = " is a symbolic link, which may lead elsewhere tomorrow; ";
    const fs::path link = shelf.root / "link";
    fs::create_symlink(shelf.plugins, link);
    BOOST_TEST(Shelf::refusal(link) ==
               Shelf::warning(
                   link, link.string() + elsewhere + "name " + shelf.plugins.string() + " itself"));
    fs::remove(link);
    fs::create_symlink(shelf.middle, link);
    BOOST_TEST(Shelf::refusal(link / "plugins") ==
               Shelf::warning(link / "plugins", link.string() + elsewhere + "name " +
                                                    shelf.plugins.string() + " itself"));
    BOOST_TEST(Shelf::refusal("plugins", shelf.middle.string()) ==
               Shelf::warning("plugins",
                              "a relative path means another folder wherever the "
                              "program is started; give the path from / on"));
    const fs::path other = shelf.root / "corpus.so";
    fs::rename(shelf.file, other);
    fs::create_symlink(other, shelf.file);
    BOOST_TEST(Shelf::refusal(shelf.plugins) ==
               Shelf::warning(shelf.file,
                              "it" + elsewhere + "copy the file here, or load it with --plugin"));
    const Ran named = run(tool() + " plugins list --plugin " + shelf.file.string());
    BOOST_TEST(named.code == 0, named.err);
    fs::permissions(shelf.root.path(), fs::perms::all);
    const Ran open = run(tool() + " plugins list --plugin " + shelf.file.string());
    BOOST_TEST(open.code == 3);
    BOOST_TEST(open.err == "tessera: cannot load " + shelf.file.string() +
                               ": everybody may write to its folder; chmod o-w " +
                               shelf.root.path().string() + "\n");
}

BOOST_AUTO_TEST_CASE(exceptions_of_a_plugin_name_it) {
    const auto used = [](const std::string& name) {
        return run(small_map() + " --max-evals 10 --mapper " + name + " --plugin " +
                   plugin("misbehaves"));
    };
    const Ran create = used("throws_in_create");
    BOOST_TEST(create.code == 3);
    const std::string of = " of " + plugin("misbehaves");
    BOOST_TEST(create.err == "tessera: search strategy 'throws_in_create'" + of +
                                 " could not be created: no licence file\n");
    const Ran ask = used("throws_in_ask");
    BOOST_TEST(ask.code == 3);
    BOOST_TEST(ask.err == "tessera: search strategy 'throws_in_ask'" + of +
                              " failed in ask(): out of ideas\n");
    const Ran number = used("throws_number");
    BOOST_TEST(number.code == 3);
    BOOST_TEST(number.err == "tessera: search strategy 'throws_number'" + of +
                                 " failed in ask(): an exception of unknown type\n");
    const Ran other = run(small_map() + " --plugin " + plugin("misbehaves"));
    BOOST_TEST(other.code == 0);
    BOOST_TEST(other.err == "");
}
