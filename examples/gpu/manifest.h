// Reads the manifest of a GPU program: JSON as a tree, and files beside it.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum JsonKind { JSON_NULL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

// A value; those of a list or an object are chained from `first`.
struct Json {
  enum JsonKind kind;
  char* key;   // in an object
  char* text;  // without its escapes: names in a manifest need none
  int64_t number;
  struct Json *first, *next;
};

static void json_fail(const char* what, const char* where) {
  fprintf(stderr, "manifest.json: %s at '%.30s'\n", what, where);
  exit(1);
}

static char* json_string(char** at) {
  char *from = ++*at, *to = from, *begin = from;
  while (*from && *from != '"') {
    if (*from == '\\' && from[1]) ++from;
    *to++ = *from++;
  }
  if (!*from) json_fail("a text without an end", begin);
  *at = from + 1;
  *to = 0;
  return begin;
}

static void json_skip(char** at, const char* characters) { *at += strspn(*at, characters); }

static struct Json* json_value(char** at) {
  struct Json* made = calloc(1, sizeof *made);
  json_skip(at, " \t\r\n");
  const char open = **at;
  if (open == '{' || open == '[') {
    made->kind = open == '{' ? JSON_OBJECT : JSON_LIST;
    struct Json** place = &made->first;
    ++*at;
    for (json_skip(at, " \t\r\n"); **at != '}' && **at != ']'; json_skip(at, " \t\r\n,")) {
      char* key = NULL;
      if (open == '{') {
        if (**at != '"') json_fail("no name", *at);
        key = json_string(at);
        json_skip(at, " \t\r\n:");
      }
      *place = json_value(at);
      (*place)->key = key;
      place = &(*place)->next;
    }
    ++*at;
  } else if (open == '"') {
    made->kind = JSON_TEXT;
    made->text = json_string(at);
  } else if (open == '-' || (open >= '0' && open <= '9')) {
    made->kind = JSON_NUMBER;
    made->number = strtoll(*at, at, 10);
    json_skip(at, "0123456789.eE+-");  // fractions are of no interest here
  } else if (open == 't' || open == 'f' || open == 'n') {
    made->number = open == 't';
    json_skip(at, "truefalsn");
  } else {
    json_fail("no value", *at);
  }
  return made;
}

// Changes the text, which has to stay as long as what it returns.
static struct Json* json_parse(char* text) { return json_value(&text); }

static const struct Json* json_find(const struct Json* object, const char* key) {
  for (const struct Json* each = object->first; each; each = each->next) {
    if (each->key && !strcmp(each->key, key)) return each->kind == JSON_NULL && !each->number ? NULL : each;
  }
  return NULL;
}

static const struct Json* json_get(const struct Json* object, const char* key) {
  for (const struct Json* each = object->first; each; each = each->next) {
    if (each->key && !strcmp(each->key, key)) return each;
  }
  json_fail("this is missing", key);
  return NULL;
}

static const struct Json* json_at(const struct Json* list, int number) {
  const struct Json* each = list->first;
  while (each && number-- > 0) each = each->next;
  if (!each) json_fail("too large a number", "graphs or kernels");
  return each;
}

static const char* json_text(const struct Json* object, const char* key) {
  const struct Json* found = json_get(object, key);
  if (found->kind != JSON_TEXT) json_fail("no text", key);
  return found->text;
}

static int64_t json_number(const struct Json* object, const char* key) {
  const struct Json* found = json_get(object, key);
  if (found->kind != JSON_NUMBER) json_fail("no number", key);
  return found->number;
}

static int64_t dtype_bytes(const char* dtype) {
  static const struct {
    const char* name;
    int bytes;
  } rows[] = {{"bool", 1},     {"int8", 1},   {"uint8", 1},   {"int16", 2},     {"float16", 2},
              {"bfloat16", 2}, {"uint16", 2}, {"int32", 4},   {"uint32", 4},    {"float32", 4},
              {"int64", 8},    {"uint64", 8}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (!strcmp(rows[i].name, dtype)) return rows[i].bytes;
  }
  json_fail("no known dtype", dtype);
  return 0;
}

// The content with a 0 behind it. A size that is not 0 has to be the file's.
static char* read_file(const char* folder, const char* name, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", name);
  FILE* file = fopen(path, "rb");
  if (!file) json_fail("cannot open the file", path);
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char* content = malloc(size + 1);
  if (fread(content, 1, size, file) != size) json_fail("cannot read the file", path);
  fclose(file);
  content[size] = 0;
  if (bytes && bytes != size) json_fail("the file has another size than the memory", path);
  return content;
}

static void write_file(const char* folder, const char* name, const void* content, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(content, 1, bytes, file) != bytes || fclose(file)) json_fail("cannot write the file", path);
}
