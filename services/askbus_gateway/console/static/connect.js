// How an agent is connected: what agents.json says of each, with this deployment's address in it. docs/agents/connecting.md is made from it too.

import { choice, field } from './managed.js';
import { el, fill, Problem } from './elements.js';

const EXAMPLE = 'https://askbus.example';

const here = (text) => text.replaceAll(EXAMPLE, location.origin);
/** A text with its `code` as code. */
const prose = (text) => here(text).split('`').map((part, index) => (index % 2 ? el('code', {}, part) : part));

export class Connect {
  element = el('div');
  #problem = new Problem();
  #shown = el('div', { class: 'setups', 'aria-live': 'polite' });

  constructor() {
    fill(this.element, this.#problem.element);
    this.#read();
  }

  stop() {}

  async #read() {
    try {
      const response = await fetch('/console/agents.json');
      if (!response.ok) throw new Error('What is known of agents could not be read. Load the page again.');
      this.#show(await response.json());
    } catch (error) {
      this.#problem.say(error);
    }
  }

  #show({ ways, agents, troubles }) {
    const chosen = choice(agents.map(({ id, name }) => [id, name]), agents[0].id);
    const show = () => fill(this.#shown, this.#agent(agents.find(({ id }) => id === chosen.value), ways));
    chosen.addEventListener('change', show);
    show();
    fill(
      this.element,
      el(
        'p',
        {},
        'Agents ask you, read records and propose changes over MCP at ',
        el('code', {}, `${location.origin}/mcp`),
        '. They sign you in in the browser, or send a token: ',
        el('a', { href: '/#settings=tokens' }, 'make one'),
        ' that may ask people, read records and propose changes, as far as the agent is to do so.',
      ),
      field('Your agent', chosen),
      this.#shown,
      el(
        'section',
        {},
        el('h2', {}, 'When it does not work'),
        el('dl', { class: 'troubles' }, troubles.map(([what, then]) => [el('dt', {}, prose(what)), el('dd', {}, prose(then))])),
      ),
    );
  }

  #agent({ setups, waits }, ways) {
    const of = (way) => setups.filter((setup) => setup.way === way);
    return [
      ...Object.entries(ways).map(([way, about]) =>
        el(
          'section',
          {},
          el('h2', {}, way === 'http' ? 'Over HTTP' : 'Through askbus mcp'),
          el('p', { class: 'quiet' }, prose(about)),
          of(way).map(({ where, text }) => [el('p', {}, prose(where), ':'), el('pre', { tabIndex: 0 }, el('code', {}, here(text)))]),
        ),
      ),
      el('section', {}, el('h2', {}, 'How long it waits'), el('p', {}, prose(waits))),
    ];
  }
}
