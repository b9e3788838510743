// Standing approvals: a kind of change that a person allows in advance. Offered on a card, listed, and revoked.

import { api } from './api.js';
import { CardHeader } from './card.js';
import { button, domId, el, fill, Problem } from './elements.js';
import { reasonNot } from './rights.js';
import { count, moment } from './words.js';

const HOUR = 3600;
const BOUNDED = new Set(['integer', 'decimal', 'date']);
const LISTED = new Set([...BOUNDED, 'text', 'enum', 'boolean', 'uuid']);
const STATES = {
  active: ['Allowed', 'good'],
  used_up: ['Used up', 'quiet'],
  revoked: ['Revoked', 'quiet'],
  expired: ['Expired', 'quiet'],
};

/** The kinds of change in one word or two, as a sentence begins. */
function verbs(kinds) {
  const words = ['create', 'update'].filter((kind) => kinds.includes(kind)).join(' or ');
  return words[0].toUpperCase() + words.slice(1);
}

const quoted = (value) => (value === null ? 'no value' : `“${value}”`);

function limits({ field, values, minimum, maximum }) {
  const said = [];
  if (values) said.push(`only ${values.map(quoted).join(' or ')}`);
  if (minimum !== null && minimum !== undefined) said.push(`at least ${minimum}`);
  if (maximum !== null && maximum !== undefined) said.push(`at most ${maximum}`);
  return `${field}: ${said.join(', ') || 'any value'}`;
}

/** What one covers, in one line and one for each field. */
function covered({ collection, kinds, fields, most_records: most }) {
  const records = most === 1 ? 'one record at a time' : `up to ${most} records at a time`;
  return el(
    'div',
    { class: 'covered' },
    el('p', {}, el('strong', {}, `${verbs(kinds)} ${collection}`), `, ${records}`),
    el(
      'ul',
      {},
      fields.map((each) => el('li', {}, limits(each))),
    ),
  );
}

/** One of them in a list. */
export function approvalRow(approval, context) {
  const { cover, uses, most_uses: most, made_by: by, token_name: token } = approval;
  const where = token ? `by ${token}` : 'in one conversation';
  const title = `${verbs(cover.kinds)} ${cover.collection}: ${cover.fields.map(limits).join('; ')}`;
  const facts = [where, `by ${by}`, `used ${uses} of ${count(most, 'time')}`, moment(approval.expires_at, 'ends ')];
  const text = el(
    'span',
    { class: 'row-text' },
    el('span', { class: 'row-title' }, title),
    el(
      'span',
      { class: 'facts' },
      facts.map((fact) => el('span', {}, fact)),
    ),
  );
  const open = el('button', { type: 'button', class: 'row', on: { click: () => context.openApproval(approval.id) } }, text);
  return el('li', { data: { id: approval.id } }, open);
}

/** Shows one as it stands now, with Revoke for those who may. `context` is `{me, feed}`. */
export class ApprovalCard {
  element = el('article', { class: 'card approval', 'aria-busy': 'true' });
  #id;
  #me;
  #header = new CardHeader('check', 'Allowed without asking');
  #body = el('div', { class: 'body' });
  #problem = new Problem();
  #foot = el('footer');
  #unsubscribe;

  constructor(id, { me, feed }) {
    this.#id = id;
    this.#me = me;
    const moved = (change) => change.id === id && this.#load();
    this.#unsubscribe = feed.subscribe({ init: () => this.#load(), upsert: moved, remove: moved });
    fill(this.element, this.#header.element, this.#body, this.#problem.element, this.#foot);
    this.#load();
  }

  stop() {
    this.#unsubscribe();
  }

  async #load() {
    try {
      this.#show(await api.approval(this.#id));
    } catch (error) {
      this.#problem.say(error);
    }
  }

