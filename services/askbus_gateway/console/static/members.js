// Who is in the team, as what, and who is invited.

import { api } from './api.js';
import { ask } from './asking.js';
import { button, el, fill } from './elements.js';
import { Invitations } from './invitations.js';
import { check, choice, Managed, ROLES } from './managed.js';

/** Every member, read page by page, by name. */
async function everybody() {
  const found = [];
  for (let before; before !== null; ) {
    const page = await api.team({ before });
    found.push(...page.members);
    before = page.next;
  }
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

export class Members {
  element = el('div');
  #context;
  #projects = [];
  #list;
  #invitations;

  constructor(context) {
    this.#context = context;
    this.#list = new Managed(context, {
      title: 'In the team',
      entities: ['member', 'project'],
      read: async () => {
        const [members, { projects }] = await Promise.all([everybody(), api.projects()]);
        this.#projects = projects;
        return members;
      },
      row: (member) => this.#row(member),
      nothing: 'Nobody.',
    });
    this.#invitations = new Invitations(context);
    fill(this.element, this.#list.element, this.#invitations.element);
  }

  stop() {
    this.#list.stop();
    this.#invitations.stop();
  }

  #row(member) {
    const { user_id: self, role: mine } = this.#context.me.principal;
    const disabled = member.role === 'owner' && mine !== 'owner';
    const roles = Object.entries(ROLES).filter(([role]) => role !== 'owner' || mine === 'owner' || member.role === 'owner');
    const change = (control, said) => this.#list.act([control], () => api.changeMember(member.id, said));
    const role = choice(roles, member.role, { 'aria-label': `Role of ${member.name}`, disabled, data: { key: `role ${member.id}` } });
    role.addEventListener('change', () => change(role, { role: role.value }));
    const sees = member.role === 'owner' || member.role === 'admin';
    const demo = check('Demo', member.demo, { disabled: disabled || sees, data: { key: `demo ${member.id}` } });
    demo.title = 'Sees everything of their projects and changes nothing';
    demo.firstChild.ariaLabel = `${member.name} is a demo user`;
    demo.firstChild.addEventListener('change', () => change(demo.firstChild, { demo: demo.firstChild.checked }));
    const away = button(member.id === self ? 'Leave' : 'Remove', {
      disabled,
      'aria-label': member.id === self ? 'Leave the team' : `Remove ${member.name}`,
      on: { click: () => this.#remove(member, member.id === self) },
    });
    const text = el(
      'span',
      { class: 'row-text' },
      el('span', { class: 'row-title' }, member.name),
      el('span', { class: 'facts' }, el('span', {}, member.email), sees && el('span', {}, 'sees every project')),
    );
    return el(
      'li',
      { data: { id: member.id } },
      el('div', { class: 'managed' }, text, demo, role, el('span', { class: 'buttons' }, away)),
      !sees && this.#seen(member),
    );
  }

  #seen(member) {
    return el(
      'div',
      { class: 'seen', role: 'group', 'aria-label': `Projects of ${member.name}` },
      this.#projects.map((project) => {
        const box = check(project.name, member.projects.includes(project.id), { data: { key: `${member.id} ${project.id}` } });
        const input = box.firstChild;
        input.addEventListener('change', () =>
          this.#list.act([input], () =>
            input.checked ? api.addToProject(project.id, member.id) : api.removeFromProject(project.id, member.id),
          ),
        );
        return box;
      }),
    );
  }

  #remove(member, leaving) {
    ask({
      title: leaving ? 'Leave the team?' : `Remove ${member.name}?`,
      picture: 'cross',
      said: el('p', {}, `${leaving ? 'Your' : 'Their'} sessions and API tokens end at once. What was decided stays.`),
      yes: leaving ? 'Leave' : 'Remove',
      act: async () => {
        await api.dismissMember(member.id);
        this.#list.refresh();
      },
    });
  }
}
