// What the sections of the settings share: rows that stay true while somebody works in them, fields, and secrets that are shown once.

import { button, domId, el, fill, Problem } from './elements.js';
import { LiveList, refill } from './lists.js';

export const ROLES = { owner: 'Owner', admin: 'Admin', member: 'Member', viewer: 'Viewer' };

/** A list that is read again when one of these entities changes. `read()` resolves to items with an id, `row(item)` makes an `li`. */
export class Managed {
  element;
  problem = new Problem();
  #list;
  #rows = el('ul', { class: 'rows' });
  #rest = el('div');

  constructor(context, { title, entities, read, row, nothing }) {
    const id = domId('managed');
    this.element = el(
      'section',
      { 'aria-labelledby': id },
      el('h2', { id }, title),
      this.problem.element,
      this.#rows,
      this.#rest,
    );
    this.#list = new LiveList(context.feed, entities, read);
    this.#list.subscribe(({ items, error }) => {
      if (error) this.problem.say(error);
      if (items) this.#show(items.map(row), nothing);
      else fill(this.#rest, error ? null : el('div', { class: 'skeleton' }));
    });
  }

  get items() {
    return this.#list.items ?? [];
  }

  /** The focus stays on the control that had it, also where its row was made anew. */
  #show(rows, nothing) {
    const key = this.#rows.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    refill(this.#rows, rows);
    if (key) this.#rows.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
    fill(this.#rest, rows.length === 0 && el('p', { class: 'quiet' }, nothing));
  }

  refresh() {
    this.#list.refresh();
  }

  /** Does `work` for a press of these controls and reads the list again either way. What goes wrong is said in `problem`. */
  async act(controls, work, problem = this.problem) {
    const fine = await problem.around(controls, work);
    this.#list.refresh();
    return fine;
  }

  stop() {
    this.#list.stop();
  }
}

/** A control with its label. */
export function field(label, control, hint = null) {
  control.id ||= domId('field');
  return el('div', { class: 'field' }, el('label', { for: control.id }, label), control, hint && el('p', { class: 'hint' }, hint));
}

/** A choice among `[value, text]`. */
export function choice(options, chosen, how = {}) {
  return el(
    'select',
    how,
    options.map(([value, text]) => el('option', { value, defaultSelected: value === chosen }, text)),
  );
}

/** A check box with its text. */
export function check(text, checked, how = {}) {
  return el('label', { class: 'toggle' }, el('input', { type: 'checkbox', defaultChecked: checked, ...how }), text);
}

/** Something that is shown this once, with a button that copies it. */
export function once(label, secret, hint) {
  const value = el('input', { type: 'text', readOnly: true, value: secret, spellcheck: false });
  const copy = button('Copy', {
    on: {
      click: async () => {
        value.select();
        await navigator.clipboard.writeText(secret);
        copy.lastChild.textContent = 'Copied';
      },
    },
  });
  // Pages that are not https, or of this machine, have no clipboard.
  return el('div', { class: 'shown-once', role: 'status' }, field(label, value, hint), navigator.clipboard && el('div', { class: 'buttons' }, copy));
}
