//! A note for Arrow readers: which lists have a fixed size.
//!
//! Parquet has lists, but none of a fixed size. Arrow's writers leave their own description of
//! the table beside Parquet's, under the key `ARROW:schema`, and pyarrow and others read a list
//! back as what it says. The description is a message of Arrow's IPC format: tables of
//! [FlatBuffers](https://flatbuffers.dev/internals/), in base64.
//!
//! ```text
//! Message { version, header: Schema { fields: [Field { name, nullable, type, children }] } }
//! ```
//!
//! A FlatBuffers table is preceded by a list of where its fields are. Fields here take four
//! bytes each; what does not fit stands later, and the field holds the distance to it.

use crate::graph::table::WriterColumn;

/// The key that Arrow readers look for.
pub(super) const KEY: &str = "ARROW:schema";

/// The numbers of types, versions and precisions in Arrow's `Schema.fbs` and `Message.fbs`.
mod number {
    pub(super) const VERSION_5: i32 = 4;
    pub(super) const SCHEMA: i32 = 1;
    pub(super) const INT: i32 = 2;
    pub(super) const FLOATING_POINT: i32 = 3;
    pub(super) const UTF8: i32 = 5;
    pub(super) const FIXED_SIZE_LIST: i32 = 16;
    pub(super) const SINGLE: i32 = 1;
}

/// The description of a table.
pub(super) fn describe(columns: &[WriterColumn]) -> String {
    let mut message = Flat(vec![0; 4]);
    let [start, _, _, schema] =
        message.table([Field::Number(number::VERSION_5), Field::Number(number::SCHEMA), Field::Later]);
    message.link(0, start);
    // The byte order is the default, little-endian.
    let [start, _, fields] = message.table([Field::Default, Field::Later]);
    message.link(schema, start);
    let places = message.list(fields, columns.len());
    for (&column, place) in columns.iter().zip(places) {
        message.column(place, column);
    }
    let Flat(mut bytes) = message;
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    // A message begins with a mark and its length.
    let mut framed = vec![0xff; 4];
    framed.extend((bytes.len() as u32).to_le_bytes());
    framed.extend(bytes);
    base64(&framed)
}

/// A field of a FlatBuffers table.
enum Field {
    Default,
    Number(i32),
    /// The distance to something that stands later.
    Later,
}

/// FlatBuffers in the making.
struct Flat(Vec<u8>);

impl Flat {
    /// Appends a table; gives its place, and the place of each field.
    fn table<const FIELDS: usize, const PLACES: usize>(
        &mut self,
        fields: [Field; FIELDS],
    ) -> [usize; PLACES] {
        let list_bytes = (4 + 2 * FIELDS).next_multiple_of(4);
        let table_bytes = 4 + 4 * FIELDS;
        let list = self.0.len();
        self.0.extend((4 + 2 * FIELDS as u16).to_le_bytes());
        self.0.extend((table_bytes as u16).to_le_bytes());
        for (index, field) in fields.iter().enumerate() {
            let offset = if matches!(field, Field::Default) { 0 } else { 4 + 4 * index as u16 };
            self.0.extend(offset.to_le_bytes());
        }
        self.0.resize(list + list_bytes, 0);
        let start = self.0.len();
        self.0.extend((list_bytes as i32).to_le_bytes());
        for field in &fields {
            let value = if let Field::Number(value) = field { *value } else { 0 };
            self.0.extend(value.to_le_bytes());
        }
        std::array::from_fn(|index| start + 4 * index)
    }

    /// Lets the field at `place` lead to `target`.
    fn link(&mut self, place: usize, target: usize) {
        self.0[place..place + 4].copy_from_slice(&((target - place) as u32).to_le_bytes());
    }

    /// Appends a list, to which `place` leads; gives the places of its members.
    fn list(&mut self, place: usize, len: usize) -> Vec<usize> {
        let start = self.0.len();
        self.link(place, start);
        self.0.extend((len as u32).to_le_bytes());
        self.0.resize(start + 4 + 4 * len, 0);
        (1..=len).map(|index| start + 4 * index).collect()
    }

    /// Appends text, to which `place` leads.
    fn text(&mut self, place: usize, text: &str) {
        self.link(place, self.0.len());
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self.0.resize((self.0.len() + 1).next_multiple_of(4), 0);
    }

    /// Appends the description of a column, to which `place` leads.
    fn column(&mut self, place: usize, column: WriterColumn) {
        let signed = 1;
        match column {
            WriterColumn::Integers(name) => {
                self.field(place, name, number::INT, [Field::Number(64), Field::Number(signed)], None);
            }
            WriterColumn::Text(name) => self.field(place, name, number::UTF8, [], None),
            WriterColumn::Floats(name) => self.floats(place, name),
            WriterColumn::Vectors(name, width) => {
                let size = [Field::Number(width as i32)];
                self.field(place, name, number::FIXED_SIZE_LIST, size, Some("element"));
            }
        }
    }

    fn floats(&mut self, place: usize, name: &str) {
        self.field(place, name, number::FLOATING_POINT, [Field::Number(number::SINGLE)], None);
    }

    /// Appends a field of a schema: never null, of a type with its own table of details, and for
    /// a list the name of its elements, which are floats.
    fn field<const DETAILS: usize>(
        &mut self,
        place: usize,
        name: &str,
        kind: i32,
        details: [Field; DETAILS],
        element: Option<&str>,
    ) {
        let fields =
            [Field::Later, Field::Default, Field::Number(kind), Field::Later, Field::Default, Field::Later];
        let [start, name_place, _, _, details_place, _, children] = self.table(fields);
        self.link(place, start);
        self.text(name_place, name);
        let [start] = self.table(details);
        self.link(details_place, start);
        let places = self.list(children, usize::from(element.is_some()));
        if let (Some(element), [place]) = (element, &places[..]) {
            self.floats(*place, element);
        }
    }
}

/// Bytes in the letters of base64.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, index| bits << 8 | u32::from(*group.get(index).unwrap_or(&0)));
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= group.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_letters() {
        for (bytes, letters) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), letters);
        }
    }

    /// That Arrow understands it is tested with pyarrow, in `python/tests/test_tables.py`.
    #[test]
    fn a_description_is_short_and_says_the_width() {
        let describe = |width| describe(&[WriterColumn::Text("id"), WriterColumn::Vectors("vector", width)]);
        assert!(describe(128).len() < 600, "{}", describe(128).len());
        assert!(describe(128).starts_with("/////"));
        assert_ne!(describe(128), describe(64));
    }
}
