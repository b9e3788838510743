// Apps that people connected: what each may do, where it goes back to, when it was last used; removed here. Admins have the switch.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';
import { check, Managed } from './managed.js';
import { moment } from './words.js';

export class Apps {
  element = el('div');
  #me;
  #lists = [];
  #problem = new Problem();
  #address = el('code');

  constructor(context) {
    this.#me = context.me;
    const admin = ['owner', 'admin'].includes(this.#me.principal.role);
    this.#lists.push(this.#list(context, 'Yours', 'me', 'No apps yet. An agent that speaks MCP asks you when it first connects.'));
    if (admin) this.#lists.push(this.#list(context, 'Everybody’s', 'workspace', 'Nobody has connected an app.'));
    fill(
      this.element,
      el('p', { class: 'quiet' }, 'Agents connect over MCP at ', this.#address, '. An app’s name is its own word.'),
      this.#lists.map((list) => list.element),
      admin && this.#switch(),
    );
  }

  stop() {
    for (const list of this.#lists) list.stop();
  }

  #list(context, title, of, nothing) {
    return new Managed(context, {
      title,
      entities: [],
      read: async () => {
        const { url, apps } = await api.apps({ of });
        this.#address.textContent = url;
        return apps;
      },
      row: (app) => this.#row(app, of === 'workspace'),
      nothing,
    });
  }

  #row(app, everybodys) {
    const names = app.projects?.map((id) => this.#me.projects.find((each) => each.id === id)?.name ?? 'a project you do not see');
    const facts = [
      everybodys && `for ${app.user_name}`,
      `returns to ${app.host}`,
      app.scopes.join(', '),
      names ? `only ${names.join(', ')}` : 'the whole workspace',
      app.last_used_at ? moment(app.last_used_at, 'used ') : 'never used',
      moment(app.created_at, 'connected '),
    ];
    const text = el(
      'span',
      { class: 'row-text' },
      el('span', { class: 'row-title' }, app.name),
      el(
        'span',
        { class: 'facts' },
        facts.filter(Boolean).map((fact) => el('span', {}, fact)),
      ),
    );
    const remove = button('Remove', { 'aria-label': `Remove ${app.name}`, on: { click: () => this.#remove(remove, app) } });
    return el('li', { data: { id: app.id } }, el('div', { class: 'managed' }, text, el('span', { class: 'buttons' }, remove)));
  }

  async #remove(control, app) {
    await this.#lists[0].act([control], () => api.removeApp(app.id));
    for (const list of this.#lists.slice(1)) list.refresh();
  }

  #switch() {
    const toggle = check('Agents may come in over MCP', true, { disabled: true });
    const box = toggle.firstChild;
    const show = async () => {
      box.checked = (await api.apps({ of: 'me' })).mcp;
      box.disabled = false;
    };
    box.addEventListener('change', async () => {
      const wanted = box.checked;
      if (!(await this.#problem.around([box], () => api.setMcp(wanted)))) box.checked = !wanted;
    });
    this.#problem.around([], show);
    const hint = 'Without it every agent is refused at once, with whatever it comes. What people allowed stays, for when it is switched on again.';
    return el('section', {}, el('h2', {}, 'The workspace'), toggle, el('p', { class: 'hint' }, hint), this.#problem.element);
  }
}
