// One's own API tokens: made, shown once, revoked.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';
import { check, field, Managed, once } from './managed.js';
import { moment } from './words.js';

const SCOPES = {
  'data:read': 'Read records',
  'data:refresh': 'Read records anew for charts',
  'charts:preview': 'Make previews of charts',
  'datasets:write': 'Store datasets',
  'questions:ask': 'Ask people',
  'questions:answer': 'Answer for you',
  'actions:propose': 'Propose changes',
  chat: 'Chat with the assistant',
};
const STATES = { active: null, revoked: 'revoked', expired: 'expired' };

export class Tokens {
  element = el('div');
  #me;
  #list;
  #secret = el('div');

  constructor(context) {
    this.#me = context.me;
    this.#list = new Managed(context, {
      title: 'Yours',
      entities: [],
      read: async () => (await api.tokens()).tokens,
      row: (token) => this.#row(token),
      nothing: 'No tokens yet. An agent needs one to act for you.',
    });
    const reason = this.#me.principal.demo && 'This is a demo account: it can look at everything and change nothing.';
    const making = reason ? el('p', { class: 'quiet' }, reason) : this.#form();
    fill(this.element, this.#list.element, el('section', {}, el('h2', {}, 'Make a token'), making, this.#secret));
  }

  stop() {
    this.#list.stop();
  }

  #row(token) {
    const names = token.projects?.map((id) => this.#me.projects.find((each) => each.id === id)?.name ?? 'a project you do not see');
    const facts = [
      STATES[token.state] && el('span', { class: 'escalated' }, STATES[token.state]),
      el('code', {}, `${token.prefix}…`),
      token.scopes.map((scope) => SCOPES[scope] ?? scope).join(', '),
      names && `only ${names.join(', ')}`,
      token.last_used_at ? moment(token.last_used_at, 'used ') : 'never used',
      token.expires_at && moment(token.expires_at, 'until '),
    ];
    const text = el(
      'span',
      { class: 'row-text' },
      el('span', { class: 'row-title' }, token.name),
      el(
        'span',
        { class: 'facts' },
        facts.filter(Boolean).map((fact) => el('span', {}, fact)),
      ),
    );
    const revoke = button('Revoke', {
      'aria-label': `Revoke ${token.name}`,
      on: { click: () => this.#list.act([revoke], () => api.revokeToken(token.id)) },
    });
    return el(
      'li',
      { data: { id: token.id } },
      el('div', { class: 'managed' }, text, token.state === 'active' && el('span', { class: 'buttons' }, revoke)),
    );
  }

  #form() {
    const { projects, principal } = this.#me;
    const name = el('input', { type: 'text', required: true, maxLength: 200, autocomplete: 'off', placeholder: 'What will use it' });
    const until = el('input', { type: 'date', min: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) });
    const offered = Object.entries(SCOPES).filter(([scope]) => principal.scopes.includes(scope));
    const scopes = offered.map(([scope, text]) => check(text, scope === 'data:read', { value: scope }));
    const places = projects.map((project) => check(project.name, false, { value: project.id }));
    const chosen = (boxes) => boxes.map((box) => box.firstChild).filter((input) => input.checked);
    const problem = new Problem();
    const make = el('button', { type: 'submit', class: 'primary' }, 'Make it');
    const form = el(
      'form',
      { class: 'adding' },
      el('div', { class: 'side' }, field('Name', name), field('Until (empty: for ever)', until)),
      el('fieldset', { class: 'field inline' }, el('legend', {}, 'It may'), scopes),
      projects.length > 1 && el('fieldset', { class: 'field inline' }, el('legend', {}, 'Only in (none: in all of yours)'), places),
      problem.element,
      el('div', { class: 'buttons' }, make),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const only = chosen(places).map((input) => input.value);
      const said = {
        name: name.value,
        scopes: chosen(scopes).map((input) => input.value),
        projects: only.length ? only : null,
        expires_at: until.value ? new Date(`${until.value}T00:00:00`).toISOString() : null,
      };
      const made = async () => {
        const { secret } = await api.createToken(said);
        fill(this.#secret, once(`Token for ${said.name}`, secret, 'It is shown here this once: whoever has it acts for you.'));
      };
      if (await this.#list.act([make], made, problem)) form.reset();
    });
    return form;
  }
}
