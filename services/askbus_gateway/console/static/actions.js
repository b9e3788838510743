// The card of an action: what it changes, Confirm and Reject, then what became of it, and Undo.

import { api } from './api.js';
import { CardHeader } from './card.js';
import { isCut, obstacles, operations, restored } from './changes.js';
import { button, domId, el, fill, Problem } from './elements.js';
import { reasonNot } from './rights.js';
import { ACTION_STATES, moment } from './words.js';

const DONE = new Set(['applied', 'undone']);

/** Shows one action and keeps it as it stands now. `context` is `{me, feed}`. Call `stop` when it is not shown any more. */
export class ActionCard {
  element = el('article', { class: 'card action', 'aria-busy': 'true' });
  #id;
  #context;
  #unsubscribe;
  #header = new CardHeader('pencil', 'Proposed change');
  #problem = new Problem();
  #body = el('div', { class: 'body' });
  #foot = el('footer');
  #reads = 0;
  #whole = false;
  #action = null;

  constructor(id, context) {
    this.#id = id;
    this.#context = context;
    const moved = (change) => change.id === id && this.#load();
    this.#unsubscribe = context.feed.subscribe({ init: () => this.#load(), upsert: moved, remove: moved });
    fill(this.element, this.#header.element, this.#body, this.#problem.element, this.#foot);
    this.#load();
  }

  stop() {
    this.#unsubscribe();
  }

  /** Reads the action anew. Of several readings the last one asked for is shown. */
  async #load() {
    this.#reads += 1;
    const reading = this.#reads;
    try {
      const action = await api.action(this.#id, { full: this.#whole || undefined });
      if (reading === this.#reads) this.#show(action);
    } catch (error) {
      if (reading !== this.#reads) return;
      this.#problem.say(error);
      if (!this.#action) fill(this.#foot, button('Try again', { on: { click: () => this.#load() } }));
    }
  }

  #show(action) {
    const before = this.#action;
    this.#action = action;
    this.#problem.say(null);
    this.element.removeAttribute('aria-busy');
    this.element.dataset.state = action.state;
    const undoing = action.undos.at(-1)?.state === 'requested';
    const state = undoing ? ['Undoing', 'busy'] : ACTION_STATES[action.state];
    this.#header.show(DONE.has(action.state) ? 'Change' : 'Proposed change', state);
    fill(
      this.#body,
      action.summary && el('p', { class: 'summary' }, action.summary),
      operations(action.card, action.state),
      isCut(action.card) &&
        !this.#whole &&
        button('Show whole values', { class: 'link', on: { click: () => this.#showWhole() } }),
    );
    if (
      !before ||
      before.state !== action.state ||
      before.undos.length !== action.undos.length ||
      before.undos.at(-1)?.state !== action.undos.at(-1)?.state
    ) {
      this.#showFoot(undoing);
    }
  }

  #showWhole() {
    this.#whole = true;
    this.#load();
  }

  #showFoot(undoing) {
    const action = this.#action;
    if (action.state === 'pending') this.#offerDecision();
    else if (action.state === 'applied' && !undoing) this.#offerUndo();
    else fill(this.#foot, this.#history());
  }

  /** Who did what, when, in sentences. */
  #history() {
    const { state, outcome, reason, undos } = this.#action;
    const who = this.#action.decided_by_name;
    const decided = (word) => el('p', { class: 'quiet' }, `${word} by ${who} `, moment(this.#action.decided_at));
    const undo = undos.at(-1);
    switch (state) {
      case 'confirmed':
        return [decided('Confirmed'), el('p', { class: 'quiet' }, 'It is being applied.')];
      case 'rejected':
        return [decided('Rejected'), reason && el('blockquote', {}, reason)];
      case 'expired':
        return el('p', { class: 'quiet' }, 'Nobody decided in time, so nothing was changed.');
      case 'withdrawn':
        return el('p', { class: 'quiet' }, 'It was withdrawn by who proposed it. Nothing was changed.');
      case 'conflicted':
        return [
          decided('Confirmed'),
          el('p', {}, 'Nothing was changed: the record is not as it was when this was proposed.'),
          obstacles(outcome),
        ];
      case 'failed':
        return [decided('Confirmed'), el('p', {}, 'Nothing was changed:'), obstacles(outcome)];
      case 'undone':
        return [
          decided('Confirmed'),
          undo && el('p', { class: 'quiet' }, `Undone by ${undo.requested_by} `, moment(undo.settled_at)),
          undo?.outcome?.mismatches.length > 0 &&
            el('div', {}, el('p', {}, 'What was edited since was left as it is:'), obstacles(undo.outcome)),
        ];
      default:
        return [
          decided('Confirmed'),
          undo?.state === 'requested' && el('p', { class: 'quiet' }, `${undo.requested_by} asked to undo it.`),
          undo?.state === 'refused' &&
            el(
              'div',
              { class: 'refused' },
              el('p', {}, 'It could not be undone, and nothing was changed:'),
              obstacles(undo.outcome),
            ),
        ];
    }
  }

  /** Buttons, or why there are none to press. */
  #controls(...buttons) {
    const reason = reasonNot(this.#context.me, 'actions:confirm', this.#action.project_id);
    if (!reason) return el('div', { class: 'buttons' }, buttons);
    const id = domId('reason');
    for (const each of buttons) {
      each.disabled = true;
      each.setAttribute('aria-describedby', id);
    }
    return [el('div', { class: 'buttons' }, buttons), el('p', { class: 'reason', id }, reason)];
  }

  #offerDecision() {
    const confirm = button(
      'Confirm',
      { class: 'primary', on: { click: () => this.#decide(() => api.confirm(this.#id, this.#action.digest)) } },
      'check',
    );
    const reject = button('Reject', { on: { click: () => this.#askForReason() } });
    const { proposed_by: by, proposed_with: agent, expires_at: ends } = this.#action;
    fill(
      this.#foot,
      this.#controls(confirm, reject),
      el('p', { class: 'quiet' }, agent ? `Proposed by ${agent} (${by}). ` : null, moment(ends, 'Expires ')),
    );
  }

  #askForReason() {
    const reason = el('textarea', {
      rows: 2,
      maxLength: 2000,
      placeholder: 'Why not? The assistant is told. (optional)',
      'aria-label': 'Reason (optional)',
    });
    const reject = button('Reject', {
      class: 'danger',
      on: { click: () => this.#decide(() => api.reject(this.#id, reason.value.trim())) },
    });
    const back = button('Back', { on: { click: () => this.#offerDecision() } });
    fill(this.#foot, reason, el('div', { class: 'buttons' }, reject, back));
    reason.focus();
  }

  #offerUndo() {
    const undo = button('Undo', { on: { click: () => this.#previewUndo() } });
    fill(this.#foot, this.#history(), this.#controls(undo));
  }

  /** What an undo would do is shown before it is done. */
  async #previewUndo() {
    await this.#problem.around([...this.#foot.querySelectorAll('button')], async () => {
      const { state, outcome } = await api.previewUndo(this.#id);
      const back = button('Close', { on: { click: () => this.#offerUndo() } });
      if (state === 'refused') {
        fill(
          this.#foot,
          el(
            'div',
            { class: 'refused', role: 'status' },
            el('p', {}, 'It cannot be undone as things are. Nothing was changed:'),
            obstacles(outcome),
          ),
          el('div', { class: 'buttons' }, await this.#restOf(), back),
        );
        back.focus();
        return;
      }
      const undo = button('Undo now', { class: 'primary', on: { click: () => this.#decide(() => api.undo(this.#id)) } });
      fill(
        this.#foot,
        el('div', { class: 'preview', role: 'status' }, el('p', {}, 'Undoing puts this back:'), restored(outcome)),
        el('div', { class: 'buttons' }, undo, button('Keep the change', { on: { click: () => this.#offerUndo() } })),
      );
      undo.focus();
    });
  }

  /** The button that undoes the rest and leaves what was edited since, where there is a rest. */
  async #restOf() {
    const { state } = await api.previewUndo(this.#id, { rest: true });
    if (state === 'refused') return null;
    return button('Undo the rest', { on: { click: () => this.#decide(() => api.undo(this.#id, { rest: true })) } });
  }

  /** Sends a decision. Where somebody else was first, what they decided is shown together with the refusal. */
  async #decide(send) {
    let refusal = null;
    await this.#problem.around([...this.#foot.querySelectorAll('button')], async () => {
      try {
        this.#reads += 1;
        this.#show(await send());
      } catch (error) {
        refusal = error;
        throw error;
      }
    });
    if (refusal?.code === 'conflict') {
      await this.#load();
      this.#problem.say(refusal);
    }
  }
}
