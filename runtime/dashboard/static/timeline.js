// A timeline on a canvas: wheel zooms around the pointer, drag moves, double click shows everything.
'use strict';

(async () => {
  const canvas = document.getElementById('timeline'), under = document.getElementById('under');
  const answer = await fetch(canvas.dataset.source);
  if (!answer.ok) { under.textContent = `the timeline cannot be loaded (${answer.status})`; return; }
  const data = await answer.json();
  const ROW = 22, LEFT = 130, pen = canvas.getContext('2d');
  const tracks = data.tracks.map(([name, flat]) => ({name, flat}));
  let from = 0, to = Math.max(1, data.cycles);

  const colour = number => `hsl(${(number * 47) % 360} 55% 55%)`;
  const x = cycle => LEFT + (cycle - from) / (to - from) * (canvas.width - LEFT);
  const cycleAt = pixel => from + (pixel - LEFT) / (canvas.width - LEFT) * (to - from);

  // The first slice that ends behind a cycle; slices of a track are in order.
  const firstFrom = (flat, cycle) => {
    let low = 0, high = flat.length / 3;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (flat[3 * middle] + flat[3 * middle + 1] <= cycle) low = middle + 1; else high = middle;
    }
    return 3 * low;
  };

  const draw = () => {
    canvas.width = canvas.clientWidth;
    canvas.height = ROW * tracks.length + 20;
    canvas.style.height = `${canvas.height}px`;
    const text = getComputedStyle(document.body).color;
    pen.font = '11px ui-monospace,monospace';
    tracks.forEach(({flat}, row) => {
      let drawn = -1;
      for (let at = firstFrom(flat, from); at < flat.length && flat[at] <= to; at += 3) {
        const start = Math.max(LEFT, x(flat[at])), end = x(flat[at] + flat[at + 1]);
        if (end - drawn < 0.5) continue;  // several slices in one pixel look like one
        drawn = end;
        pen.fillStyle = colour(flat[at + 2]);
        pen.fillRect(start, row * ROW + 2, Math.max(0.8, end - start - 0.5), ROW - 4);
        const name = data.names[flat[at + 2]];
        if (end - start > 40) {
          pen.fillStyle = '#000';
          pen.fillText(name.slice(0, Math.floor((end - start - 6) / 6.7)), start + 3, row * ROW + 15);
        }
      }
    });
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, LEFT, canvas.height);
    pen.fillStyle = text;
    tracks.forEach(({name}, row) => pen.fillText(name.slice(0, 18), 4, row * ROW + 15));
    pen.fillText(`${Math.round(from).toLocaleString('en')}`, LEFT, canvas.height - 5);
    const right = `${Math.round(to).toLocaleString('en')} cycles`;
    pen.fillText(right, canvas.width - 7 * right.length, canvas.height - 5);
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
      under.textContent = `${track.name}: ${data.names[track.flat[at + 2]]}, cycle ${track.flat[at]}, ` +
        `${cycles} cycles, ${(cycles / data.clock).toFixed(3)} µs`;
    }
  });
  canvas.addEventListener('dblclick', () => show(0, data.cycles));
  for (const row of document.querySelectorAll('#slowest tbody tr')) {
    row.addEventListener('click', () => {
      const start = Number(row.dataset.start), cycles = Number(row.dataset.cycles);
      show(start - cycles / 4, start + cycles * 1.25);
      canvas.scrollIntoView({block: 'nearest'});
    });
  }
  window.addEventListener('resize', draw);
  draw();
  canvas.dataset.ready = String(tracks.length);
})();