  #show(approval) {
    this.element.removeAttribute('aria-busy');
    this.#problem.say(null);
    this.#header.show('Allowed without asking', STATES[approval.state]);
    const { uses, most_uses: most, most_per_day: daily, token_name: token } = approval;
    const where = token ? `What ${token} proposes` : 'What the assistant proposes in one conversation';
    const often = `Used ${uses} of ${count(most, 'time')}${daily ? `, at most ${daily} in 24 hours` : ''}. `;
    fill(
      this.#body,
      el('p', { class: 'quiet' }, `${where} is confirmed in ${approval.made_by}’s name while it is no more than this:`),
      covered(approval.cover),
      el('p', { class: 'quiet' }, often, moment(approval.made_at, 'Made '), ', ', moment(approval.expires_at, 'ends '), '.'),
      approval.state === 'revoked' &&
        el('p', { class: 'quiet' }, `Revoked${approval.revoked_by_name ? ` by ${approval.revoked_by_name}` : ''} `, moment(approval.ended_at)),
    );
    const { user_id: me, role } = this.#me.principal;
    const mayRevoke =
      (approval.user_id === me || role === 'owner' || role === 'admin') && !reasonNot(this.#me, 'actions:confirm', approval.project_id);
    const revoke = button('Revoke', { class: 'danger', on: { click: () => this.#revoke(revoke) } });
    fill(this.#foot, approval.state === 'active' && mayRevoke && el('div', { class: 'buttons' }, revoke));
  }

  async #revoke(control) {
    await this.#problem.around([control], async () => this.#show(await api.revokeApproval(this.#id)));
  }
}

/** What may become of one field: only the values of the card, values between bounds, or any. `read()` is its part of the wish. */
class FieldChoice {
  element;
  #field;
  #values;
  #choice;
  #bounds;

  constructor(field, changes, onChange) {
    this.#field = field;
    const { kind } = changes[0];
    const referring = changes.some((change) => change.ref);
    this.#values = [...new Set(changes.map((change) => change.after))];
    const known = LISTED.has(kind) && !referring && !changes.some((change) => change.cut);
    const options = [
      known && ['values', `only ${this.#values.map(quoted).join(' or ')}`],
      known && BOUNDED.has(kind) && ['bounds', 'between two values'],
      ['any', 'any value'],
    ].filter(Boolean);
    const id = domId('limit');
    this.#choice = el(
      'select',
      { id },
      options.map(([value, text]) => el('option', { value }, text)),
    );
    const bound = (label) => el('input', { type: 'text', 'aria-label': `${field}: ${label}`, placeholder: label, autocomplete: 'off' });
    this.#bounds = [bound('at least'), bound('at most')];
    const between = el('div', { class: 'bounds', hidden: true }, this.#bounds);
    this.#choice.addEventListener('change', () => {
      between.hidden = this.#choice.value !== 'bounds';
    });
    this.element = el('div', { class: 'field' }, el('label', { for: id }, field), this.#choice, between);
    this.element.addEventListener('input', onChange);
  }

  read() {
    const wish = { field: this.#field };
    if (this.#choice.value === 'values') wish.values = this.#values;
    if (this.#choice.value === 'bounds') {
      const [minimum, maximum] = this.#bounds.map((each) => each.value.trim() || null);
      Object.assign(wish, { minimum, maximum });
    }
    return wish;
  }
}

/**
 * Offers on an action's card to allow changes like it: for its maker, where the deployment lets them. `context` is `{me, lists, openApproval}`.
 * Nothing is allowed before the person has read what it comes to and pressed the button.
 */
export class ApprovalOffer {
  element = el('details', { class: 'offer', hidden: true });
  #action;
  #context;
  #fields;
  #unsubscribe;
  #words = el('div', { class: 'preview', 'aria-live': 'polite' });
  #problem = new Problem();
  #most = el('input', { type: 'number', min: 1, max: 1000, value: 10, required: true });
  #records = el('input', { type: 'number', min: 1, max: 100, value: 1, required: true });
  #until = el('select');

  constructor(action, context) {
    this.#action = action;
    this.#context = context;
    const [first, ...others] = action.card;
    const own = action.user_id === context.me.principal.user_id && (action.token_id || action.thread_id);
    const fits = own && others.every((each) => each.collection === first.collection);
    const changes = Map.groupBy(
      action.card.flatMap((each) => each.changes),
      (change) => change.field,
    );
    this.#fields = [...changes].map(([field, all]) => new FieldChoice(field, all, () => this.#say()));
    this.#records.value = action.card.length;
    const { approvals } = context.lists;
    this.#unsubscribe = approvals.subscribe(() => {
      this.element.hidden = !fits || !approvals.longestDays || reasonNot(context.me, 'actions:confirm', action.project_id) !== null;
    });
    const place = action.token_id ? `from ${action.proposed_with ?? 'this token'}` : 'in this conversation';
    fill(this.element, el('summary', {}, `Allow changes like this ${place} without asking…`));
    const build = () => this.element.open && this.#offer(approvals.longestDays);
    this.element.addEventListener('toggle', build, { once: true });
  }

  stop() {
    this.#unsubscribe();
  }

  #offer(days) {
    const spans = [
      [HOUR, 'for an hour'],
      [8 * HOUR, 'for 8 hours'],
      ...[1, 7, 30].filter((each) => each <= days).map((each) => [each * 24 * HOUR, `for ${count(each, 'day')}`]),
    ];
    fill(
      this.#until,
      spans.map(([value, text]) => el('option', { value }, text)),
    );
    const labelled = (text, control) => {
      control.id = domId('offer');
      return el('div', { class: 'field' }, el('label', { for: control.id }, text), control);
    };
    const form = el(
      'form',
      { on: { submit: (event) => this.#allow(event), input: () => this.#say() } },
      this.#fields.map((field) => field.element),
      el(
        'div',
        { class: 'side' },
        labelled('Records at a time, at most', this.#records),
        labelled('How often, at most', this.#most),
        labelled('How long', this.#until),
      ),
      this.#words,
      this.#problem.element,
      el('div', { class: 'buttons' }, el('button', { type: 'submit', class: 'primary' }, 'Allow this')),
    );
    this.element.append(form);
    this.#say();
  }

  #wish() {
    const { card } = this.#action;
    return {
      collection: card[0].collection,
      kinds: [...new Set(card.map((each) => each.kind))],
      fields: this.#fields.map((field) => field.read()),
      most_records: this.#records.valueAsNumber || 1,
    };
  }

  #say() {
    const who = this.#action.token_id ? (this.#action.proposed_with ?? 'this token') : 'the assistant, in this conversation,';
    fill(
      this.#words,
      el('p', {}, `What ${who} proposes from now on is confirmed in your name, without asking you, while it is no more than this:`),
      covered(this.#wish()),
      el('p', { class: 'quiet' }, 'Each change is still shown and can be undone, and you can revoke this at any time.'),
      this.#action.state === 'pending' && el('p', { class: 'quiet' }, 'The change above still waits for you.'),
    );
  }

  async #allow(event) {
    event.preventDefault();
    const { project_id: project, thread_id: thread, token_id: token } = this.#action;
    const place = token ? { token_id: token } : { thread_id: thread };
    await this.#problem.around([...this.element.querySelectorAll('button')], async () => {
      const approval = await api.makeApproval({
        project_id: project,
        ...place,
        allow: this.#wish(),
        most_uses: this.#most.valueAsNumber,
        expires_in: Number(this.#until.value),
      });
      const see = button('See or revoke it', { class: 'link', on: { click: () => this.#context.openApproval(approval.id) } });
      fill(this.element, el('summary', {}, 'Changes like this are allowed'), el('p', { class: 'quiet', role: 'status' }, moment(approval.expires_at, 'Ends '), '. ', see));
      this.element.open = true;
    });
  }
}
