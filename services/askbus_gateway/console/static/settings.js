// Settings: the team for those who manage it, and what is one's own; one section at a time.

import { Apps } from './apps.js';
import { Audit } from './audit.js';
import { Connect } from './connect.js';
import { el } from './elements.js';
import { Members } from './members.js';
import { Password } from './password.js';
import { Projects } from './projects.js';
import { Tokens } from './tokens.js';
import { Workspace } from './workspace.js';

/** By their part of the address: title, what shows it (`element`, `stop()`), and whether it is for owners and admins alone. */
const SECTIONS = {
  members: ['Members', Members, true],
  projects: ['Projects', Projects, true],
  workspace: ['Workspace', Workspace, true],
  tokens: ['API tokens', Tokens, false],
  apps: ['Connected apps', Apps, false],
  connect: ['Connect an agent', Connect, false],
  password: ['Password', Password, false],
  audit: ['Audit log', Audit, true],
};

/** Whether this person manages the team. */
function manages(me) {
  return me.principal.role === 'owner' || me.principal.role === 'admin';
}

export class Settings {
  element;
  #section;
  #heading;

  /** `name` is a section's; another one, or one that is not for this person, shows the first that is. */
  constructor(context, name) {
    const open = Object.entries(SECTIONS).filter(([, [, , forAdmins]]) => !forAdmins || manages(context.me));
    const [current, [title, Section]] = open.find(([each]) => each === name) ?? open[0];
    this.#section = new Section(context);
    this.#heading = el('h1', { tabIndex: -1 }, title);
    const links = open.map(([each, [text]]) =>
      el('a', { href: `/#settings=${each}`, 'aria-current': each === current ? 'page' : null }, text),
    );
    this.element = el(
      'main',
      { class: 'home settings' },
      el('div', { class: 'column' }, el('nav', { 'aria-label': 'Settings' }, links), this.#heading, this.#section.element),
    );
  }

  stop() {
    this.#section.stop();
  }

  focus() {
    this.#heading.focus();
  }
}
