// Invitations by link: the form, those that are pending, and the link, which is shown once.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';
import { check, choice, field, Managed, once, ROLES } from './managed.js';
import { moment } from './words.js';

const HINT = 'It is shown here this once. Whoever opens it joins as what it says, so send it to nobody else.';

export class Invitations {
  element = el('div');
  #context;
  #list;
  #link = el('div');

  constructor(context) {
    this.#context = context;
    this.#list = new Managed(context, {
      title: 'Invited',
      entities: ['invitation'],
      read: async () => (await api.invitations({ state: 'pending', limit: 200 })).invitations,
      row: (invitation) => this.#row(invitation),
      nothing: 'No invitation is pending.',
    });
    fill(this.element, this.#list.element, el('section', {}, el('h2', {}, 'Invite somebody'), this.#form(), this.#link));
  }

  stop() {
    this.#list.stop();
  }

  #row(invitation) {
    const { id, email } = invitation;
    const again = button('New link', {
      'aria-label': `New link for ${email}`,
      on: { click: () => this.#list.act([again], async () => this.#show(await api.renewInvitation(id))) },
    });
    const back = button('Revoke', {
      'aria-label': `Revoke the invitation of ${email}`,
      on: { click: () => this.#list.act([back], () => api.revokeInvitation(id)) },
    });
    const facts = [
      invitation.demo ? 'demo user' : invitation.role,
      `by ${invitation.invited_by_name}`,
      moment(invitation.expires_at, 'ends '),
      !invitation.stands && el('span', { class: 'escalated' }, 'its sender may not invite any more'),
    ];
    const text = el(
      'span',
      { class: 'row-text' },
      el('span', { class: 'row-title' }, email),
      el(
        'span',
        { class: 'facts' },
        facts.filter(Boolean).map((fact) => el('span', {}, fact)),
      ),
    );
    return el('li', { data: { id } }, el('div', { class: 'managed' }, text, el('span', { class: 'buttons' }, again, back)));
  }

  #form() {
    const { me } = this.#context;
    const email = el('input', { type: 'email', required: true, maxLength: 320, autocomplete: 'off' });
    const roles = Object.entries(ROLES).filter(([role]) => role !== 'owner' || me.principal.role === 'owner');
    const role = choice(roles, 'member');
    const demo = check('Demo user: sees everything of their projects and changes nothing', false);
    const boxes = me.projects.map((project) => check(project.name, false, { value: project.id }));
    const sees = el('fieldset', { class: 'field inline' }, el('legend', {}, 'Sees these projects'), boxes);
    const all = () => role.value === 'owner' || role.value === 'admin';
    role.addEventListener('change', () => {
      sees.hidden = demo.hidden = all();
    });
    const problem = new Problem();
    const send = el('button', { type: 'submit', class: 'primary' }, 'Make a link');
    const form = el(
      'form',
      { class: 'adding' },
      el('div', { class: 'side' }, field('E-mail address', email), field('Role', role)),
      sees,
      demo,
      problem.element,
      el('div', { class: 'buttons' }, send),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const chosen = boxes.map((box) => box.firstChild).filter((input) => input.checked && !all());
      const said = {
        email: email.value,
        role: role.value,
        demo: demo.firstChild.checked && !all(),
        projects: chosen.map((input) => input.value),
      };
      if (await this.#list.act([send], async () => this.#show(await api.invite(said)), problem)) {
        form.reset();
        sees.hidden = demo.hidden = false;
      }
    });
    return form;
  }

  #show({ invitation, link }) {
    fill(this.#link, once(`Link for ${invitation.email}`, link, HINT));
  }
}
