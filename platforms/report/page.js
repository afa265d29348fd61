'use strict';
// Draws each figure's data, and lets readers save data and tables. The tables hold all numbers without it.
(() => {
  const colours = ['#1f77b4', '#e6700a', '#2ca02c', '#d62728', '#9467bd', '#a0695c', '#d65fb2', '#808080', '#a8a000',
                   '#17a2b8'];
  const colour = (index) => colours[index % colours.length];
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const charts = [];

  const units = ['', 'K', 'M', 'G', 'T'];
  const sizeText = (bytes) => {
    let unit = 0;
    while (unit + 1 < units.length && bytes >= 1024) { bytes /= 1024; ++unit; }
    return Number(bytes.toPrecision(4)) + units[unit];
  };

  // Only powers of ten are named on a logarithmic axis.
  const powerText = (value) => Math.abs(Math.log10(value) % 1) < 1e-9 ? String(Number(value.toPrecision(3))) : '';

  function add(parent, name, text, settings = {}) {
    const element = parent.appendChild(document.createElement(name));
    element.textContent = text;
    return Object.assign(element, settings);
  }

  // A line, and behind it the band from the 5th to the 95th percentile of its points.
  function withBand(line) {
    const spread = line.data.filter((point) => point.low != null);
    const edge = (name, more) => Object.assign({
      band: true, borderWidth: 0, pointRadius: 0, pointHitRadius: 0, backgroundColor: line.borderColor + '40',
      data: spread.map((point) => ({x: point.x, y: point[name]})),
    }, more);
    return spread.length ? [line, edge('low', {fill: false}), edge('high', {fill: '-1'})] : [line];
  }

  function curveSets(curve, placeOf) {
    return withBand({
      label: curve.label, borderColor: colour(curve.colour), backgroundColor: colour(curve.colour),
      borderDash: curve.dashed ? [6, 4] : [], borderWidth: 2, pointRadius: curve.dashed ? 0 : 2.5,
      data: curve.points.map(([x, y, low, high]) => ({x: placeOf(x), y, low, high})),
    });
  }

  const valueText = ({y, low, high}, unit) => `${y.toPrecision(5)} ${unit}` +
    (low == null ? '' : ` (${low.toPrecision(5)} to ${high.toPrecision(5)} ${unit})`);

  const sizeAxis = () => ({
    type: 'linear', grid: {}, title: {display: true, text: 'message size, bytes'},
    ticks: {stepSize: 1, callback: (value) => Number.isInteger(value) ? sizeText(2 ** value) : ''},
  });

  // An axis whose ticks are the values that have names: [value, name], ascending.
  const namedAxis = (title, named) => ({
    type: 'linear', bounds: 'data', grid: {}, title: {display: title !== '', text: title},
    ticks: {callback: (_, i) => named[i][1]},
    afterBuildTicks: (scale) => { scale.ticks = named.map(([value]) => ({value})); },
  });

  const valueAxis = (title, logarithmic, beginAtZero) => ({
    type: logarithmic ? 'logarithmic' : 'linear', grid: {}, beginAtZero, title: {display: true, text: title},
    ticks: logarithmic ? {callback: powerText} : {},
  });

  // Lines, of which `nearest` finds the points that are told of: along x, or also along y.
  const lineChart = (datasets, scales, nearest, title, label) => ({
    type: 'line',
    data: {datasets},
    options: {
      parsing: false,
      scales,
      interaction: {mode: 'nearest', axis: nearest, intersect: false},
      plugins: {
        tooltip: {
          filter: (item) => !item.dataset.band,
          callbacks: {title: ([item]) => item ? title(item) : '', label},
        },
      },
    },
  });

  function curves({curves: all, names, unit, logarithmic}) {
    return lineChart(
      all.flatMap((curve) => curveSets(curve, names ? Number : Math.log2)),
      {x: names ? namedAxis('', [...names.entries()]) : sizeAxis(), y: valueAxis(unit, logarithmic, !names)}, 'x',
      ({parsed: {x}}) => names ? names[x] : sizeText(2 ** x),
      ({dataset, raw}) => `${dataset.label}: ${valueText(raw, unit)}`);
  }

  // Lines of a name that is long: all of it is there.
  const inLines = (text) => {
    const lines = [''];
    for (const word of text.split(' ')) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (lines.at(-1) !== '' && longer.length > 56) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    return lines.length > 1 ? lines : text;
  };

  function spans(data) {
    const groups = [...new Set(data.spans.map((span) => span[1]))];
    return {
      type: 'bar',
      data: {
        labels: data.spans.map((span) => span[0]),
        datasets: groups.map((group, index) => ({
          label: group, backgroundColor: colour(index), borderColor: colour(index), grouped: false, minBarLength: 2,
          data: data.spans.map((span) => span[1] === group ? [span[2], span[3]] : null),
        })),
      },
      options: {
        indexAxis: 'y',
        scales: {
          x: {title: {display: true, text: data.unit}, grid: {}, ticks: {}, beginAtZero: true},
          y: {title: {}, grid: {}, ticks: {autoSkip: false, callback: (_, i) => inLines(data.spans[i][0])}},
        },
        plugins: {
          tooltip: {
            callbacks: {label: (item) => `${item.dataset.label}: ${item.raw.map((t) => t.toFixed(3)).join(' to ')} ` +
                                         data.unit},
          },
        },
      },
    };
  }

  // "64K" as 65536; text that is no number stays text.
  function numberOf(text) {
    const found = /^([0-9.]+)([KMGT]?)$/.exec(text);
    return found ? Number(found[1]) * 1024 ** units.indexOf(found[2]) : NaN;
  }

  // The curves that the controls ask for: along one axis, one for each value of another. What is left has one value, or
  // the one with the least time.
  function chosenCurves(data, chosen) {
    const best = new Map();
    for (const [values, numbers] of data.rows) {
      if (!values.every((value, axis) => chosen.fixed[axis] === undefined || chosen.fixed[axis] === value)) continue;
      const curve = chosen.curves < 0 ? 0 : values[chosen.curves];
      const key = `${curve} ${values[chosen.along]}`;
      const known = best.get(key);
      if (!known || numbers[0][0] < known.numbers[0][0]) best.set(key, {curve, x: values[chosen.along], values, numbers});
    }
    const axis = data.axes[chosen.along];
    const numbers = axis.values.map(numberOf);
    const sizes = numbers.every((value) => value > 0) && axis.values.length > 1;
    const curves = new Map();
    for (const {curve, x, values, numbers: all} of best.values()) {
      const [y, low, high] = all[chosen.quantity];
      if (!curves.has(curve)) curves.set(curve, []);
      const said = data.axes.map(({name, values: names}, i) => `${name} ${names[values[i]]}`).join(', ');
      curves.get(curve).push({x: sizes ? Math.log2(numbers[x]) : x, y, low, high, said});
    }
    return {sizes, curves: [...curves].sort(([a], [b]) => a - b)};
  }

  function exploring(data, chosen) {
    const {sizes, curves: all} = chosenCurves(data, chosen);
    const axis = data.axes[chosen.along];
    const quantity = data.quantities[chosen.quantity];
    const named = axis.values.map((text, i) => [sizes ? Math.log2(numberOf(text)) : i, text]).sort(([a], [b]) => a - b);
    const sets = all.flatMap(([curve, points]) => withBand({
      label: chosen.curves < 0 ? quantity.name : `${data.axes[chosen.curves].name} ${data.axes[chosen.curves].values[curve]}`,
      borderColor: colour(curve), backgroundColor: colour(curve), borderWidth: 2, pointRadius: 3,
      data: points.sort((a, b) => a.x - b.x),
    }));
    const scales = {x: namedAxis(axis.name, named), y: valueAxis(`${quantity.name}, ${quantity.unit}`, true, false)};
    return lineChart(sets, scales, 'xy', ({raw}) => raw.said, ({raw}) => valueText(raw, quantity.unit));
  }

  // A choice for each axis of a study, and what is shown of it.
  function addChoices(figure, data, redraw) {
    const chosen = {quantity: 0, along: data.along, curves: data.curves, fixed: {}};
    const choices = document.createElement('div');
    choices.className = 'choices';
    figure.querySelector('.chart').before(choices);
    const choose = (text, names, value, change) => {
      const select = document.createElement('select');
      names.forEach(([number, name]) => add(select, 'option', name, {value: number, selected: number === value}));
      select.addEventListener('change', () => { change(Number(select.value)); show(); });
      add(choices, 'label', `${text} `).append(select);
    };
    const BEST = -1;
    function show() {
      const used = [...choices.querySelectorAll('select')].indexOf(document.activeElement);
      choices.replaceChildren();
      const axes = data.axes.map(({name}, i) => [i, name]);
      choose('show', data.quantities.map(({name}, i) => [i, name]), chosen.quantity, (i) => { chosen.quantity = i; });
      choose('along', axes, chosen.along, (i) => { chosen.along = i; });
      choose('a curve for each', [[-1, 'nothing'], ...axes], chosen.curves, (i) => { chosen.curves = i; });
      for (const [i, name] of axes) {
        delete chosen.fixed[i];
        if (i === chosen.along || i === chosen.curves) continue;
        const value = data.axes[i].chosen ?? (data.axes[i].best ? BEST : 0);
        if (value !== BEST) chosen.fixed[i] = value;
        choose(name, [[BEST, 'the fastest'], ...data.axes[i].values.map((text, v) => [v, text])], value,
               (v) => { data.axes[i].chosen = v; });
      }
      choices.querySelectorAll('select')[used]?.focus();  // who chooses by keys goes on there
      redraw(exploring(data, chosen));
    }
    show();
  }

  // A button for each curve, which keys reach, in place of Chart.js's own legend.
  function addKeys(figure, chart) {
    const keys = document.createElement('div');
    keys.className = 'keys';
    figure.querySelector('.chart').before(keys);
    chart.data.datasets.forEach((set, index) => {
      if (set.band) return;
      const key = add(keys, 'button', set.label, {type: 'button', className: set.borderDash?.length ? 'dashed' : ''});
      key.style.setProperty('--colour', set.borderColor);
      key.setAttribute('aria-pressed', 'true');
      key.addEventListener('click', () => {
        const shown = !chart.isDatasetVisible(index);
        chart.setDatasetVisibility(index, shown);
        for (let band = index + 1; chart.data.datasets[band]?.band; ++band) chart.setDatasetVisibility(band, shown);
        key.setAttribute('aria-pressed', String(shown));
        chart.update();
      });
    });
  }

  function chartOf(figure, config) {
    Object.assign(config.options, {animation: false, responsive: true, maintainAspectRatio: false});
    config.options.plugins.legend = {display: false};
    const chart = new Chart(figure.querySelector('canvas'), config);
    charts.push(chart);
    figure.querySelector('.keys')?.remove();
    addKeys(figure, chart);
    return chart;
  }

  function explore(figure, data) {
    let chart;
    addChoices(figure, data, (config) => {
      if (chart) charts.splice(charts.indexOf(chart), 1)[0].destroy();
      chart = chartOf(figure, config);
      paint();
    });
  }

  function draw(figure) {
    const data = JSON.parse(figure.querySelector('script.data').textContent);
    if (data.kind === 'explorer') return explore(figure, data);
    const config = data.kind === 'spans' ? spans(data) : curves(data);
    if (data.kind === 'spans') figure.querySelector('.chart').style.height = `${6 + 1.5 * data.spans.length}rem`;
    chartOf(figure, config);
  }

  function paint() {
    for (const chart of charts) {
      for (const axis of Object.values(chart.options.scales)) {
        axis.grid.color = style('--line');
        axis.ticks.color = axis.title.color = style('--text');
      }
      chart.update();
    }
  }

  function save(name, type, content) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([content], {type}));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  const csvCell = (cell) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  const csv = (table) => [...table.rows]
    .map((row) => [...row.cells].map((cell) => csvCell(cell.textContent)).join(',') + '\n').join('');

  for (const canvas of document.querySelectorAll('canvas')) draw(canvas.closest('figure'));
  document.querySelectorAll('figure table').forEach((table, index) => {
    add(table.closest('details'), 'button', 'Save the table as CSV', {type: 'button'})
      .addEventListener('click', () => save(`table-${index + 1}.csv`, 'text/csv', csv(table)));
  });
  for (const file of document.querySelectorAll('script.file')) {
    add(document.querySelector('.files'), 'button', `Save ${file.dataset.name}`, {type: 'button'})
      .addEventListener('click', () => save(file.dataset.name, 'application/json', JSON.parse(file.textContent)));
  }
  paint();
  for (const query of ['(prefers-color-scheme: dark)', 'print']) matchMedia(query).addEventListener('change', paint);
  // What is closed is not printed.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener('afterprint', () => closed.forEach((details) => { details.open = false; }));
})();
