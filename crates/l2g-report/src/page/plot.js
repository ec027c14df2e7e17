// A scatter plot in WebGL: points, edges, zoom, pan and the way between two layouts. No library.

const SHADERS = {
  points: [
    `attribute vec2 from; attribute vec2 to; attribute vec4 colour;
     uniform vec2 scale; uniform vec2 middle; uniform float way; uniform mediump float size;
     varying vec4 shade;
     void main() {
       vec2 place = mix(from, to, way);
       gl_Position = vec4((place - middle) * scale, 0.0, 1.0);
       gl_PointSize = size * (colour.a > 0.95 ? 1.35 : 1.0);
       shade = colour;
     }`,
    `precision mediump float; varying vec4 shade; uniform mediump float size; uniform float strength;
     void main() {
       float away = length(gl_PointCoord - 0.5) * 2.0;
       float edge = size > 2.5 ? 1.0 - smoothstep(1.0 - 2.5 / size, 1.0, away) : 1.0;
       gl_FragColor = vec4(shade.rgb, 1.0) * (shade.a * strength * edge);
     }`,
  ],
  lines: [
    `attribute vec2 from; attribute vec2 to; uniform vec2 scale; uniform vec2 middle; uniform float way;
     void main() { gl_Position = vec4((mix(from, to, way) - middle) * scale, 0.0, 1.0); }`,
    `precision mediump float; uniform vec4 line; void main() { gl_FragColor = line; }`,
  ],
};

const compile = (gl, [vertex, fragment]) => {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
  const names = ["scale", "middle", "way", "size", "strength", "line"];
  const places = Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)]));
  const at = (name) => gl.getAttribLocation(program, name);
  return { program, places, from: at("from"), to: at("to"), colour: at("colour") };
};

/** Finds the node nearest to a place: nodes counted into cells. */
class Grid {
  constructor(points) {
    this.points = points;
    const count = points.length / 2;
    this.side = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(count / 4))));
    this.starts = new Uint32Array(this.side * this.side + 1);
    const cells = new Uint32Array(count);
    for (let node = 0; node < count; node++) {
      cells[node] = this.cell(points[2 * node]) + this.side * this.cell(points[2 * node + 1]);
      this.starts[cells[node] + 1]++;
    }
    for (let cell = 0; cell < this.side * this.side; cell++) this.starts[cell + 1] += this.starts[cell];
    const next = this.starts.slice();
    this.nodes = new Uint32Array(count);
    for (let node = 0; node < count; node++) this.nodes[next[cells[node]]++] = node;
  }

  cell(x) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(x * this.side)));
  }

  nearest(x, y, reach, isShown) {
    let best = -1, nearest = reach * reach;
    for (let row = this.cell(y - reach); row <= this.cell(y + reach); row++) {
      for (let column = this.cell(x - reach); column <= this.cell(x + reach); column++) {
        const cell = column + this.side * row;
        for (let at = this.starts[cell]; at < this.starts[cell + 1]; at++) {
          const node = this.nodes[at];
          const far = (this.points[2 * node] - x) ** 2 + (this.points[2 * node + 1] - y) ** 2;
          if (far < nearest && isShown(node)) [best, nearest] = [node, far];
        }
      }
    }
    return best;
  }
}

