// Passwords: set by a link, or changed by who gives the old one.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';
import { field } from './managed.js';

const RULES = 'At least 8 characters. Several words are easy to keep in mind and hard to guess.';

/** A field for a password that can be shown: `element`, and its `value`. */
export function secretField(label, { autocomplete, hint = null }) {
  const input = el('input', { type: 'password', required: true, maxLength: 1000, autocomplete, spellcheck: false });
  const show = el('input', { type: 'checkbox', on: { change: () => (input.type = show.checked ? 'text' : 'password') } });
  return {
    element: el('div', { class: 'fields' }, field(label, input, hint), el('label', { class: 'toggle' }, show, `Show ${label.toLowerCase()}`)),
    input,
    get value() {
      return input.value;
    },
  };
}

/** Whose password it is, for managers of passwords; nobody sees or reaches it. */
function whose(email) {
  return el('input', { type: 'email', value: email, readOnly: true, autocomplete: 'username', hidden: true });
}

/** The page of a password link. Resolves to who is signed in by it, or null for who left it. */
export function setPassword(root, code) {
  const problem = new Problem();
  const fresh = secretField('New password', { autocomplete: 'new-password', hint: RULES });
  return new Promise((resolve) => {
    const sure = el('button', { type: 'submit', class: 'primary' }, 'Set password and sign in');
    const later = button('Not now', { on: { click: () => resolve(null) } });
    const submit = async (event) => {
      event.preventDefault();
      await problem.around([sure, later], async () => resolve(await api.setPassword(code, fresh.value)));
    };
    fill(
      root,
      el(
        'main',
        { class: 'alone' },
        el('img', { src: '/console/mark.svg', alt: '', class: 'mark' }),
        el('h1', {}, 'Set your password'),
        el('p', { class: 'quiet' }, 'Where you are signed in elsewhere, you will be signed out.'),
        el('form', { class: 'fields', on: { submit } }, fresh.element, problem.element, el('div', { class: 'buttons' }, sure, later)),
      ),
    );
    fresh.input.focus();
  });
}

/** The section of the settings: one's own password. */
export class Password {
  element = el('section');
  #me;

  constructor(context) {
    this.#me = context.me;
    this.#show();
  }

  stop() {}

  async #show(done = false) {
    const problem = new Problem();
    try {
      const { set } = await api.ownPassword();
      fill(this.element, done && el('p', { role: 'status' }, 'Your password is set. You are signed out elsewhere.'), this.#form(set, problem));
    } catch (error) {
      problem.say(error);
      fill(this.element, problem.element);
    }
  }

  #form(set, problem) {
    const current = set && secretField('Current password', { autocomplete: 'current-password' });
    const fresh = secretField('New password', { autocomplete: 'new-password', hint: RULES });
    const sure = el('button', { type: 'submit', class: 'primary' }, set ? 'Change password' : 'Set password');
    const submit = async (event) => {
      event.preventDefault();
      if (await problem.around([sure], () => api.changePassword(fresh.value, current && current.value))) this.#show(true);
    };
    return el(
      'form',
      { class: 'adding', on: { submit } },
      !set && el('p', { class: 'quiet' }, 'You have none. You can set one within 15 minutes of signing in by a link.'),
      whose(this.#me.email),
      current && current.element,
      fresh.element,
      problem.element,
      el('div', { class: 'buttons' }, sure),
    );
  }
}
