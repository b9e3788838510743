// What an undo would do, before it is done: of one change, or of all that an answer changed.

import { api } from './api.js';
import { obstacles, restored } from './changes.js';
import { button, el, fill, Problem } from './elements.js';
import { reasonNot } from './rights.js';
import { count } from './words.js';

/** A preview's parts: of one change itself, of an answer one for each change that was tried. */
const partsOf = (preview) => preview.undos ?? [preview];

/** What would be put back, and what would be left because it was edited since. */
function putBack(preview, lead) {
  const parts = partsOf(preview);
  const done = parts.filter(({ state }) => state !== 'refused');
  const left = parts.filter(({ outcome }) => outcome.mismatches.length > 0);
  return el(
    'div',
    { class: 'preview', role: 'status' },
    el('p', {}, lead),
    done.map(({ outcome }) => restored(outcome)),
    left.length > 0 && [el('p', {}, 'This was edited since and stays as it is:'), left.map(({ outcome }) => obstacles(outcome))],
  );
}

/**
 * The dry run, and the buttons to go on: `read(how)` previews, `undo(how)` does it, `back()` leaves it. Resolves to what is to be shown, and
 * the button to begin with.
 */
export async function undoPanel({ read, undo, back, keep = 'Keep the change' }) {
  const whole = await read({});
  if (whole.state !== 'refused') {
    const go = button('Undo now', { class: 'primary', on: { click: () => undo({}) } });
    const leave = button(keep, { on: { click: back } });
    return { nodes: [putBack(whole, 'Undoing puts this back:'), el('div', { class: 'buttons' }, go, leave)], first: go };
  }
  const rest = await read({ rest: true });
  const some = partsOf(rest).some(({ state }) => state !== 'refused');
  const go = some && button('Undo the rest', { on: { click: () => undo({ rest: true }) } });
  const close = button('Close', { on: { click: back } });
  const refused = partsOf(whole).filter(({ state }) => state === 'refused');
  const why = el(
    'div',
    { class: 'refused', role: 'status' },
    el('p', {}, 'It cannot be undone as things are. Nothing was changed:'),
    refused.map(({ outcome }) => obstacles(outcome)),
  );
  return {
    nodes: [why, go && putBack(rest, 'The rest can be undone, which puts this back:'), el('div', { class: 'buttons' }, go, close)],
    first: close,
  };
}

/** Offers to undo all that one answer changed, where that is more than one change. `me` is who would do it. */
export class TurnUndo {
  element = el('div', { class: 'together', hidden: true });
  #me;
  #turnId = null;
  #actions = new Map();
  #problem = new Problem();
  #body = el('div');
  /** The request that was made here, and what became of it. */
  #asked = null;
  #busy = false;

  constructor(me) {
    this.#me = me;
    fill(this.element, this.#body, this.#problem.element);
  }

  /** One of its cards shows this action as it stands now. */
  know(action) {
    const before = this.#actions.get(action.id);
    this.#actions.set(action.id, action);
    this.#turnId = action.turn_id;
    if (this.#asked?.state === 'requested') this.#look();
    else if (before?.state !== action.state && !this.#busy) this.#offer();
  }

  #offer() {
    const applied = [...this.#actions.values()].filter(({ state }) => state === 'applied');
    const offered = applied.length > 1 && !reasonNot(this.#me, 'actions:confirm', applied[0].project_id);
    this.element.hidden = !offered && !this.#asked;
    if (!offered) return;
    const undo = button(`Undo all ${applied.length} changes`, { on: { click: () => this.#preview() } });
    fill(this.#body, el('div', { class: 'buttons' }, undo));
  }

  async #preview() {
    this.#busy = true;
    await this.#problem.around([...this.#body.querySelectorAll('button')], async () => {
      const { nodes, first } = await undoPanel({
        read: (how) => api.previewTurnUndo(this.#turnId, how),
        undo: (how) => this.#undo(how),
        back: () => {
          this.#offer();
          this.#body.querySelector('button')?.focus();
        },
        keep: 'Keep the changes',
      });
      fill(this.#body, nodes);
      first.focus();
    });
    this.#busy = false;
  }

  async #undo(how) {
    await this.#problem.around([...this.#body.querySelectorAll('button')], async () => {
      this.#show(await api.undoTurn(this.#turnId, how));
    });
  }

  async #look() {
    this.#show(await api.turnUndo(this.#asked.id));
  }

  #show(asked) {
    this.#asked = asked;
    this.element.hidden = false;
    const { state, undos } = asked;
    if (state === 'requested') {
      fill(this.#body, el('p', { class: 'quiet', role: 'status' }, 'Undoing…'));
      return;
    }
    const done = undos.filter((each) => each.state === 'done');
    const refused = undos.filter((each) => each.state === 'refused');
    const undone = `${count(done.length, 'change')} undone`;
    const said = state === 'done' ? `${undone}, the last one first.` : `${undone}; this could not be:`;
    fill(
      this.#body,
      el('p', { role: 'status' }, said),
      refused.length > 0 &&
        el(
          'div',
          { class: 'refused' },
          refused.map(({ headline, outcome }) => [el('p', {}, headline), obstacles(outcome)]),
        ),
    );
  }
}
