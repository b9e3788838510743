// Making elements. Text becomes text nodes and never markup: nothing that a model, an agent or a record says becomes an element.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element. `how` sets properties; names with a hyphen and `role`, `for`, `list` are set as attributes, `on` adds listeners,
 * `data` sets data attributes. Children are nodes or texts; null, undefined and false are left out.
 */
export function el(tag, how = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(how)) {
    if (value === undefined || value === null) continue;
    if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === 'data') Object.assign(element.dataset, value);
    else if (name === 'class') element.className = value;
    else if (name === 'for') element.htmlFor = value;
    else if (name.includes('-') || name === 'role') element.setAttribute(name, value);
    else element[name] = value;
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Replaces what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const PATHS = {
  back: ['M15 5l-7 7 7 7'],
  bell: ['M6 17.5h12', 'M8 17.5v-6a4 4 0 0 1 8 0v6', 'M12 4.6v1', 'M11 20.4h2'],
  send: ['M12 19V6', 'M6 11.5L12 5.5l6 6'],
  stop: ['M7.5 7.5h9v9h-9z'],
  close: ['M7 7l10 10', 'M17 7L7 17'],
  arrow: ['M5 12h13', 'M13 7l5 5-5 5'],
  down: ['M12 6v12', 'M6.5 12.5L12 18l5.5-5.5'],
  check: ['M5.5 12.5l4.2 4.2L18.5 8'],
  cross: ['M8 8l8 8', 'M16 8l-8 8'],
  clip: ['M8.5 12.5l5.6-5.6a2.6 2.6 0 0 1 3.7 3.7l-7.2 7.2a4.2 4.2 0 0 1-6-6l6.6-6.6'],
  file: ['M7 4h6.5L17.5 8v12H7z', 'M13.5 4v4h4'],
  pencil: ['M5 19l1-4L16 5l3 3L9 18z'],
  more: ['M6 12h.1', 'M12 12h.1', 'M18 12h.1'],
  plus: ['M12 6v12', 'M6 12h12'],
  question: [
    'M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17z',
    'M9.9 9.8a2.2 2.2 0 1 1 3.2 2c-.7.4-1.1.8-1.1 1.6',
    'M12 16.2v.1',
  ],
};

/** One of the console's own small pictures, hidden from screen readers: the text beside it says the same. */
export function icon(name) {
  const picture = document.createElementNS(SVG, 'svg');
  picture.setAttribute('viewBox', '0 0 24 24');
  picture.setAttribute('class', `icon icon-${name}`);
  picture.setAttribute('aria-hidden', 'true');
  for (const shape of PATHS[name]) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', shape);
    picture.append(path);
  }
  return picture;
}

/** A button with a text, and a picture where it helps. Further `how` as in `el`. */
export function button(text, how = {}, picture = null) {
  return el('button', { type: 'button', ...how }, picture && icon(picture), el('span', {}, text));
}

/** A button that is only a picture; `label` is what it is called. */
export function iconButton(label, picture, how = {}) {
  return el('button', { type: 'button', 'aria-label': label, title: label, class: 'round', ...how }, icon(picture));
}

let last = 0;

/** An id for this page, to tie a label or a description to its field. */
export function domId(word) {
  last += 1;
  return `${word}-${last}`;
}

/** A line for what went wrong; empty until `say`. It is read out when it changes. */
export class Problem {
  element = el('p', { class: 'problem', role: 'alert', hidden: true });

  /** `error` in the reader's words; nothing clears the line. */
  say(error) {
    this.element.hidden = !error;
    this.element.textContent = error ? (error.message ?? String(error)) : '';
  }

  /** Runs `work`, saying what goes wrong; while it runs `controls` cannot be pressed. Resolves to whether it went well. */
  async around(controls, work) {
    const pressed = controls.filter((control) => !control.disabled);
    for (const control of pressed) control.disabled = true;
    try {
      this.say(null);
      await work();
      return true;
    } catch (error) {
      this.say(error);
      return false;
    } finally {
      for (const control of pressed) control.disabled = false;
    }
  }
}

/** Says something to screen readers, politely. */
export function announce(text) {
  let region = document.getElementById('announcements');
  if (!region) {
    region = el('div', { id: 'announcements', class: 'unseen', role: 'status', 'aria-live': 'polite' });
    document.body.append(region);
  }
  region.textContent = text;
}
