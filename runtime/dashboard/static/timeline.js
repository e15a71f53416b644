// A timeline on a canvas: wheel zooms around the pointer, drag moves, double click shows everything.
'use strict';

(async () => {
  const canvas = document.getElementById('timeline'), under = document.getElementById('under');
  let data;
  try {
    const answer = await fetch(canvas.dataset.source);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    data = await answer.json();
  } catch (error) {
    under.textContent = `the timeline cannot be loaded (${error.message}); load this page again`;
    return;
  }
  const ROW = 22, LEFT = 110, AXIS = 22, pen = canvas.getContext('2d');
  const tracks = data.tracks.map(([name, flat]) => ({name, flat}));
  let from = 0, to = Math.max(1, data.cycles), width = 1, marked = null;

  // Waiting is warm, moving green, work blue; everything else has a colour of its operator.
  const KNOWN = {
    compute: '#8ab4e8', transfer: '#86c9a6', hazard_nop: '#cdd3da', wait_dram: '#ea9a76', wait_latency: '#f3c795',
    wait_notice: '#f0d9a8', wait_port: '#e5b0a0', wait_step: '#e9d0c5', mv_issue: '#d9c2ea', drain: '#c3b3a6',
  };
  const colours = data.names.map(name => {
    if (KNOWN[name]) return KNOWN[name];
    if (name.startsWith('wait_')) return '#eec9a0';
    let hash = 7;
    for (const sign of name.split(/[( ]/, 1)[0]) hash = (hash * 31 + sign.codePointAt(0)) >>> 0;
    return `hsl(${hash % 360} ${50 + hash % 3 * 10}% ${68 + hash % 2 * 8}%)`;
  });
  const x = cycle => LEFT + (cycle - from) / (to - from) * (width - LEFT);
  const cycleAt = pixel => from + (pixel - LEFT) / (width - LEFT) * (to - from);
  const count = number => Math.round(number).toLocaleString('en');

  // The first slice that ends behind a cycle; slices of a track are in order.
  const firstFrom = (flat, cycle) => {
    let low = 0, high = flat.length / 3;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (flat[3 * middle] + flat[3 * middle + 1] <= cycle) low = middle + 1; else high = middle;
    }
    return 3 * low;
  };

  const label = (name, left, right, y) => {
    const room = Math.floor((right - left - 8) / 6.7);
    if (room < 4) return;
    const arrow = name.lastIndexOf(' -> ('), plain = arrow > 0
      ? `${name.slice(0, name.indexOf('('))} → ${name.slice(arrow + 5, -1)}` : name;
    pen.fillStyle = '#16222f';
    pen.fillText(plain.length <= room ? plain : `${plain.slice(0, room - 1)}…`, left + 4, y);
  };

  const axis = (text, line, bottom) => {
    const rough = (to - from) / Math.max(2, (width - LEFT) / 110), power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max(1, [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough));
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      const at = x(tick);
      pen.fillStyle = line;
      pen.fillRect(Math.round(at), 0, 1, bottom + 4);
      pen.fillStyle = text;
      const shown = count(tick);
      if (at + 7 * shown.length < width) pen.fillText(shown, at + 3, bottom + 15);
    }
  };

  const draw = () => {
    width = canvas.clientWidth;
    const ratio = window.devicePixelRatio || 1, bottom = ROW * tracks.length, height = bottom + AXIS;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height}px`;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue('--muted'), line = style.getPropertyValue('--line');
    pen.font = '11px ui-monospace,monospace';
    tracks.forEach((_, row) => {
      pen.fillStyle = style.getPropertyValue(row % 2 ? '--soft' : '--card');
      pen.fillRect(0, row * ROW, width, ROW);
    });
    axis(text, line, bottom);
    tracks.forEach(({flat}, row) => {
      let drawn = -1;
      for (let at = firstFrom(flat, from); at < flat.length && flat[at] <= to; at += 3) {
        const start = Math.max(LEFT, x(flat[at])), end = x(flat[at] + flat[at + 1]);
        if (end - drawn < 0.5) continue;  // several slices in one pixel look like one
        drawn = end;
        pen.fillStyle = colours[flat[at + 2]];
        pen.fillRect(start, row * ROW + 2, Math.max(0.8, end - start - 0.5), ROW - 4);
        label(data.names[flat[at + 2]], start, Math.min(end, width), row * ROW + 15);
      }
    });
    if (marked) {
      pen.strokeStyle = style.getPropertyValue('--copy');
      pen.lineWidth = 2;
      pen.strokeRect(x(marked.start), 1, Math.max(1, x(marked.start + marked.cycles) - x(marked.start)), bottom);
    }
    tracks.forEach(({name}, row) => {
      pen.fillStyle = style.getPropertyValue(row % 2 ? '--soft' : '--card');
      pen.fillRect(0, row * ROW, LEFT - 1, ROW);
      pen.fillStyle = text;
      pen.fillText(name.length > 15 ? `${name.slice(0, 14)}…` : name, 6, row * ROW + 15);
    });
    pen.fillStyle = style.getPropertyValue('--card');
    pen.fillRect(0, bottom, LEFT - 1, AXIS);
    pen.fillStyle = text;
    pen.fillText('cycle', 6, bottom + 15);
  };

  const show = (start, end) => {
    const length = Math.min(Math.max(end - start, 8), Math.max(8, data.cycles));
    from = Math.max(0, Math.min(start, data.cycles - length));
    to = from + length;
    draw();
  };

  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const middle = cycleAt(event.offsetX), factor = event.deltaY > 0 ? 1.25 : 0.8;
    show(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }, {passive: false});
  let grabbed = null;
  canvas.addEventListener('pointerdown', event => { grabbed = event.offsetX; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener('pointerup', () => { grabbed = null; });
  canvas.addEventListener('pointermove', event => {
    if (grabbed !== null) {
      const moved = cycleAt(grabbed) - cycleAt(event.offsetX);
      grabbed = event.offsetX;
      show(from + moved, to + moved);
      return;
    }
    const track = tracks[Math.floor(event.offsetY / ROW)];
    if (!track) return;
    const cycle = cycleAt(event.offsetX), at = firstFrom(track.flat, cycle);
    if (at < track.flat.length && track.flat[at] <= cycle) {
      const cycles = track.flat[at + 1];
      under.textContent = `${track.name}: ${data.names[track.flat[at + 2]]}, cycle ${count(track.flat[at])}, ` +
        `${count(cycles)} cycles, ${(cycles / data.clock).toFixed(3)} µs`;
    }
  });
  canvas.addEventListener('dblclick', () => { marked = null; show(0, data.cycles); });
  for (const row of document.querySelectorAll('#slowest tbody tr')) {
    row.addEventListener('click', () => {
      for (const other of document.querySelectorAll('#slowest [aria-selected]')) other.removeAttribute('aria-selected');
      row.setAttribute('aria-selected', 'true');
      marked = {start: Number(row.dataset.start), cycles: Number(row.dataset.cycles)};
      show(marked.start - marked.cycles / 4, marked.start + marked.cycles * 1.25);
      canvas.scrollIntoView({block: 'nearest'});
    });
  }
  window.addEventListener('resize', draw);
  draw();
  canvas.dataset.ready = String(tracks.length);
})();
