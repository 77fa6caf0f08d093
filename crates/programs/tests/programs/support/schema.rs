//! The part of JSON Schema (draft 2020-12) that the engine's own schemas use. An unknown keyword is
//! an error, so that no keyword is ignored silently.

use serde_json::Value;

/// Keywords that do not constrain a value.
const REMARKS: [&str; 7] =
    ["$schema", "$defs", "title", "description", "format", "default", "$comment"];

/// Whether the value is valid by the schema; an error names the place.
pub fn validate(value: &Value, schema: &Value) -> Result<(), String> {
    check(value, schema, schema, "$")
}

fn check(value: &Value, schema: &Value, root: &Value, at: &str) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("{at}: never")) };
    };
    for (keyword, says) in keywords {
        let holds = match keyword.as_str() {
            "$ref" => {
                let pointer = says.as_str().unwrap().trim_start_matches('#');
                check(
                    value,
                    root.pointer(pointer).expect("the schema refers to itself"),
                    root,
                    at,
                )?;
                true
            }
            "type" => types(says).any(|name| is(value, name)),
            "enum" => says.as_array().unwrap().contains(value),
            "const" => says == value,
            "minimum" => value.as_f64().is_none_or(|n| n >= says.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= says.as_f64().unwrap()),
            "anyOf" => matches(value, says, root, at) > 0,
            "oneOf" => matches(value, says, root, at) == 1,
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(item, says, root, &format!("{at}[{index}]"))?;
                }
                true
            }
            "required" => says
                .as_array()
                .unwrap()
                .iter()
                .all(|name| value.get(name.as_str().unwrap()).is_some()),
            "properties" => {
                properties(value, says, root, at)?;
                true
            }
            "additionalProperties" => {
                additional(value, says, keywords.get("properties"), root, at)?;
                true
            }
            remark if REMARKS.contains(&remark) => true,
            other => return Err(format!("{at}: keyword {other} is not known here")),
        };
        if !holds {
            return Err(format!("{at}: {keyword} {says} does not hold for {value}"));
        }
    }
    Ok(())
}

fn types(says: &Value) -> impl Iterator<Item = &str> {
    let names: Vec<&Value> = says.as_array().map_or(vec![says], |names| names.iter().collect());
    names.into_iter().map(|name| name.as_str().unwrap())
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("type {other}"),
    }
}

fn matches(value: &Value, schemas: &Value, root: &Value, at: &str) -> usize {
    let schemas = schemas.as_array().unwrap().iter();
    schemas.filter(|schema| check(value, schema, root, at).is_ok()).count()
}

fn properties(value: &Value, says: &Value, root: &Value, at: &str) -> Result<(), String> {
    for (name, schema) in says.as_object().unwrap() {
        if let Some(member) = value.get(name) {
            check(member, schema, root, &format!("{at}.{name}"))?;
        }
    }
    Ok(())
}

fn additional(
    value: &Value,
    says: &Value,
    known: Option<&Value>,
    root: &Value,
    at: &str,
) -> Result<(), String> {
    for (name, member) in value.as_object().into_iter().flatten() {
        if known.is_none_or(|known| known.get(name).is_none()) {
            check(member, says, root, &format!("{at}.{name}"))?;
        }
    }
    Ok(())
}
