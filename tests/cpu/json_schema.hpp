#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

namespace sgemm {

/// Checks documents against the part of JSON Schema (draft 2020-12) that runner/record/results.schema.json uses; a
/// keyword that it does not know is reported, so that none is passed over.
class JsonSchema {
 public:
  using Json = nlohmann::json;

  explicit JsonSchema(Json schema) : root_(std::move(schema)) {}

  /// What is wrong with `document`, one line each; empty when it is valid.
  std::vector<std::string> errors(const Json& document) const {
    std::vector<std::string> found;
    check(root_, document, "", found);
    return found;
  }

 private:
  using Errors = std::vector<std::string>;

  bool valid(const Json& schema, const Json& value) const {
    Errors found;
    check(schema, value, "", found);
    return found.empty();
  }

  static bool has_type(const Json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "null" && value.is_null()) || (type == "number" && value.is_number()) ||
           (type == "integer" && value.is_number_integer());
  }

  void check(const Json& schema, const Json& value, const std::string& where, Errors& errors) const {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) {
        errors.push_back(where + " is not allowed");
      }
      return;
    }
    for (const auto& [keyword, rule] : schema.items()) {
      check(schema, keyword, rule, value, where, errors);
    }
  }

  void check(const Json& schema, const std::string& keyword, const Json& rule, const Json& value,
             const std::string& where, Errors& errors) const {
    const auto require = [&](bool satisfied) {
      if (!satisfied) {
        errors.push_back(where + " = " + value.dump().substr(0, 60) + " violates " + keyword + " " +
                         rule.dump().substr(0, 60));
      }
    };
    if (keyword == "$ref") {
      check(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value, where, errors);
    } else if (keyword == "type") {
      const Json types = rule.is_array() ? rule : Json::array({rule});
      require(std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type); }));
    } else if (keyword == "enum") {
      require(std::find(rule.begin(), rule.end(), value) != rule.end());
    } else if (keyword == "const") {
      require(value == rule);
    } else if (keyword == "anyOf") {
      require(std::any_of(rule.begin(), rule.end(), [&](const Json& choice) { return valid(choice, value); }));
    } else if (keyword == "if") {
      const char* const branch = valid(rule, value) ? "then" : "else";
      if (schema.contains(branch)) {
        check(schema.at(branch), value, where, errors);
      }
    } else if (keyword == "properties" && value.is_object()) {
      for (const auto& [name, property] : rule.items()) {
        if (value.contains(name)) {
          check(property, value.at(name), where + "/" + name, errors);
        }
      }
    } else if (keyword == "required" && value.is_object()) {
      for (const Json& name : rule) {
        if (!value.contains(name.get<std::string>())) {
          errors.push_back(where + " lacks " + name.get<std::string>());
        }
      }
    } else if (keyword == "additionalProperties" && value.is_object()) {
      for (const auto& [name, unused] : value.items()) {
        if (!schema.at("properties").contains(name)) {
          errors.push_back(where + " has the unknown " + name);
        }
      }
    } else if (keyword == "dependentRequired" && value.is_object()) {
      for (const auto& [name, others] : rule.items()) {
        if (value.contains(name)) {
          check(Json{{"required", others}}, value, where, errors);
        }
      }
    } else if (keyword == "items" && value.is_array()) {
      for (const Json& item : value) {
        check(rule, item, where + "/[]", errors);
      }
    } else if (keyword == "minItems" && value.is_array()) {
      require(value.size() >= rule.get<std::size_t>());
    } else if (keyword == "maxItems" && value.is_array()) {
      require(value.size() <= rule.get<std::size_t>());
    } else if (keyword == "minLength" && value.is_string()) {
      require(value.get<std::string>().size() >= rule.get<std::size_t>());
    } else if (keyword == "pattern" && value.is_string()) {
      require(std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())));
    } else if (keyword == "minimum" && value.is_number()) {
      require(value.get<double>() >= rule.get<double>());
    } else if (keyword == "maximum" && value.is_number()) {
      require(value.get<double>() <= rule.get<double>());
    } else if (keyword == "exclusiveMinimum" && value.is_number()) {
      require(value.get<double>() > rule.get<double>());
    } else if (keyword == "exclusiveMaximum" && value.is_number()) {
      require(value.get<double>() < rule.get<double>());
    } else if (std::find(PASSED_OVER.begin(), PASSED_OVER.end(), keyword) == PASSED_OVER.end()) {
      errors.push_back("this check does not know the keyword " + keyword);
    }
  }

  /// Annotations, parts of other keywords, and keywords whose type of value is not the one at hand.
  inline static const std::vector<std::string> PASSED_OVER{"$schema",
                                                           "$defs",
                                                           "title",
                                                           "description",
                                                           "format",
                                                           "then",
                                                           "else",
                                                           "properties",
                                                           "required",
                                                           "additionalProperties",
                                                           "dependentRequired",
                                                           "items",
                                                           "minItems",
                                                           "maxItems",
                                                           "minLength",
                                                           "pattern",
                                                           "minimum",
                                                           "maximum",
                                                           "exclusiveMinimum",
                                                           "exclusiveMaximum"};

  Json root_;
};

}  // namespace sgemm
