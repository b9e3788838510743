// Signing in: by a link that works once, by a password, or at an issuer. A link's code is in the fragment, which browsers send to nobody,
// and leaves it at once.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';
import { field } from './managed.js';
import { secretField } from './password.js';

const CODE = /^#(login|password)=(.+)$/;
const FAILED = /^#sign-in-failed=([a-z]+)$/;

/** Why a sign-in at an issuer came to nothing. The address says no more than a word, so that nobody can put sentences into this page. */
const FAILURES = {
  denied: 'Signing in there was cancelled.',
  stale: 'This sign-in was finished already, took too long, or began in another browser. Begin again.',
  unreachable: 'The place where you sign in cannot be reached right now. Try again.',
  refused: 'What came back from there cannot be trusted, so nobody was signed in. If it happens again, tell whoever runs askbus here.',
  nobody: 'You are signed in there, but you are a member of no workspace here. An admin of one can invite you.',
};

/** The code of a link, taken out of the address and of the history, and what it is for: `login` or `password`. Null where there is none. */
export function takeCode() {
  const found = CODE.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname);
  return { purpose: found[1], code: found[2] };
}

/** What went wrong at an issuer, taken out of the address. Null where nothing did. */
export function takeFailure() {
  const found = FAILED.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname);
  return new Error(FAILURES[found[1]] ?? FAILURES.refused);
}

function alone(...children) {
  return el('main', { class: 'alone' }, el('img', { src: '/console/mark.svg', alt: '', class: 'mark' }), ...children);
}

/** The page for those who are not signed in. `problem` is what went wrong before; `onSignedIn` gets who it is now. */
export class SignedOut {
  element;
  #heading = el('h1', { tabIndex: -1 }, 'Sign in to askbus');
  #ways = el('div', { class: 'fields' });
  #problem = new Problem();
  #onSignedIn;

  constructor({ problem = null, onSignedIn }) {
    this.#onSignedIn = onSignedIn;
    this.element = alone(
      this.#heading,
      this.#problem.element,
      this.#ways,
      el(
        'details',
        { open: true },
        el('summary', {}, 'With a link'),
        el('p', {}, 'Ask whoever runs askbus here for a link, and open it in this browser. It works once, for 15 minutes.'),
        el(
          'p',
          { class: 'quiet' },
          'If that is you: ',
          el('code', {}, 'askbus admin login-link'),
          ' makes one for anybody, ',
          el('code', {}, 'askbus admin password-link'),
          ' one to set a password, and the first start prints one for the owner.',
        ),
      ),
    );
    this.#problem.say(problem);
    this.#offer();
  }

  focus() {
    this.#heading.focus();
  }

  async #offer() {
    try {
      const { passwords, providers } = await api.waysIn();
      fill(this.#ways, providers.map((one) => this.#provider(one)), passwords && this.#form());
      this.element.querySelector('details').open = !passwords && !providers.length;
    } catch (error) {
      this.#problem.say(error);
      fill(this.#ways, button('Try again', { on: { click: () => this.#offer() } }));
    }
  }

  #provider({ name, label }) {
    const go = button(`Sign in with ${label}`, { class: 'primary', on: { click: () => begin() } });
    const begin = () =>
      this.#problem.around([go], async () => {
        const { url } = await api.beginSignIn(name, `/${location.hash}`);
        location.assign(url);
      });
    return go;
  }

  #form() {
    const email = el('input', { type: 'email', required: true, maxLength: 320, autocomplete: 'username' });
    const password = secretField('Password', { autocomplete: 'current-password' });
    const sure = el('button', { type: 'submit', class: 'primary' }, 'Sign in');
    const submit = async (event) => {
      event.preventDefault();
      await this.#problem.around([sure], async () => this.#onSignedIn(await api.signInByPassword(email.value, password.value)));
    };
    return el('form', { class: 'fields', on: { submit } }, field('E-mail address', email), password.element, sure);
  }
}

/** Signs in with a code. Resolves to who it is, or throws what the server said. A lost connection may be tried again. */
export async function signIn(root, code) {
  fill(root, alone(el('p', { class: 'activity', role: 'status' }, el('span', { class: 'pulse' }), 'Signing in')));
  for (;;) {
    try {
      return await api.signIn(code);
    } catch (error) {
      if (error.status !== 0 && error.status < 500) throw error;
      await pressed(root, error);
    }
  }
}

function pressed(root, error) {
  const problem = new Problem();
  return new Promise((resolve) => {
    fill(
      root,
      alone(
        el('h1', {}, 'Sign in to askbus'),
        problem.element,
        button('Try again', { class: 'primary', on: { click: resolve } }),
      ),
    );
    problem.say(error);
  });
}

/**
 * A link opened by somebody who is signed in already. A page elsewhere could have led them here to act in another person's name,
 * so they are asked. Resolves to whether the link shall be used.
 */
export function askToSwitch(root, me) {
  return new Promise((resolve) => {
    const answer = (text, how, used) => button(text, { ...how, on: { click: () => resolve(used) } });
    fill(
      root,
      alone(
        el('h1', {}, `You are signed in as ${me.name}`),
        el('p', {}, 'This link signs in again, perhaps as somebody else. Use it only if you asked for it.'),
        el(
          'div',
          { class: 'buttons' },
          answer(`Stay ${me.name}`, { class: 'primary' }, false),
          answer('Use the link', {}, true),
        ),
      ),
    );
  });
}
