# Run at every build: writes OUTPUT with the commit that SOURCE_DIR is at, touching the file only when that changed.
# COMMIT, where given, is taken as it is ("<hash>" or "<hash>-dirty") for trees that come without their repository.

set(commit "${COMMIT}")
set(dirty false)
if(commit MATCHES "^(.*)-dirty$")
  set(commit "${CMAKE_MATCH_1}")
  set(dirty true)
elseif(NOT commit)
  # The prefix is empty only at the top of a repository: a copy inside another repository has no commit of its own.
  execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --show-prefix HEAD
                  OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND answer MATCHES "^\n([0-9a-f]+)\n$")
    set(commit "${CMAKE_MATCH_1}")
    # Every tracked file may go into the binary but those of the folders named here: a new folder of sources counts
    # before anybody thinks of this line. A new file is built where a tracked one names it.
    execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no -- .
                            ":!docs" ":!examples" ":!results" ":!scripts" ":!tests" ":!*/tests/*"
                            ":!tools/*.py" ":!*.md"
                    OUTPUT_VARIABLE changes RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "git does not say whether sources differ from commit ${commit}")
    endif()
    if(changes)
      set(dirty true)
    endif()
  else()
    set(commit unknown)
  endif()
endif()

set(content "#pragma once\n\n#define SGEMM_GIT_COMMIT \"${commit}\"\n#define SGEMM_GIT_DIRTY ${dirty}\n")
set(previous "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} previous)
endif()
if(NOT content STREQUAL previous)
  file(WRITE ${OUTPUT} "${content}")
endif()
