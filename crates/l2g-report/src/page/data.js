"use strict";
// The packed columns of the page: base64, deflate, then few bits a value (see pack.rs).

const unpack = async (name) => {
  const element = document.getElementById("data-" + name);
  const text = atob(element.textContent);
  element.remove();
  const packed = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) packed[at] = text.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

/** A number between 0 and 1 that depends on a whole number alone. */
const scatter = (number) => {
  let hash = Math.imul(number ^ (number >>> 16), 0x45d9f3b);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296;
};

/** Points in the square from 0 to 1; where bits are few, anywhere in their cell. */
const unpackPoints = (bytes, count, bits) => {
  const points = new Float32Array(2 * count);
  const cells = 2 ** bits;
  let held = 0, have = 0, next = 0;
  for (let at = 0; at < 2 * count; at++) {
    while (have < bits) {
      held |= bytes[next++] << have;
      have += 8;
    }
    const inside = bits < 16 ? scatter(at) : 0.5;
    points[at] = ((held & (cells - 1)) + inside) / cells;
    held >>>= bits;
    have -= bits;
  }
  return points;
};

/** Whole numbers whose bytes lie apart. */
const unpackNumbers = (bytes, count, width) => {
  const numbers = new Uint32Array(count);
  for (let byte = 0; byte < width; byte++) {
    for (let at = 0; at < count; at++) numbers[at] += bytes[byte * count + at] * 256 ** byte;
  }
  return numbers;
};

/** Reads groups of seven bits from `at.place` on. */
const varint = (bytes, at) => {
  let value = 0, factor = 1, byte;
  do {
    byte = bytes[at.place++];
    value += (byte & 127) * factor;
    factor *= 128;
  } while (byte > 127);
  return value;
};

const unpackIds = (bytes, count, kind) => {
  const ids = new Array(count);
  const at = { place: 0 };
  if (kind === "integers") {
    let id = 0;
    for (let node = 0; node < count; node++) {
      const value = varint(bytes, at);
      id += value % 2 ? -(value + 1) / 2 : value / 2;
      ids[node] = String(id);
    }
    return ids;
  }
  const lengths = new Uint32Array(count);
  for (let node = 0; node < count; node++) lengths[node] = varint(bytes, at);
  const text = new TextDecoder();
  for (let node = 0; node < count; node++) {
    ids[node] = text.decode(bytes.subarray(at.place, (at.place += lengths[node])));
  }
  return ids;
};

/** Everything that the page brings about its nodes. */
const readData = async (meta) => {
  const count = meta.nodes;
  const data = { count, layouts: [], columns: {} };
  for (const key of ["l2g", "no_trans", "full"]) {
    if (!meta[key]) continue;
    const points = unpackPoints(await unpack(key), count, meta[key].bits);
    data.layouts.push({ key, name: meta[key].name, points });
  }
  for (const name of ["label", "patch", "degree", "community"]) {
    if (meta[name]) data.columns[name] = unpackNumbers(await unpack(name), count, meta[name].width);
  }
  if (meta.spread) {
    data.columns.spread = Float32Array.from(await unpack("spread"), (step) => (step / meta.spread.steps) * meta.spread.most);
  }
  data.edges = meta.edges ? unpackNumbers(await unpack("edges"), 2 * meta.edges.count, meta.edges.width) : null;
  if (meta.ids && meta.ids.kind !== "range") {
    const ids = unpackIds(await unpack("ids"), count, meta.ids.kind);
    data.id = (node) => ids[node];
  } else {
    data.id = meta.ids ? (node) => String(node) : (node) => "node " + node;
  }
  return data;
};
