# How llama.cpp is compiled for llama-cpp-python: only what is used of it, and no harder than pays. CMake reads this as it
# enters that project (CMAKE_PROJECT_llama_cpp_INCLUDE in setup.sh); see docs/decisions/0050-quick-setup.md.

# llama-cpp-python forces the helpers of llama.cpp's own programs on in CMake's cache; a plain variable goes before it.
set(LLAMA_BUILD_COMMON OFF)
set(LLAMA_ALL_WARNINGS OFF) # nobody reads them here

# What of libllama and libmtmd runs once a model or seldom, by file: besides the architectures in models/, which only say
# how a graph is put together.
set(SLIPSTREAM_SELDOM
    "llama|llama-(adapter|arch|chat|grammar|hparams|model|model-loader|model-saver|quant)|clip|mtmd|mtmd-(audio|helper|helper-gen)")

function(slipstream_sources target in_models) # sets `rest`: the others, as absolute paths
    get_target_property(folder ${target} SOURCE_DIR)
    get_target_property(rest ${target} SOURCES)
    list(FILTER rest INCLUDE REGEX "\\.cpp$")
    list(FILTER rest EXCLUDE REGEX "${in_models}")
    list(TRANSFORM rest PREPEND "${folder}/" REGEX "^[^/]")
    set(rest ${rest} PARENT_SCOPE)
endfunction()

# Once all targets are there. The kernels (ggml) stay as they are.
function(slipstream_compile_lightly)
    foreach(target llama mtmd)
        if(NOT TARGET ${target})
            continue()
        endif()
        slipstream_sources(${target} "(^|/)models/")
        # Models in a few large files instead of one each.
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
        set_source_files_properties(${rest} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
        if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
            target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>) # the last -O counts
            list(FILTER rest EXCLUDE REGEX "/(${SLIPSTREAM_SELDOM})\\.cpp$")
            set_source_files_properties(${rest} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
        endif()
    endforeach()
endfunction()
cmake_language(DEFER CALL slipstream_compile_lightly)

# Libraries of our own beside those of llama.cpp; see docs/decisions/0067-native-rows.md and 0072-brought-heads.md.
set(SLIPSTREAM_NATIVE "${CMAKE_CURRENT_LIST_DIR}/../engine/speculation/native")
function(slipstream_library name source)
    add_library(${name} SHARED "${SLIPSTREAM_NATIVE}/${source}")
    target_compile_features(${name} PRIVATE cxx_std_17)
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    llama_cpp_python_install_target(${name})
endfunction()
function(slipstream_native)
    slipstream_library(slipstream rows.cpp)
    slipstream_library(slipstream-heads heads.cpp)
    get_target_property(folder llama SOURCE_DIR)
    target_include_directories(slipstream-heads PRIVATE ${folder}) # for llama-ext.h
    target_compile_definitions(slipstream-heads PRIVATE SLIPSTREAM_LLAMA="${SKBUILD_PROJECT_VERSION_FULL}")
    target_link_libraries(slipstream-heads PRIVATE llama)
endfunction()
cmake_language(DEFER CALL slipstream_native)
