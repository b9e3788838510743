// Asking a person before something is done.

import { button, el, fill, icon, Problem } from './elements.js';
import { modal } from './inbox.js';

/** A dialog that does `act` when it is agreed to and says what goes wrong; it stays open then. `said` is a node. */
export function ask({ title, picture, said, yes, act }) {
  const problem = new Problem();
  const sure = el('button', { type: 'submit', class: 'primary' }, yes);
  const no = button('Cancel', { on: { click: () => box.close() } });
  const form = el(
    'form',
    { class: 'card' },
    el('header', {}, icon(picture), el('h3', {}, title)),
    el('div', { class: 'body' }, said, problem.element),
    el('footer', {}, el('div', { class: 'buttons' }, sure, no)),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (await problem.around([sure, no], act)) box.close();
  });
  const box = modal({ class: 'box', 'aria-label': title });
  fill(box, form);
}
