// Joining a team by a link. Its code is in the fragment, which browsers send to nobody, and leaves it at once.

import { api } from './api.js';
import { button, domId, el, fill, Problem } from './elements.js';

const CODE = /^#invitation=(.+)$/;

/** The code of an invitation, taken out of the address and of the history. Null where there is none. */
export function takeInvitation() {
  const found = CODE.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, '', location.pathname);
  return found[1];
}

/**
 * Shows what the invitation is for and asks whether to join: a link alone does nothing. `me` is who is signed in here, if anybody. Resolves
 * to who joined, or null.
 */
export async function join(root, code, me) {
  const problem = new Problem();
  let shown = null;
  try {
    shown = await api.lookAtInvitation(code);
  } catch (error) {
    problem.say(error);
  }
  const heading = el('h1', {}, shown ? `Join ${shown.workspace}` : 'This invitation cannot be used');
  return new Promise((resolve) => {
    const later = button(me ? `Stay ${me.name}` : 'Not now', { on: { click: () => resolve(null) } });
    const blocked = shown?.must_sign_in && !me;
    const parts = shown && !blocked ? form(shown, code, me, { problem, later, onJoined: resolve }) : [problem.element, later];
    fill(
      root,
      el(
        'main',
        { class: 'alone' },
        el('img', { src: '/console/mark.svg', alt: '', class: 'mark' }),
        heading,
        shown && el('p', {}, `${shown.invited_by} invites ${shown.email} as ${shown.demo ? 'a demo user' : shown.role}.`),
        blocked && el('p', {}, 'This address belongs to somebody who uses askbus already. Sign in as them, then open the link again.'),
        parts,
      ),
    );
  });
}

function form(shown, code, me, { problem, later, onJoined }) {
  const id = domId('name');
  const name = el('input', { type: 'text', id, required: true, maxLength: 200, autocomplete: 'name' });
  const sure = el('button', { type: 'submit', class: 'primary' }, 'Join');
  const submit = async (event) => {
    event.preventDefault();
    await problem.around([sure, later], async () => onJoined(await api.acceptInvitation(code, shown.known ? null : name.value)));
  };
  return el(
    'form',
    { class: 'fields', on: { submit } },
    !shown.known && el('div', { class: 'field' }, el('label', { for: id }, 'What are you called?'), name),
    me && el('p', { class: 'quiet' }, `You are signed in as ${me.name}, ${me.email}. Joining signs you in there.`),
    problem.element,
    el('div', { class: 'buttons' }, sure, later),
  );
}