class Plot {
  constructor(canvas, points, edges) {
    const gl = canvas.getContext("webgl", { antialias: true, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("there is no WebGL");
    Object.assign(this, { canvas, gl, edges, count: points.length / 2, showEdges: false, way: 1 });
    this.shaders = { points: compile(gl, SHADERS.points), lines: compile(gl, SHADERS.lines) };
    this.buffers = { from: gl.createBuffer(), to: gl.createBuffer(), colour: gl.createBuffer(), edges: [gl.createBuffer(), gl.createBuffer()] };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.colours = new Uint8Array(4 * this.count);
    this.setPoints(points);
    this.home();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  fill(buffer, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.STATIC_DRAW);
  }

  /** Shows other points; nodes move there, unless people would rather not see movement. */
  setPoints(points) {
    const before = this.points || points;
    this.fill(this.buffers.from, before);
    this.fill(this.buffers.to, points);
    if (this.edges) {
      const ends = (of) => Float32Array.from({ length: 2 * this.edges.length }, (_, at) => of[2 * this.edges[at >> 1] + (at & 1)]);
      this.fill(this.buffers.edges[0], ends(before));
      this.fill(this.buffers.edges[1], ends(points));
    }
    this.points = points;
    this.grid = new Grid(points);
    const still = before === points || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = performance.now();
    const move = () => {
      this.way = still ? 1 : Math.min(1, (performance.now() - begin) / 700);
      this.draw();
      if (this.way < 1) requestAnimationFrame(move);
    };
    move();
  }

  /** Takes over `colours` after it was changed. */
  recolour() {
    this.fill(this.buffers.colour, this.colours);
    this.draw();
  }

  home() {
    this.view = { x: 0.5, y: 0.5, zoom: 0.94 };
    this.draw();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    this.draw();
  }

  /** How many CSS pixels one unit of the layout is. */
  get unit() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) * this.view.zoom;
  }

  toLayout(x, y) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return [this.view.x + (x - width / 2) / this.unit, this.view.y - (y - height / 2) / this.unit];
  }

  toScreen(node) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const [x, y] = [this.points[2 * node], this.points[2 * node + 1]];
    return [width / 2 + (x - this.view.x) * this.unit, height / 2 - (y - this.view.y) * this.unit];
  }

  /** Zooms about a place of the screen, which stays where it is. */
  zoomAt(factor, x, y) {
    const before = this.toLayout(x, y);
    this.view.zoom = Math.max(0.3, Math.min(2000, this.view.zoom * factor));
    const after = this.toLayout(x, y);
    this.view.x += before[0] - after[0];
    this.view.y += before[1] - after[1];
    this.draw();
  }

  pan(dx, dy) {
    this.view.x -= dx / this.unit;
    this.view.y += dy / this.unit;
    this.draw();
  }

  showNode(node) {
    Object.assign(this.view, { x: this.points[2 * node], y: this.points[2 * node + 1], zoom: Math.max(this.view.zoom, 4) });
    this.draw();
  }

  /** The diameter of a point in CSS pixels: smaller for more nodes, larger when zoomed in. */
  get pointSize() {
    const base = Math.max(1.1, Math.min(7, 300 / Math.sqrt(this.count)));
    return Math.min(18, base * Math.sqrt(Math.max(0.7, this.view.zoom)));
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.drawNow();
      if (this.onDraw) this.onDraw();
    });
  }

  drawNow() {
    const { gl, canvas, buffers } = this;
    const ratio = canvas.width / Math.max(1, canvas.clientWidth);
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const scale = [(2 * this.unit) / canvas.clientWidth, (2 * this.unit) / canvas.clientHeight];
    const use = ({ program, places, from, to }, first, second) => {
      gl.useProgram(program);
      gl.uniform2fv(places.scale, scale);
      gl.uniform2f(places.middle, this.view.x, this.view.y);
      gl.uniform1f(places.way, this.way * this.way * (3 - 2 * this.way));
      for (const [place, buffer] of [[from, first], [to, second]]) {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, 2, gl.FLOAT, false, 0, 0);
      }
    };
    if (this.edges && this.showEdges) {
      const { lines } = this.shaders;
      use(lines, buffers.edges[0], buffers.edges[1]);
      const strength = Math.min(0.35, 0.05 + 400 / this.edges.length);
      gl.uniform4f(lines.places.line, 0.5 * strength, 0.53 * strength, 0.58 * strength, strength);
      gl.drawArrays(gl.LINES, 0, this.edges.length);
    }
    const { points } = this.shaders;
    use(points, buffers.from, buffers.to);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers.colour);
    gl.enableVertexAttribArray(points.colour);
    gl.vertexAttribPointer(points.colour, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    const size = this.pointSize;
    gl.uniform1f(points.places.size, Math.max(1, size * ratio));
    gl.uniform1f(points.places.strength, Math.max(0.25, Math.min(0.9, (0.9 * 60000 * this.view.zoom) / this.count)));
    gl.drawArrays(gl.POINTS, 0, this.count);
    gl.disableVertexAttribArray(points.colour);
  }
}
