// The card of an action: what it changes, Confirm and Reject, then what became of it, and Undo.

import { api } from './api.js';
import { CardHeader } from './card.js';
import { isCut, obstacles, operations } from './changes.js';
import { DecisionForm } from './decide.js';
import { button, domId, el, fill, Problem } from './elements.js';
import { reasonNot } from './rights.js';
import { ApprovalOffer } from './standing.js';
import { undoPanel } from './undo.js';
import { ACTION_STATES, moment } from './words.js';

const DONE = new Set(['applied', 'undone']);

/**
 * Shows one action and keeps it as it stands now. `context` is `{me, feed, lists, openApproval}`; `onAction(action)` is told how it stands, if
 * there is one. Call `stop` when it is not shown any more.
 */
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
  /** While its operations are decided one by one. */
  #form = null;
  #offer = null;
  /** What was undone and is proposed once more, where this card is all that shows it. */
  #again = null;

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
    this.#offer?.stop();
    this.#again?.stop();
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
    this.#context.onAction?.(action);
    if (this.#form && action.state === 'pending' && action.digest === this.#form.digest) return;
    this.#form = null;
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
    this.#offer?.stop();
    this.#offer = new ApprovalOffer(action, this.#context);
    if (action.state === 'pending') this.#offerDecision();
    else if (action.state === 'applied' && !undoing) this.#offerUndo();
    else fill(this.#foot, this.#history(), action.state === 'undone' && this.#proposeAgain());
  }

  /** Who did what, when, in sentences. */
  #history() {
    const { state, outcome, reason, undos } = this.#action;
    const who = this.#action.decided_by_name;
    const { approval_id: standing, decided_at: at } = this.#action;
    const which = () => button('Which one?', { class: 'link', on: { click: () => this.#context.openApproval(standing) } });
    const decided = (word) =>
      standing
        ? el('p', { class: 'quiet standing' }, `${word} by ${who}’s standing approval `, moment(at), '. ', which())
        : el('p', { class: 'quiet' }, `${word} by ${who} `, moment(at));
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
    const one = this.#action.card.length === 1;
    const single = button(one ? 'Edit first' : 'Decide one by one', { on: { click: () => this.#decideEach() } });
    const { proposed_by: by, proposed_with: agent, expires_at: ends } = this.#action;
    fill(
      this.#foot,
      this.#controls(confirm, reject, single),
      el('p', { class: 'quiet' }, agent ? `Proposed by ${agent} (${by}). ` : null, moment(ends, 'Expires ')),
      this.#offer.element,
    );
  }

  /** The form needs every value whole. */
  async #decideEach() {
    await this.#problem.around([...this.#foot.querySelectorAll('button')], async () => {
      const action = await api.action(this.#id, { full: true });
      if (action.state !== 'pending') {
        this.#show(action);
        return;
      }
      this.#form = new DecisionForm(action, {
        onDecide: async (decisions) => {
          const decided = await this.#sent(() => api.decide(this.#id, action.digest, decisions));
          this.#form = null;
          this.#show(decided);
        },
        onBack: () => this.#leaveForm(),
      });
      fill(this.#body, this.#form.element);
      fill(this.#foot);
      this.#form.focus();
    });
  }

  #leaveForm() {
    this.#form = null;
    const action = this.#action;
    this.#action = null;
    this.#show(action);
    this.#foot.querySelector('button')?.focus();
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
    fill(this.#foot, this.#history(), this.#controls(undo), this.#offer.element);
  }

  /** What an undo would do is shown before it is done. */
  async #previewUndo() {
    await this.#problem.around([...this.#foot.querySelectorAll('button')], async () => {
      const { nodes, first } = await undoPanel({
        read: (how) => api.previewUndo(this.#id, how),
        undo: (how) => this.#decide(() => api.undo(this.#id, how)),
        back: () => this.#offerUndo(),
      });
      fill(this.#foot, nodes);
      first.focus();
    });
  }

  /** Undoing an undo: the same change as a new one, which waits to be confirmed, below this card where nothing else shows it. */
  #proposeAgain() {
    const again = button('Propose again', { on: { click: () => this.#sendAgain(again) } });
    return this.#controls(again);
  }

  async #sendAgain(control) {
    await this.#problem.around([control], async () => {
      const { id } = await api.proposeAgain(this.#id);
      if (this.#context.onProposed) this.#context.onProposed(id);
      else {
        this.#again ??= new ActionCard(id, this.#context);
        this.element.after(this.#again.element);
      }
    });
  }

  /** Sends a decision and shows what came of it. */
  async #decide(send) {
    await this.#problem.around([...this.#foot.querySelectorAll('button')], async () => {
      this.#show(await this.#sent(send));
    });
  }

  /** Where somebody else was first, what they decided is shown together with the refusal. */
  async #sent(send) {
    this.#reads += 1;
    try {
      return await send();
    } catch (error) {
      if (error.code === 'conflict') {
        this.#form = null;
        await this.#load();
        this.#problem.say(error);
      }
      throw error;
    }
  }
}
