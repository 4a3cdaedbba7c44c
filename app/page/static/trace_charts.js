// The trace as charts: what is counted, and below it what else each sweep has, on one axis of sweeps.

const DASHES = [[], [7, 2], [3, 2], [9, 2, 2, 2], [1.5, 2], [12, 3], [6, 2, 2, 2, 2, 2], [4, 4]]; // as in plots.css
const TALL = 260;
const LOW = 130;
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000];
const AXIS = 74; // pixels beside a chart, the same for all, so that sweeps stand below each other

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
      const options = optionsOf(quantity, traces, facts, look, this.place.clientWidth, i ? LOW : TALL);
      return new window.uPlot(options, dataOf(traces, quantity.name, facts.every), this.place);
    });
  }

  // The same charts with more draws.
  update(traces, quantities, facts) {
    this.charts.forEach((chart, i) => chart.setData(dataOf(traces, quantities[i].name, facts.every)));
  }

  resize() {
    const width = this.place.clientWidth;
    for (const chart of this.charts) if (width && chart.width !== width) chart.setSize({ width, height: chart.height });
  }
}

// One column of sweeps, and the values of each chain beside it; null where a chain has not come that far.
function dataOf(traces, name, every) {
  const n = Math.max(0, ...traces.map((trace) => trace.sweeps.at(-1) ?? 0)) / every;
  const sweeps = Array.from({ length: n }, (_, i) => (i + 1) * every);
  const columns = traces.map((trace) => {
    const column = new Array(n).fill(null);
    trace.sweeps.forEach((sweep, i) => (column[sweep / every - 1] = trace[name][i]));
    return column;
  });
  return [sweeps, ...columns];
}

function optionsOf(quantity, traces, facts, look, width, height) {
  const axis = { stroke: look.muted, grid: { stroke: look.line, width: 1 }, ticks: { stroke: look.line, width: 1 }, font: look.font };
  const written = new Intl.NumberFormat("en", { maximumFractionDigits: quantity.counts ? 0 : 4, maximumSignificantDigits: quantity.counts ? undefined : 6 });
  return {
    width,
    height,
    cursor: { sync: { key: "trace" }, points: { size: 7 }, drag: { x: true, y: false } },
    legend: { live: true },
    scales: {
      x: { time: false, range: () => [facts.every, facts.sweeps + 1] },
      y: { range: quantity.counts ? wholeRange : roomyRange },
    },
    axes: [
      { ...axis, incrs: COUNTS, label: "sweep", labelFont: look.font, labelSize: 18, size: 34 },
      { ...axis, ...(quantity.counts ? { incrs: COUNTS } : {}), label: quantity.label, labelFont: look.font, labelSize: 20,
        size: AXIS - 20, values: (_, marks) => marks.map((mark) => compact(mark, quantity.counts)) },
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
    hooks: { drawClear: [(chart) => paintGround(chart, facts, look)] },
  };
}

// Whole numbers have half a step of room; a single one is not stretched over the whole height.
function wholeRange(_, low, high) {
  return low === null ? [0, 1] : [Math.max(0, low - 1), high + 1];
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

// The ground, which a saved picture needs, and the burn-in: a sweep's value holds until the next one.
function paintGround(chart, facts, look) {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.fillStyle = look.surface;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  if (facts.burnIn >= facts.every) {
    const end = Math.min(chart.valToPos(facts.burnIn + 1, "x", true), bbox.left + bbox.width);
    ctx.fillStyle = look.shade;
    ctx.fillRect(bbox.left, bbox.top, end - bbox.left, bbox.height);
    ctx.font = look.font.replace(/(\d+)px/, (_, size) => `${size * window.devicePixelRatio}px`);
    ctx.fillStyle = look.muted;
    const padding = 6 * window.devicePixelRatio;
    if (ctx.measureText("burn-in").width + 2 * padding < end - bbox.left) {
      ctx.textBaseline = "top";
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
  const found = {
    surface: colour("surface"), muted: colour("muted"), line: colour("line"), shade: colour("shade"),
    chains: Array.from({ length: Math.min(nChains, DASHES.length) }, (_, i) => colour(`chain-${i}`)),
    font: `12px ${window.getComputedStyle(place).fontFamily}`,
  };
  probe.remove();
  return found;
}
