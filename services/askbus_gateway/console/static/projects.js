// The projects of the team: made and named here. Who sees which is said at its members.

import { api } from './api.js';
import { ask } from './asking.js';
import { button, el, fill, Problem } from './elements.js';
import { field, Managed } from './managed.js';

export class Projects {
  element = el('div');
  #list;

  constructor(context) {
    this.#list = new Managed(context, {
      title: 'In the team',
      entities: ['project'],
      read: async () => (await api.projects()).projects,
      row: (project) => this.#row(project),
      nothing: 'No projects yet.',
    });
    fill(this.element, this.#list.element, el('section', {}, el('h2', {}, 'Make a project'), this.#form()));
  }

  stop() {
    this.#list.stop();
  }

  #row(project) {
    const rename = button('Rename', {
      'aria-label': `Rename ${project.name}`,
      data: { key: project.id },
      on: { click: () => this.#rename(project) },
    });
    const text = el('span', { class: 'row-text' }, el('span', { class: 'row-title' }, project.name));
    return el('li', { data: { id: project.id } }, el('div', { class: 'managed' }, text, el('span', { class: 'buttons' }, rename)));
  }

  #rename(project) {
    const name = el('input', { type: 'text', value: project.name, maxLength: 200, required: true });
    name.ariaLabel = 'Name';
    const act = async () => {
      await api.renameProject(project.id, name.value);
      this.#list.refresh();
    };
    ask({ title: 'Rename this project', picture: 'pencil', said: name, yes: 'Rename', act });
    name.select();
  }

  #form() {
    const name = el('input', { type: 'text', required: true, maxLength: 200, autocomplete: 'off' });
    const problem = new Problem();
    const make = el('button', { type: 'submit', class: 'primary' }, 'Make it');
    const form = el('form', { class: 'adding' }, field('Name', name), problem.element, el('div', { class: 'buttons' }, make));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      if (await this.#list.act([make], () => api.createProject(name.value), problem)) form.reset();
    });
    return form;
  }
}
