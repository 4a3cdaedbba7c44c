// The trace as charts: what is counted, and below it what else each sweep has, on one axis of sweeps.

const DASHES = [[], [7, 2], [3, 2], [9, 2, 2, 2], [1.5, 2], [12, 3], [6, 2, 2, 2, 2, 2], [4, 4]]; // as in plots.css
const TALL = 260;
const LOW = 170;
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000];
const AXIS = 60; // pixels beside a chart, the same for all, so that sweeps stand below each other
const HEAD = 24; // above it, for its name

// `traces` are {chain, sweeps, ...} with an array a quantity; `quantities` are [{name, label, counts}], the first large.
export class TraceCharts {
  constructor(place) {
    this.place = place;
    this.charts = [];
    new ResizeObserver(() => this.resize()).observe(place);
  }

  // Begin again: with other quantities or chains, or in other colours.
  build(traces, quantities, facts) {
    this.charts.forEach((chart) => chart.destroy());
    const look = lookOf(this.place, traces.length);
    this.charts = quantities.map((quantity, i) => {
      const size = { width: this.place.clientWidth, height: i ? LOW : TALL };
      const options = optionsOf(quantity, traces, facts, look, size, i === quantities.length - 1);
      return new window.uPlot(options, dataOf(traces, quantity, facts.every), this.place);
    });
  }

  // The same charts with more draws.
  update(traces, quantities, facts) {
    this.charts.forEach((chart, i) => chart.setData(dataOf(traces, quantities[i], facts.every)));
  }

  resize() {
    const width = this.place.clientWidth;
    for (const chart of this.charts) if (width && chart.width !== width) chart.setSize({ width, height: chart.height });
  }
}

// One column of sweeps, and the values of each chain beside it; null where a chain has not come that far. Chains often
// have equal counts, so their lines stand a little apart: less than a tenth of a category.
function dataOf(traces, quantity, every) {
  const n = Math.max(0, ...traces.map((trace) => trace.sweeps.at(-1) ?? 0)) / every;
  const sweeps = Array.from({ length: n }, (_, i) => (i + 1) * every);
  const apart = quantity.counts ? Math.min(0.07, 0.4 / traces.length) : 0;
  const columns = traces.map((trace, chain) => {
    const column = new Array(n).fill(null);
    const shift = apart * (chain - (traces.length - 1) / 2);
    trace.sweeps.forEach((sweep, i) => {
      const value = trace[quantity.name][i];
      column[sweep / every - 1] = value === null ? null : value + shift;
    });
    return column;
  });
  return [sweeps, ...columns];
}

function optionsOf(quantity, traces, facts, look, size, isLast) {
  const axis = { stroke: look.muted, grid: { stroke: look.line, width: 1 }, ticks: { stroke: look.line, width: 1 }, font: look.font };
  const written = new Intl.NumberFormat("en", quantity.counts ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 6 });
  return {
    ...size,
    padding: [HEAD, 26, 0, 0],
    cursor: { sync: { key: "trace" }, points: { size: 7 }, drag: { x: true, y: false } },
    legend: { live: true },
    scales: {
      x: { time: false, range: () => [1, facts.sweeps + 1] },
      y: { range: quantity.counts ? wholeRange : roomyRange },
    },
    axes: [
      { ...axis, incrs: COUNTS, size: 30, ...(isLast ? { label: "sweep", labelFont: look.font, labelSize: 18 } : {}) },
      { ...axis, ...(quantity.counts ? { incrs: COUNTS } : {}), size: AXIS, space: 24,
        values: (_, marks) => marks.map((mark) => compact(mark, quantity.counts)) },
    ],
    series: [
      { label: "sweep" },
      ...traces.map((trace, i) => ({
        label: `chain ${trace.chain}`,
        stroke: look.chains[i % look.chains.length],
        dash: DASHES[i % DASHES.length],
        width: 1.75,
        points: { show: false },
        paths: window.uPlot.paths.stepped({ align: 1 }),
        value: (_, value) => (value === null || value === undefined ? "–" : written.format(value)),
      })),
    ],
    hooks: { drawClear: [(chart) => paintGround(chart, quantity.label, facts, look)] },
  };
}

// Whole numbers have half a step of room; a single one is not stretched over the whole height.
function wholeRange(_, low, high) {
  return low === null ? [0, 1] : [Math.max(0, Math.round(low) - 1), Math.round(high) + 1];
}

function roomyRange(_, low, high) {
  if (low === null) return [0, 1];
  const room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
  return [low - room, high + room];
}

function compact(value, counts) {
  const size = Math.abs(value);
  if (counts || size < 10000) return new Intl.NumberFormat("en", { maximumSignificantDigits: 5 }).format(value);
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 5 }).format(value);
}

// The ground, which a saved picture needs, the name, and the burn-in: a sweep's value holds until the next one.
function paintGround(chart, name, facts, look) {
  const { ctx, bbox } = chart;
  const ratio = window.devicePixelRatio;
  const font = (weight) => `${weight} ${12 * ratio}px ${look.family}`;
  ctx.save();
  ctx.fillStyle = look.surface;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  Object.assign(ctx, { font: font(600), fillStyle: look.ink, textAlign: "left", textBaseline: "top" });
  ctx.fillText(name, bbox.left, bbox.top - (HEAD - 4) * ratio);
  if (facts.burnIn > 0) {
    const end = Math.min(chart.valToPos(facts.burnIn + 1, "x", true), bbox.left + bbox.width);
    ctx.fillStyle = look.shade;
    ctx.fillRect(bbox.left, bbox.top, end - bbox.left, bbox.height);
    Object.assign(ctx, { font: font(400), fillStyle: look.muted });
    const padding = 6 * ratio;
    if (ctx.measureText("burn-in").width + 2 * padding < end - bbox.left) {
      ctx.fillText("burn-in", bbox.left + padding, bbox.top + padding);
    }
  }
  ctx.restore();
}

// The colours of the style sheet as they are now: a canvas knows no custom properties.
function lookOf(place, nChains) {
  const probe = document.createElement("span");
  place.append(probe);
  const colour = (name) => {
    probe.className = `ink-${name}`;
    return window.getComputedStyle(probe).color;
  };
  const family = window.getComputedStyle(place).fontFamily;
  const found = {
    ink: colour("ink"), surface: colour("surface"), muted: colour("muted"), line: colour("line"), shade: colour("shade"),
    chains: Array.from({ length: Math.min(nChains, DASHES.length) }, (_, i) => colour(`chain-${i}`)),
    family, font: `12px ${family}`,
  };
  probe.remove();
  return found;
}
