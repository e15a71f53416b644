// The layout explorer by clicks: a MAB of the chip shows what its PEs hold, an element or a place is looked up.
'use strict';

const place = document.getElementById('place'), element = document.getElementById('element');
const look = fields => {
  for (const [name, at] of Object.entries(fields)) place.elements[name].value = at;
  place.requestSubmit();
};

document.getElementById('chip')?.addEventListener('click', event => {
  const square = event.target.closest('[data-place]');
  if (!square) return;
  const [l2b, l1b, mab] = square.dataset.place.split(',');
  look({l2b, l1b, mab});
});
for (const square of document.querySelectorAll('#chip [data-place]')) {
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  const [l2b, l1b, mab] = square.dataset.place.split(',');
  title.textContent = `L2B ${l2b}, L1B ${l1b}, MAB ${mab}`;
  square.append(title);
}
for (const row of document.querySelectorAll('#places tbody tr')) {
  row.addEventListener('click', () => look(Object.fromEntries(
    [...document.querySelectorAll('#places thead th')].slice(0, 7)
      .map((heading, at) => [heading.textContent, row.cells[at].textContent]))));
}
document.querySelector('table.grid')?.addEventListener('click', event => {
  const cell = event.target.closest('td:not(.pad)');
  if (!cell) return;
  element.elements.index.value = cell.textContent === 'scalar' ? '' : cell.textContent;
  element.requestSubmit();
});
