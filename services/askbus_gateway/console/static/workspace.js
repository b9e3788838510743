// What the team is called, and what it chose for its conversations.

import { api } from './api.js';
import { announce, el, fill, Problem } from './elements.js';
import { check, choice, field } from './managed.js';

const CHECKS = [
  ['mark', 'are marked'],
  ['ask_again', 'are asked for once more, then marked'],
];

export class Workspace {
  element = el('section');
  #problem = new Problem();
  #shown = null;
  #saving = false;
  #unsubscribe;

  constructor(context) {
    const news = (change) => change.entity === 'workspace' && this.#load();
    this.#unsubscribe = context.feed.subscribe({ upsert: news });
    fill(this.element, el('div', { class: 'skeleton' }));
    this.#load();
  }

  stop() {
    this.#unsubscribe();
  }

  /** What somebody else changed is shown anew, but for whoever is at work in the form. */
  async #load() {
    try {
      const found = await api.workspace();
      if (this.#saving) return;
      const known = JSON.stringify(found) === this.#shown || this.element.contains(document.activeElement);
      if (!known || this.#shown === null) this.#show(found);
    } catch (error) {
      fill(this.element, this.#problem.element);
      this.#problem.say(error);
    }
  }

  #show(found) {
    this.#shown = JSON.stringify(found);
    const { workspace, models } = found;
    const name = el('input', { type: 'text', value: workspace.name, required: true, maxLength: 200 });
    const zone = el('input', { type: 'text', value: workspace.time_zone ?? '', maxLength: 100, placeholder: 'Europe/Berlin' });
    const model = choice(
      [['', 'the deployment’s own choice'], ...models.map((each) => [each, each])],
      workspace.model ?? '',
    );
    const checks = choice(CHECKS, workspace.number_check);
    const instructions = el('textarea', { rows: 4, maxLength: 4000, value: workspace.instructions ?? '' });
    const demo = check('Demo users may chat', workspace.demo_chat);
    const save = el('button', { type: 'submit', class: 'primary' }, 'Save');
    const said = el('span', { class: 'quiet' });
    const form = el(
      'form',
      { class: 'adding', on: { input: () => fill(said) } },
      field('Name', name),
      el('div', { class: 'side' }, field('Time zone', zone), field('Model', model)),
      field('Numbers without a source', checks),
      field('Instructions to the model', instructions, 'They are in every prompt of the team’s conversations.'),
      demo,
      this.#problem.element,
      el('div', { class: 'buttons' }, save, said),
    );
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const changed = {
        name: name.value,
        time_zone: zone.value.trim() || null,
        model: model.value || null,
        number_check: checks.value,
        instructions: instructions.value,
        demo_chat: demo.firstChild.checked,
      };
      const change = async () => {
        this.#shown = JSON.stringify(await api.changeWorkspace(changed));
        fill(said, 'Saved.');
        announce('Saved.');
      };
      this.#saving = true;
      await this.#problem.around([...form.elements], change);
      this.#saving = false;
      save.focus();
    });
    fill(this.element, form);
  }
}
