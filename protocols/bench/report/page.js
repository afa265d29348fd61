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

  // Of a logarithmic axis only powers of ten are named.
  const powerText = (value) => Math.abs(Math.log10(value) % 1) < 1e-9 ? String(Number(value.toPrecision(3))) : '';

  function add(parent, name, text, settings = {}) {
    const element = parent.appendChild(document.createElement(name));
    element.textContent = text;
    return Object.assign(element, settings);
  }

  // A curve, and behind it the band from its 5th to its 95th percentile.
  function curveSets(curve) {
    const line = {
      label: curve.label, borderColor: colour(curve.colour), backgroundColor: colour(curve.colour),
      borderDash: curve.dashed ? [6, 4] : [], borderWidth: 2, pointRadius: curve.dashed ? 0 : 2.5,
      data: curve.points.map(([x, y, low, high]) => ({x: Math.log2(x), y, low, high})),
    };
    const spread = curve.points.filter((point) => point[2] !== null);
    const edge = (index, more) => Object.assign({
      band: true, borderWidth: 0, pointRadius: 0, pointHitRadius: 0, backgroundColor: colour(curve.colour) + '40',
      data: spread.map((point) => ({x: Math.log2(point[0]), y: point[index]})),
    }, more);
    return spread.length ? [line, edge(2, {fill: false}), edge(3, {fill: '-1'})] : [line];
  }

  function spreadText(point, unit) {
    return point.low == null ? '' : ` (${point.low.toPrecision(5)} to ${point.high.toPrecision(5)} ${unit})`;
  }

  function curves(data) {
    return {
      type: 'line',
      data: {datasets: data.curves.flatMap(curveSets)},
      options: {
        parsing: false,
        interaction: {mode: 'nearest', axis: 'x', intersect: false},
        scales: {
          x: {
            type: 'linear', grid: {}, title: {display: true, text: 'message size, bytes'},
            ticks: {stepSize: 1, callback: (value) => Number.isInteger(value) ? sizeText(2 ** value) : ''},
          },
          y: {
            type: data.logarithmic ? 'logarithmic' : 'linear', grid: {}, beginAtZero: true,
            ticks: data.logarithmic ? {callback: powerText} : {},
            title: {display: true, text: data.unit},
          },
        },
        plugins: {
          tooltip: {
            filter: (item) => !item.dataset.band,
            callbacks: {
              title: (items) => items.length ? sizeText(2 ** items[0].parsed.x) : '',
              label: (item) => `${item.dataset.label}: ${item.raw.y.toPrecision(5)} ${data.unit}` +
                               spreadText(item.raw, data.unit),
            },
          },
        },
      },
    };
  }

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
          y: {title: {}, grid: {}, ticks: {autoSkip: false}},
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

  function draw(figure) {
    const data = JSON.parse(figure.querySelector('script.data').textContent);
    const config = data.kind === 'spans' ? spans(data) : curves(data);
    if (data.kind === 'spans') figure.querySelector('.chart').style.height = `${6 + 1.5 * data.spans.length}rem`;
    Object.assign(config.options, {animation: false, responsive: true, maintainAspectRatio: false});
    config.options.plugins.legend = {display: false};
    const chart = new Chart(figure.querySelector('canvas'), config);
    charts.push(chart);
    addKeys(figure, chart);
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
