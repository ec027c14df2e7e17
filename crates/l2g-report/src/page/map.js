// The map of the page: what people do with the plot, and what it tells them. Text of the data is only ever set
// with textContent.

const MOST_NAMED = 20;
const GREY = [138, 143, 152];
const KINDS = {
  label: { name: "label", named: true },
  patch: { name: "patch", named: true },
  community: { name: "community", named: true },
  degree: { name: "degree", logarithmic: true },
  spread: { name: "alignment spread" },
};
const LEFT_OUT = { no_trans: "unaligned embedding", full: "embedding of the whole graph", spread: "alignment spread", ids: "node ids" };
// Viridis at seven places, its dark end a little lighter so that it can be seen on dark pages.
const RAMP = [[84, 50, 140], [72, 84, 158], [52, 117, 157], [38, 150, 148], [71, 184, 118], [148, 211, 65], [250, 221, 37]];

const $ = (id) => document.getElementById(id);
const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text ?? "" }, more);
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

const ramp = (share) => {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return RAMP[low].map((from, channel) => Math.round(from + (RAMP[low + 1][channel] - from) * (at - low)));
};

/** A colour for each of many groups: golden steps around the wheel. */
const wheel = (group) => {
  const hue = (group * 137.508) % 360, light = 0.46 + 0.14 * ((group >> 2) % 3 - 1) * 0.6;
  const channel = (shift) => {
    const k = (shift + hue / 30) % 12;
    return Math.round(255 * (light - 0.62 * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
};

class Map_ {
  constructor(meta, data) {
    Object.assign(this, { meta, data, only: null, selected: null, marked: -1 });
    this.canvas = $("canvas");
    this.canvas.hidden = false;
    this.plot = new Plot(this.canvas, data.layouts[0].points, data.edges);
    this.plot.onDraw = () => this.moveTip();
    this.palette = meta.palette.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
    this.addControls();
    this.addPointer();
    this.addKeys();
    this.colourBy($("colour").value);
    document.querySelector(".picture").classList.add("replaced");
    document.querySelector(".toolbar").hidden = false;
    if (meta.left_out.length) this.say("Left out, to keep the page small: " + meta.left_out.map((name) => LEFT_OUT[name] || name).join(", ") + ".");
  }

  say(text) {
    $("message").textContent = text;
  }

  addControls() {
    const { data, plot } = this;
    for (const key of Object.keys(KINDS)) {
      if (data.columns[key]) $("colour").append(make("option", KINDS[key].name, { value: key }));
    }
    $("colour").append(make("option", "nothing", { value: "" }));
    $("colour").onchange = (event) => this.colourBy(event.target.value);
    data.layouts.forEach((layout, at) => $("embedding").append(make("option", layout.name, { value: at })));
    $("embedding-label").hidden = data.layouts.length < 2;
    $("embedding").onchange = (event) => plot.setPoints(data.layouts[event.target.value].points);
    $("edges").hidden = !data.edges;
    $("edges").onclick = () => {
      plot.showEdges = !plot.showEdges;
      $("edges").setAttribute("aria-pressed", plot.showEdges);
      plot.draw();
    };
    $("lasso").onclick = () => this.setLasso(!this.lassoing);
    const middle = () => [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
    $("zoom-in").onclick = () => plot.zoomAt(1.5, ...middle());
    $("zoom-out").onclick = () => plot.zoomAt(1 / 1.5, ...middle());
    $("reset").onclick = () => plot.home();
    $("search").oninput = () => this.suggest();
    $("search").onchange = () => this.find();
    $("search").onkeydown = (event) => {
      if (event.key === "Enter") this.find();
    };
  }

  setLasso(on) {
    this.lassoing = on;
    $("lasso").setAttribute("aria-pressed", on);
    this.canvas.classList.toggle("lassoing", on);
  }

  // Colours and the legend.

  colourBy(key) {
    this.key = key;
    this.only = null;
    const values = this.data.columns[key], kind = KINDS[key];
    if (!values) {
      this.colourOf = () => [78, 121, 230];
    } else if (kind.named) {
      const few = key === "label" ? this.meta.label.names.length <= this.palette.length : false;
      const first = key === "label" ? 1 : 0;
      const groups = values.reduce((most, value) => Math.max(most, value), 0) + 1;
      const colours = Array.from({ length: groups }, (_, group) => {
        if (group < first) return GREY;
        const index = group - first;
        return few || (groups - first <= this.palette.length) || (key === "community" && index < this.palette.length) ? this.palette[index] : wheel(index);
      });
      this.colourOf = (node) => colours[values[node]];
    } else {
      const scale = kind.logarithmic ? (value) => Math.log1p(value) : (value) => value;
      let low = Infinity, high = -Infinity;
      for (let node = 0; node < values.length; node++) {
        low = Math.min(low, values[node]);
        high = Math.max(high, values[node]);
      }
      this.range = [low, high];
      const span = scale(high) - scale(low) || 1;
      const colours = Array.from({ length: 256 }, (_, step) => ramp(step / 255));
      this.colourOf = (node) => colours[Math.round((255 * (scale(values[node]) - scale(low))) / span)];
    }
    this.paint();
    this.showLegend();
  }

  isShown(node) {
    return this.only === null || this.data.columns[this.key][node] === this.only;
  }

  paint() {
    const { colours, count } = this.plot;
    for (let node = 0, at = 0; node < count; node++) {
      const colour = this.colourOf(node);
      const faint = !this.isShown(node) || (this.selected && !this.selected.has(node));
      colours[at++] = colour[0];
      colours[at++] = colour[1];
      colours[at++] = colour[2];
      colours[at++] = faint ? 22 : this.selected ? 255 : 235;
    }
    this.plot.recolour();
  }

  nameOf(key, value) {
    if (key === "label") return value ? this.meta.label.names[value - 1] : "no label";
    return KINDS[key].named ? KINDS[key].name + " " + value : String(value);
  }

  /** How many of some nodes, or of all, are in each group, the largest first. */
  counts(key, nodes) {
    const values = this.data.columns[key];
    const counts = new Uint32Array(values.reduce((most, value) => Math.max(most, value), 0) + 1);
    if (nodes) for (const node of nodes) counts[values[node]]++;
    else for (let node = 0; node < values.length; node++) counts[values[node]]++;
    const groups = Array.from(counts, (count, value) => [value, count]).filter(([, count]) => count);
    return groups.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  showLegend() {
    const legend = $("legend"), key = this.key;
    legend.replaceChildren();
    if (!this.data.columns[key]) return;
    legend.append(make("h3", KINDS[key].name));
    if (!KINDS[key].named) {
      const bar = make("div", "", { className: "bar-of-ramp" });
      const ends = make("div", "", { className: "ends" });
      const text = (value) => (Number.isInteger(value) ? grouped(value) : value.toPrecision(3));
      ends.append(...this.range.map((value) => make("span", text(value))));
      legend.append(bar, ends);
      return;
    }
    const groups = this.counts(key);
    const list = make("ul");
    for (const [value, count] of groups.slice(0, MOST_NAMED)) {
      const button = make("button", "", { type: "button", title: "show only these" });
      const example = this.data.columns[key].indexOf(value);
      const dot = make("span", "", { className: "dot" });
      dot.style.backgroundColor = "rgb(" + this.colourOf(example).join(" ") + ")";
      button.append(dot, make("span", this.nameOf(key, value), { className: "name" }), make("span", grouped(count), { className: "count" }));
      button.setAttribute("aria-pressed", "false");
      button.onclick = () => this.showOnly(this.only === value ? null : value, button);
      const item = make("li");
      item.append(button);
      list.append(item);
    }
    legend.append(list);
    if (groups.length > MOST_NAMED) legend.append(make("p", "and " + grouped(groups.length - MOST_NAMED) + " more", { className: "note" }));
  }

  showOnly(value, button) {
    this.only = value;
    for (const other of $("legend").querySelectorAll("button")) other.setAttribute("aria-pressed", value !== null && other === button);
    this.paint();
  }

  // The pointer: hover, pan, pinch, lasso.

  addPointer() {
    const { canvas, plot } = this, pointers = new Map();
    let lasso = null, moved = 0;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.onwheel = (event) => {
      event.preventDefault();
      plot.zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
    };
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, place(event));
      moved = 0;
      if ((event.shiftKey || this.lassoing) && pointers.size === 1) lasso = [place(event)];
      else if (pointers.size > 1) lasso = null;
    };
    canvas.onpointermove = (event) => {
      const now = place(event), before = pointers.get(event.pointerId);
      if (!before) return this.hover(...now);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (lasso) {
        lasso.push(now);
        this.outline(lasso);
      } else if (pointers.size === 2) {
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
        plot.zoomAt(far(now) / Math.max(1, far(before)), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      } else {
        plot.pan(now[0] - before[0], now[1] - before[1]);
        canvas.classList.add("moving");
      }
      pointers.set(event.pointerId, now);
    };
    const end = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      canvas.classList.remove("moving");
      if (lasso && lasso.length > 2) this.selectWithin(lasso);
      else if (moved < 4 && event.type === "pointerup") this.mark(this.nodeAt(...place(event)));
      lasso = null;
      this.outline([]);
    };
    canvas.onpointerup = end;
    canvas.onpointercancel = end;
    canvas.onpointerleave = () => {
      if (!pointers.size && this.marked < 0) this.hideTip();
    };
    canvas.ondblclick = (event) => plot.zoomAt(2, ...place(event));
  }

  nodeAt(x, y) {
    const reach = Math.max(8, this.plot.pointSize) / this.plot.unit;
    return this.plot.grid.nearest(...this.plot.toLayout(x, y), reach, (node) => this.isShown(node));
  }

  hover(x, y) {
    const node = this.nodeAt(x, y);
    if (node >= 0) this.showTip(node);
    else if (this.marked >= 0) this.showTip(this.marked);
    else this.hideTip();
  }

  mark(node) {
    this.marked = node;
    if (node >= 0) this.showTip(node);
    else this.hideTip();
  }

  showTip(node) {
    if (this.told !== node) {
      const tip = $("tip"), rows = make("dl");
      const add = (name, value) => rows.append(make("dt", name), make("dd", value));
      for (const key of ["label", "degree", "patch", "community", "spread"]) {
        const values = this.data.columns[key];
        if (!values) continue;
        const value = values[node];
        add(KINDS[key].name, key === "label" ? this.nameOf(key, value) : key === "spread" ? value.toPrecision(3) : grouped(value));
      }
      tip.replaceChildren(make("strong", this.data.id(node)), rows);
      tip.hidden = false;
      this.told = node;
    }
    this.moveTip();
  }

  hideTip() {
    this.told = -1;
    $("tip").hidden = true;
    this.ring(-1);
  }

  moveTip() {
    if (!(this.told >= 0)) return;
    const tip = $("tip"), [x, y] = this.plot.toScreen(this.told);
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const outside = x < 0 || y < 0 || x > width || y > height;
    tip.style.visibility = outside ? "hidden" : "visible";
    tip.style.left = Math.max(4, Math.min(width - tip.offsetWidth - 4, x + 14)) + "px";
    tip.style.top = Math.max(4, Math.min(height - tip.offsetHeight - 4, y + 14)) + "px";
    this.ring(outside ? -1 : this.told);
  }

  ring(node) {
    if (node < 0) return this.outline([]);
    const [x, y] = this.plot.toScreen(node), radius = this.plot.pointSize / 2 + 4;
    $("outline").firstElementChild.setAttribute("d", `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`);
  }

  outline(places) {
    $("outline").firstElementChild.setAttribute("d", places.length ? "M" + places.map((place) => place.join(" ")).join("L") + "Z" : "");
  }

  // Selections.

  selectWithin(lasso) {
    const corners = lasso.map(([x, y]) => this.plot.toLayout(x, y)), { points, count } = this.plot;
    const inside = (x, y) => {
      let is = false;
      for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
        const [xa, ya] = corners[a], [xb, yb] = corners[b];
        if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) is = !is;
      }
      return is;
    };
    const nodes = [];
    for (let node = 0; node < count; node++) {
      if (this.isShown(node) && inside(points[2 * node], points[2 * node + 1])) nodes.push(node);
    }
    this.select(nodes);
  }

  select(nodes) {
    this.selected = nodes.length ? new Set(nodes) : null;
    this.paint();
    const told = $("selection");
    told.replaceChildren();
    if (!nodes.length) return;
    const head = make("p");
    head.append(make("strong", grouped(nodes.length) + (nodes.length === 1 ? " node" : " nodes") + " selected"), " ");
    head.append(make("button", "Clear", { type: "button", onclick: () => this.select([]) }));
    told.append(head);
    if (KINDS[this.key]?.named) {
      const groups = this.counts(this.key, nodes).slice(0, 8);
      told.append(make("p", groups.map(([value, count]) => this.nameOf(this.key, value) + ": " + grouped(count)).join(" · ")));
    }
    const details = make("details"), text = make("textarea", "", { readOnly: true, rows: 6 });
    text.setAttribute("aria-label", "ids of the selected nodes");
    details.append(make("summary", "Their ids"), text);
    details.ontoggle = () => {
      if (details.open && !text.value) text.value = nodes.map((node) => this.data.id(node)).join("\n");
    };
    told.append(details);
  }

  // The search.

  matching(wanted, most) {
    const exact = [], begins = [];
    for (let node = 0; node < this.plot.count && exact.length < most; node++) {
      const id = this.data.id(node);
      if (id === wanted) exact.push(node);
      else if (begins.length < most && id.startsWith(wanted)) begins.push(node);
    }
    return exact.concat(begins).slice(0, most);
  }

  suggest() {
    const wanted = $("search").value;
    const nodes = wanted ? this.matching(wanted, 10) : [];
    $("found").replaceChildren(...nodes.map((node) => make("option", "", { value: this.data.id(node) })));
    $("search").classList.toggle("missing", Boolean(wanted) && !nodes.length);
  }

  find() {
    const wanted = $("search").value;
    if (!wanted) return this.mark(-1);
    const [node] = this.matching(wanted, 1);
    this.say(node === undefined ? "No node here has an id that begins with “" + wanted + "”." : "");
    if (node === undefined) return;
    this.plot.showNode(node);
    this.mark(node);
  }

  // Keys.

  addKeys() {
    const { canvas, plot } = this, middle = () => [canvas.clientWidth / 2, canvas.clientHeight / 2];
    const keys = {
      ArrowLeft: () => plot.pan(60, 0),
      ArrowRight: () => plot.pan(-60, 0),
      ArrowUp: () => plot.pan(0, 60),
      ArrowDown: () => plot.pan(0, -60),
      "+": () => plot.zoomAt(1.3, ...middle()),
      "=": () => plot.zoomAt(1.3, ...middle()),
      "-": () => plot.zoomAt(1 / 1.3, ...middle()),
      0: () => plot.home(),
      Enter: () => this.mark(plot.grid.nearest(plot.view.x, plot.view.y, 1, (node) => this.isShown(node))),
      Escape: () => (this.setLasso(false), this.mark(-1), this.select([])),
    };
    canvas.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    };
  }
}

const start = async () => {
  const meta = JSON.parse($("meta").textContent);
  if (!meta.l2g) return;
  try {
    if (!document.createElement("canvas").getContext("webgl")) throw new Error("this browser has no WebGL");
    if (!window.DecompressionStream) throw new Error("this browser cannot unpack the data");
    window.l2gMap = new Map_(meta, await readData(meta));
  } catch (error) {
    $("canvas").hidden = true;
    $("message").textContent = "The map is a static picture here: " + error.message + ".";
  }
};
start();
