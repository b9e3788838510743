// The head of a card: what it is, and the state it is in, which is read out when it changes.

import { el, fill, icon } from './elements.js';
import { chip } from './words.js';

export class CardHeader {
  element;
  #title = el('h3');
  #status = el('span', { role: 'status' });
  #state = null;

  constructor(picture, title) {
    this.#title.textContent = title;
    this.element = el('header', {}, icon(picture), this.#title, this.#status);
  }

  /** `state` is a pair of words.js, or null where there is nothing to say. */
  show(title, state) {
    this.#title.textContent = title;
    if (state?.[0] === this.#state) return;
    this.#state = state?.[0];
    fill(this.#status, state && chip(state));
  }
}
