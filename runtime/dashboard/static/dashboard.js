// Tables that sort by a click on a heading, and boxes that filter rows or lines.
'use strict';

const cellValue = (row, column) => {
  const text = row.cells[column].textContent.trim();
  const number = Number(text.replaceAll(',', ''));
  return text !== '' && !Number.isNaN(number) ? number : text;
};

const compare = (a, b) => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a.localeCompare(b);
};

for (const heading of document.querySelectorAll('thead th')) {  // a heading stands as its column does
  const cell = heading.closest('table').tBodies[0]?.rows[0]?.cells[heading.cellIndex];
  heading.classList.toggle('number', Boolean(cell?.classList.contains('number')));
}

for (const table of document.querySelectorAll('table.sortable')) {
  table.tHead.addEventListener('click', event => {
    const heading = event.target.closest('th');
    const column = heading.cellIndex;
    const keyed = [...table.tBodies[0].rows].map(row => [cellValue(row, column), row]);
    // The largest number is looked for first, in the column of row numbers and of names the beginning.
    const first = column > 0 && keyed.every(pair => typeof pair[0] === 'number') ? 'descending' : 'ascending';
    const other = first === 'ascending' ? 'descending' : 'ascending';
    const order = heading.getAttribute('aria-sort') === first ? other : first;
    const down = order === 'ascending' ? 1 : -1;
    for (const cell of table.tHead.rows[0].cells) cell.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', order);
    keyed.sort((a, b) => down * compare(a[0], b[0]));
    table.tBodies[0].append(...keyed.map(pair => pair[1]));
  });
}

for (const box of document.querySelectorAll('input[data-filter]')) {
  const target = document.getElementById(box.dataset.filter);
  const lines = target && target.tagName === 'PRE' ? target.textContent.split('\n') : null;
  box.addEventListener('input', () => {
    const words = box.value.toLowerCase();
    if (lines) target.textContent = lines.filter(line => line.toLowerCase().includes(words)).join('\n');
    else for (const row of target.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(words);
  });
}
