//! What the columns of a Parquet file are, as far as we read them.

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::schema::types::{SchemaDescriptor, Type};

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) name: String,
    /// What messages call its type.
    pub(super) type_name: String,
    pub(super) kind: Kind,
    pub(super) leaf: Leaf,
}

/// Where the values of a column are in the file, and how it says that one is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The number among the columns of the file.
    pub(super) index: usize,
    /// The definition level of a value that is there.
    pub(super) full: i16,
    /// If it has lists: the definition level of an empty one. A lower level is a row without
    /// a list, a higher one belongs to an element.
    pub(super) empty_list: Option<i16>,
}

/// How values are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Signed,
    Unsigned,
    Half,
    Single,
    Double,
    Boolean,
    Text,
    Other,
}

/// The columns of a table. Those that have several parts, such as a record, are [`Kind::Other`].
pub(super) fn shapes(schema: &SchemaDescriptor) -> Vec<Shape> {
    let fields = schema.root_schema().get_fields();
    let mut first_leaf = vec![0; fields.len()];
    for leaf in (0..schema.num_columns()).rev() {
        first_leaf[schema.get_column_root_idx(leaf)] = leaf;
    }
    let full = |leaf| schema.column(leaf).max_def_level();
    fields.iter().zip(first_leaf).map(|(field, leaf)| shape(field, leaf, full(leaf))).collect()
}

fn shape(field: &Type, index: usize, full: i16) -> Shape {
    let (kind, type_name, empty_list) = match list_of(field) {
        None => (kind(field), type_name(field), None),
        Some((element, empty_list)) => {
            (kind(element), format!("LIST of {}", type_name(element)), Some(empty_list))
        }
    };
    let leaf = Leaf { index, full, empty_list };
    Shape { name: field.name().to_owned(), type_name, kind, leaf }
}

/// The element of a list, and the definition level of an empty list, if the field is one:
///
/// ```text
/// group x (LIST) { repeated group list { float element } }     three levels, the standard form
/// group x (LIST) { repeated float element }                    two levels, an older form
/// repeated float x                                             one level, older still
/// ```
///
/// A repeated group named `array` or `x_tuple` is itself the element, by the rules for old files.
fn list_of(field: &Type) -> Option<(&Type, i16)> {
    if is_repeated(field) {
        return field.is_primitive().then_some((field, 0));
    }
    if field.is_primitive() || !is_list(field) {
        return None;
    }
    let [repeated] = field.get_fields() else { return None };
    if !is_repeated(repeated) {
        return None;
    }
    let is_element = repeated.is_primitive()
        || repeated.get_fields().len() != 1
        || repeated.name() == "array"
        || repeated.name() == format!("{}_tuple", field.name());
    let element = if is_element { repeated } else { &repeated.get_fields()[0] };
    Some((element, i16::from(field.is_optional())))
}

fn is_repeated(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.has_repetition() && info.repetition() == Repetition::REPEATED
}

fn is_list(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.logical_type_ref() == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST
}

fn kind(field: &Type) -> Kind {
    let Type::PrimitiveType { physical_type, type_length, .. } = field else { return Kind::Other };
    let info = field.get_basic_info();
    match (physical_type, info.logical_type_ref()) {
        (Physical::INT32 | Physical::INT64, logical) => integer_kind(logical, info.converted_type()),
        (Physical::FLOAT, _) => Kind::Single,
        (Physical::DOUBLE, _) => Kind::Double,
        (Physical::BOOLEAN, _) => Kind::Boolean,
        (Physical::BYTE_ARRAY, logical) => text_kind(logical, info.converted_type()),
        (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)) if *type_length == 2 => Kind::Half,
        _ => Kind::Other,
    }
}

/// Integers that are not something else, such as dates or decimals.
fn integer_kind(logical: Option<&LogicalType>, converted: ConvertedType) -> Kind {
    match (logical, converted) {
        (Some(LogicalType::Integer(integer)), _) if integer.is_signed => Kind::Signed,
        (Some(LogicalType::Integer(_)), _) => Kind::Unsigned,
        // A column of nothing but empty rows.
        (Some(LogicalType::Unknown), _) => Kind::Signed,
        (Some(_), _) => Kind::Other,
        (None, ConvertedType::NONE) => Kind::Signed,
        (None, ConvertedType::INT_8 | ConvertedType::INT_16) => Kind::Signed,
        (None, ConvertedType::INT_32 | ConvertedType::INT_64) => Kind::Signed,
        (None, ConvertedType::UINT_8 | ConvertedType::UINT_16) => Kind::Unsigned,
        (None, ConvertedType::UINT_32 | ConvertedType::UINT_64) => Kind::Unsigned,
        _ => Kind::Other,
    }
}

