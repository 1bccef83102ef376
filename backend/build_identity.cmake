# Writes OUT: a header with the digest of the files that decide what code is generated. LIST names them, one per line,
# relative to ROOT; the digest depends on their names and contents only, so equal sources give equal identities anywhere.
file(STRINGS "${LIST}" files)
list(SORT files)
set(text "")
foreach(name ${files})
  file(SHA256 "${ROOT}/${name}" digest)
  string(APPEND text "${name} ${digest}\n")
endforeach()
string(SHA256 identity "${text}")
file(CONFIGURE OUTPUT "${OUT}" CONTENT "// Made by backend/build_identity.cmake.\n#pragma once\n\nnamespace md {\ninline constexpr const char* kBuildIdentity = \"@identity@\";\n}\n" @ONLY)
