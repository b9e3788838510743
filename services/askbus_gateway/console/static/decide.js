// Deciding on each operation of a proposed change: confirm it, with other values where these are wrong, or reject it with a reason.

import { button, domId, el, fill, Problem } from './elements.js';
import { count } from './words.js';

const LONG = 80;
const VERBS = { create: 'Create', update: 'Update' };
/** Kinds whose empty field means that there is no value; in a text that is two things. */
const TEXT = new Set(['text', 'other']);
const AS_JSON = new Set(['json', 'array']);

/** One field's new value, which may be edited. `read()` is what to send, or undefined where it is as proposed. */
class ValueField {
  element;
  #change;
  #control;
  #nothing = null;
  #wrong = el('p', { class: 'problem', hidden: true, id: domId('wrong') });

  constructor(change, referred) {
    this.#change = change;
    const text = change.ref ? '' : (change.after ?? '');
    const how = { id: domId('value'), value: text, 'aria-describedby': this.#wrong.id };
    if (change.kind === 'boolean') {
      const options = ['true', 'false', ''].map((each) => el('option', { value: each }, { true: 'yes', false: 'no' }[each] ?? 'no value'));
      this.#control = el('select', how, options);
      this.#control.value = text;
    } else if (AS_JSON.has(change.kind) || text.length > LONG || text.includes('\n')) {
      this.#control = el('textarea', { rows: 3, ...how });
    } else {
      const numeric = ['integer', 'decimal', 'float'].includes(change.kind);
      this.#control = el('input', { type: 'text', autocomplete: 'off', inputMode: numeric ? 'decimal' : 'text', ...how });
    }
    if (TEXT.has(change.kind) && !change.ref && (change.before === null || change.after === null)) {
      this.#nothing = el('input', { type: 'checkbox', checked: change.after === null });
      const follow = () => (this.#control.disabled = this.#nothing.checked);
      this.#nothing.addEventListener('change', follow);
      follow();
    }
    this.#control.addEventListener('input', () => this.complain(null));
    const was = change.before_display ? `Now: ${change.before_display}` : null;
    const hint = change.ref ? `Left empty: the new record “${referred(change.ref)}”` : was;
    this.element = el(
      'div',
      { class: 'field' },
      el('label', { for: this.#control.id }, change.field, hint && el('span', { class: 'optional' }, hint)),
      this.#control,
      this.#nothing && el('label', { class: 'toggle' }, this.#nothing, 'No value'),
      this.#wrong,
    );
  }

  get name() {
    return this.#change.field;
  }

  /** Throws where it cannot be sent. */
  read() {
    const { kind, ref, after } = this.#change;
    const text = this.#control.value;
    if (this.#nothing?.checked) return after === null ? undefined : null;
    if (ref) return text === '' ? undefined : text;
    if (text === (after ?? '') && !(this.#nothing && after === null)) return undefined;
    if (text === '' && !TEXT.has(kind)) return null;
    if (kind === 'boolean') return text === 'true';
    return AS_JSON.has(kind) ? JSON.parse(text) : text;
  }

  /** Says what is wrong with it; nothing clears it. */
  complain(message) {
    this.#wrong.hidden = !message;
    this.#wrong.textContent = message ?? '';
    if (message) this.#control.setAttribute('aria-invalid', 'true');
    else this.#control.removeAttribute('aria-invalid');
  }

  focus() {
    this.#control.focus();
  }
}

/** One operation: whether it is confirmed, its values, or why not. */
class OperationFields {
  element;
  id;
  fields;
  #confirm = el('input', { type: 'checkbox', checked: true });
  #reason = el('textarea', { rows: 2, maxLength: 500 });
  #problem = new Problem();

  constructor(operation, referred, onChange) {
    this.id = operation.id;
    this.fields = operation.changes.map((change) => new ValueField(change, referred));
    const values = el(
      'div',
      { class: 'fields' },
      this.fields.map((field) => field.element),
    );
    const id = domId('reason');
    this.#reason.id = id;
    const why = el('div', { class: 'field', hidden: true }, el('label', { for: id }, 'Why not? The assistant is told. (optional)'), this.#reason);
    this.#confirm.addEventListener('change', () => {
      values.hidden = !this.confirmed;
      why.hidden = this.confirmed;
      this.#problem.say(null);
      onChange();
    });
    const legend = el('legend', {}, `${VERBS[operation.kind]} ${operation.collection} `, el('strong', {}, operation.label));
    this.element = el(
      'fieldset',
      { class: 'deciding' },
      legend,
      el('label', { class: 'toggle' }, this.#confirm, 'Confirm this'),
      values,
      why,
      this.#problem.element,
    );
  }

  get confirmed() {
    return this.#confirm.checked;
  }

  /** Throws after it said which field cannot be sent. */
  read() {
    if (!this.confirmed) return { operation: this.id, confirm: false, reason: this.#reason.value.trim() || null };
    const values = {};
    for (const field of this.fields) {
      try {
        const value = field.read();
        if (value !== undefined) values[field.name] = value;
      } catch (error) {
        field.complain('This is not JSON.');
        field.focus();
        throw error;
      }
    }
    return { operation: this.id, confirm: true, values };
  }

  /** Shows what the server found wrong; returns the field to go to, if it is about one. */
  complain({ field: name, message }) {
    const field = this.fields.find((each) => each.name === name);
    if (field) field.complain(message);
    else this.#problem.say(message);
    return field ?? null;
  }

  clear() {
    this.#problem.say(null);
    for (const field of this.fields) field.complain(null);
  }
}

/** `action` with whole values. `onDecide(decisions)` sends them and may throw; `onBack()` leaves the form. */
export class DecisionForm {
  element;
  digest;
  #operations;
  #problem = new Problem();
  #send = el('button', { type: 'submit', class: 'primary' });
  #onDecide;

  constructor(action, { onDecide, onBack }) {
    this.digest = action.digest;
    this.#onDecide = onDecide;
    const referred = (ref) => action.card.find((each) => each.id === ref)?.label ?? ref;
    this.#operations = action.card.map((each) => new OperationFields(each, referred, () => this.#name()));
    const back = button('Back', { on: { click: onBack } });
    this.element = el(
      'form',
      { noValidate: true, 'aria-label': 'Decide one by one', on: { submit: (event) => this.#submit(event) } },
      this.#operations.map((each) => each.element),
      this.#problem.element,
      el('div', { class: 'buttons' }, this.#send, back),
    );
    this.#name();
  }

  focus() {
    this.element.querySelector('input')?.focus();
  }

  #name() {
    const all = this.#operations.length;
    const confirmed = this.#operations.filter((each) => each.confirmed).length;
    const some = confirmed === all ? 'Confirm' : `Confirm ${confirmed} of ${count(all, 'change')}`;
    fill(this.#send, confirmed === 0 ? 'Reject' : some);
    this.#send.className = confirmed === 0 ? 'danger' : 'primary';
  }

  async #submit(event) {
    event.preventDefault();
    for (const each of this.#operations) each.clear();
    let decisions;
    try {
      decisions = this.#operations.map((each) => each.read());
    } catch {
      return;
    }
    let refusal = null;
    await this.#problem.around([...this.element.querySelectorAll('button')], async () => {
      try {
        await this.#onDecide(decisions);
      } catch (error) {
        refusal = error;
        throw error;
      }
    });
    this.#explain(refusal?.details?.problems ?? []);
  }

  /** What is wrong is said at the field that it is about, and the first of them is where one goes on. */
  #explain(problems) {
    const places = problems.map((each) => this.#operations.find(({ id }) => id === each.operation)?.complain(each));
    if (!problems.length) return;
    this.#problem.say({ message: 'Nothing was decided. See what is wrong above.' });
    places.find(Boolean)?.focus();
  }
}
