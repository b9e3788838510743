// Putting a question off: for this person alone, until a time that they choose.

import { api } from './api.js';
import { button, el, fill } from './elements.js';
import { moment } from './words.js';

const HOUR = 3_600_000;

/** Tomorrow at nine, where the reader is. */
function tomorrow(now) {
  const then = new Date(now);
  then.setDate(then.getDate() + 1);
  then.setHours(9, 0, 0, 0);
  return then.getTime();
}

const CHOICES = [
  ['In an hour', (now) => now + HOUR],
  ['In four hours', (now) => now + 4 * HOUR],
  ['Tomorrow', tomorrow],
];

/** The line below an open question. `onDone(question)` gets the question as it stands then; `problem` says what went wrong. */
export class PutOff {
  element = el('div', { class: 'later' });
  #id;
  #problem;
  #onDone;
  #shown = null;

  constructor(id, problem, onDone) {
    this.#id = id;
    this.#problem = problem;
    this.#onDone = onDone;
  }

  /** Nothing for who may not answer it, nor for a chat's own question, whose turn waits. */
  show(question) {
    const shown = question.state === 'open' && question.may_answer && !question.turn_id && String(question.snoozed_until);
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (!shown) fill(this.element);
    else if (question.snoozed_until) this.#offerBack(question.snoozed_until);
    else this.#offer();
  }

  #offerBack(until) {
    fill(
      this.element,
      el('span', { class: 'quiet' }, moment(until, 'Put off, back ')),
      button('Bring back', { class: 'plain', on: { click: () => this.#send(null) } }),
    );
  }

  #offer() {
    fill(this.element, button('Later', { class: 'plain', on: { click: () => this.#choose() } }));
  }

  #choose() {
    const choices = CHOICES.map(([words, at]) =>
      button(words, { class: 'plain', on: { click: () => this.#send(new Date(at(Date.now())).toISOString()) } }),
    );
    fill(this.element, choices, button('Not now', { class: 'plain', on: { click: () => this.#offer() } }));
    choices[0].focus();
  }

  async #send(until) {
    const buttons = [...this.element.querySelectorAll('button')];
    await this.#problem.around(buttons, async () => this.#onDone(await api.snooze(this.#id, until)));
  }
}