/// Text, also where an old writer left out to say so.
fn text_kind(logical: Option<&LogicalType>, converted: ConvertedType) -> Kind {
    match (logical, converted) {
        (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => Kind::Text,
        (Some(_), _) => Kind::Other,
        (None, ConvertedType::NONE | ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON) => {
            Kind::Text
        }
        _ => Kind::Other,
    }
}

/// The type in Parquet's words.
fn type_name(field: &Type) -> String {
    let info = field.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Decimal(decimal)), _) => {
            format!("DECIMAL({}, {})", decimal.precision, decimal.scale)
        }
        (Some(LogicalType::Uuid), _) => "UUID".to_owned(),
        (Some(LogicalType::Float16), _) => "FLOAT16".to_owned(),
        (Some(LogicalType::Date), _) => "DATE".to_owned(),
        (Some(LogicalType::Time(_)), _) => "TIME".to_owned(),
        (Some(LogicalType::Timestamp(_)), _) => "TIMESTAMP".to_owned(),
        (_, ConvertedType::NONE) => match field {
            Type::PrimitiveType { physical_type, .. } => physical_type.to_string(),
            Type::GroupType { .. } => "GROUP".to_owned(),
        },
        (_, ConvertedType::DECIMAL) => match field {
            Type::PrimitiveType { precision, scale, .. } => format!("DECIMAL({precision}, {scale})"),
            Type::GroupType { .. } => "DECIMAL".to_owned(),
        },
        (_, ConvertedType::UTF8) => "STRING".to_owned(),
        (_, converted) => converted.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    fn of(fields: &str) -> Vec<Shape> {
        let schema = parse_message_type(&format!("message table {{ {fields} }}")).unwrap();
        shapes(&SchemaDescriptor::new(Arc::new(schema)))
    }

    fn found(field: &str) -> (Kind, String, Option<i16>) {
        let Shape { kind, type_name, leaf, .. } = of(field).remove(0);
        (kind, type_name, leaf.empty_list)
    }

    #[test]
    fn integers_are_told_from_what_is_stored_as_integers() {
        for signed in ["INT32 x", "INT64 x", "INT32 x (INT_8)", "INT64 x (INTEGER(64, true))"] {
            assert_eq!(found(&format!("REQUIRED {signed};")).0, Kind::Signed, "{signed}");
        }
        for unsigned in ["INT32 x (UINT_8)", "INT32 x (UINT_32)", "INT64 x (INTEGER(64, false))"] {
            assert_eq!(found(&format!("OPTIONAL {unsigned};")).0, Kind::Unsigned, "{unsigned}");
        }
        let others = [
            ("INT32 x (DATE)", "DATE"),
            ("INT64 x (TIMESTAMP(MICROS, true))", "TIMESTAMP"),
            ("INT64 x (TIMESTAMP_MILLIS)", "TIMESTAMP_MILLIS"),
            ("INT64 x (DECIMAL(12, 2))", "DECIMAL(12, 2)"),
            ("BYTE_ARRAY x (DECIMAL(30, 4))", "DECIMAL(30, 4)"),
            ("FIXED_LEN_BYTE_ARRAY (16) x (UUID)", "UUID"),
            ("INT96 x", "INT96"),
        ];
        for (other, name) in others {
            assert_eq!(found(&format!("REQUIRED {other};")), (Kind::Other, name.into(), None));
        }
    }

    #[test]
    fn text_needs_no_annotation() {
        for text in ["x", "x (UTF8)", "x (STRING)", "x (ENUM)"] {
            assert_eq!(found(&format!("REQUIRED BYTE_ARRAY {text};")).0, Kind::Text, "{text}");
        }
    }

    #[test]
    fn lists_come_in_three_forms() {
        let list = |kind, name: &str, empty| (kind, format!("LIST of {name}"), Some(empty));
        let standard = "OPTIONAL GROUP x (LIST) { REPEATED GROUP list { OPTIONAL FLOAT element; } }";
        assert_eq!(found(standard), list(Kind::Single, "FLOAT", 1));
        let required = "REQUIRED GROUP x (LIST) { REPEATED GROUP bag { REQUIRED DOUBLE item; } }";
        assert_eq!(found(required), list(Kind::Double, "DOUBLE", 0));
        assert_eq!(found("OPTIONAL GROUP x (LIST) { REPEATED INT32 item; }"), list(Kind::Signed, "INT32", 1));
        assert_eq!(found("REPEATED FLOAT x;"), list(Kind::Single, "FLOAT", 0));
        let tuple = "OPTIONAL GROUP x (LIST) { REPEATED GROUP x_tuple { REQUIRED FLOAT a; } }";
        assert_eq!(found(tuple), list(Kind::Other, "GROUP", 1));
        let nested = "REQUIRED GROUP x (LIST) { REPEATED GROUP list { REQUIRED GROUP element (LIST) \
                      { REPEATED GROUP list { REQUIRED FLOAT element; } } } }";
        assert_eq!(found(nested), list(Kind::Other, "LIST", 0));
    }

    #[test]
    fn columns_after_a_record_are_found() {
        let columns = of("REQUIRED GROUP r { REQUIRED INT32 a; REQUIRED INT32 b; } REQUIRED DOUBLE x;");
        assert_eq!(columns.iter().map(|column| column.leaf.index).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((columns[0].kind, columns[1].kind), (Kind::Other, Kind::Double));
    }
}
