// Signing in by a link that works once. Its code is in the fragment, which browsers send to nobody, and leaves it at once.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';

const CODE = /^#login=(.+)$/;

/** The code of a sign-in link, taken out of the address and of the history. Null where there is none. */
export function takeCode() {
  const found = CODE.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname);
  return found[1];
}

function alone(...children) {
  return el('main', { class: 'alone' }, el('img', { src: '/console/mark.svg', alt: '', class: 'mark' }), ...children);
}

/** The page for those who are not signed in: how to come by a link. `problem` is what went wrong with the last one. */
export function signedOut(problem = null) {
  return alone(
    el('h1', {}, 'Sign in to askbus'),
    problem && el('p', { class: 'problem', role: 'alert' }, problem.message),
    el('p', {}, 'There is no password. You sign in with a link that works once.'),
    el(
      'ul',
      {},
      el('li', {}, 'Ask whoever runs askbus here for a link.'),
      el(
        'li',
        {},
        'If that is you: ',
        el('code', {}, 'askbus admin login-link'),
        ' makes one for anybody, and the first start prints one for the owner.',
      ),
    ),
    el('p', { class: 'quiet' }, 'Open the link in this browser. It is valid for 15 minutes.'),
  );
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
