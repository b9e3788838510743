// The fields in which a question is answered: options, a form from the answer schema, own words. And answers as people read them.

import { domId, el } from './elements.js';

const LONGEST_TEXT = 20_000;
/** Strings that may be longer than this get a field of several lines. */
const ONE_LINE = 200;

/**
 * The fields for a question. `read()` returns the answer as the API wants it, or null after it told the person what is missing.
 */
export class AnswerFields {
  element = el('div', { class: 'fields' });
  #read;

  constructor(question) {
    const make = question.answer_schema ? schemaFields : question.options.length ? optionFields : ownWords;
    const { nodes, read } = make(question);
    this.element.append(...nodes);
    this.#read = read;
  }

  read() {
    const answer = this.#read();
    const wrong = [...this.element.querySelectorAll('input, textarea, select')].find((field) => !field.checkValidity());
    if (!wrong) return answer;
    wrong.reportValidity();
    return null;
  }

  focus() {
    this.element.querySelector('input, textarea, select')?.focus();
  }
}

/** Says what is wrong with a field until it is changed. */
function complain(field, text) {
  field.setCustomValidity(text);
  const clear = () => field.setCustomValidity('');
  field.closest('.fields')?.addEventListener('input', clear, { once: true });
}

function ownWords() {
  const field = el('textarea', { rows: 3, required: true, maxLength: LONGEST_TEXT, 'aria-label': 'Your answer' });
  const read = () => {
    if (field.value && !field.value.trim()) complain(field, 'Write something.');
    return field.value.trim();
  };
  return { nodes: [field], read };
}

function choice(type, name, text, how = {}) {
  return el('label', { class: 'choice' }, el('input', { type, name, value: text, ...how }), el('span', {}, text));
}

const OWN = 'In my own words';

function optionFields({ options, multiple, free_text: free }) {
  const name = domId('option');
  const type = multiple ? 'checkbox' : 'radio';
  const labels = options.map((option) => choice(type, name, option, { required: !multiple }));
  const inputs = labels.map((label) => label.firstChild);
  const text = el('textarea', { rows: 2, maxLength: LONGEST_TEXT, 'aria-label': OWN, hidden: true });
  const own = free ? choice(type, name, OWN, { required: !multiple }) : null;
  const group = el(
    'fieldset',
    {},
    el('legend', { class: 'unseen' }, multiple ? 'Choose one or more' : 'Choose one'),
    labels,
    own,
    own && text,
  );
  group.addEventListener('change', () => {
    text.hidden = !own?.firstChild.checked;
    text.required = !text.hidden;
  });
  const read = () => {
    const chosen = inputs.filter((input) => input.checked).map((input) => input.value);
    const words = !text.hidden && text.value.trim();
    if (words && !chosen.includes(words)) chosen.push(words);
    if (multiple && !chosen.length && text.hidden) complain(inputs[0], 'Choose at least one.');
    if (!text.hidden && text.value && !words) complain(text, 'Write something.');
    return multiple ? chosen : chosen[0];
  };
  return { nodes: [group], read };
}

/**
 * A typed field for each property: the required ones first, in the asker's order (the others have none: the database keeps an
 * object's members in its own). What is left empty is left out.
 */
function schemaFields({ answer_schema: { properties, required } }) {
  const names = [...required, ...Object.keys(properties).filter((name) => !required.includes(name))];
  const fields = names.map((name) => [name, propertyField(name, properties[name], required.includes(name))]);
  const read = () => {
    const answer = {};
    for (const [name, field] of fields) {
      const value = field.read();
      if (value !== undefined) answer[name] = value;
    }
    if (!Object.keys(answer).length) complain(fields[0][1].control, 'Fill in at least one field.');
    return answer;
  };
  return { nodes: fields.map(([, field]) => field.node), read };
}

function propertyField(name, property, required) {
  if (property.type === 'boolean') return booleanField(name, property, required);
  if (property.enum) return enumField(name, property, required);
  return property.type === 'string' ? textField(name, property, required) : numberField(name, property, required);
}

function labelled(name, property, required, control) {
  control.id = domId('field');
  const hint = property.description && el('span', { class: 'hint', id: domId('hint') }, property.description);
  if (hint) control.setAttribute('aria-describedby', hint.id);
  const optional = !required && el('span', { class: 'optional' }, 'optional');
  return el('div', { class: 'field' }, el('label', { for: control.id }, property.title ?? name, optional), hint, control);
}

function textField(name, property, required) {
  const longest = property.maxLength ?? LONGEST_TEXT;
  const limits = { required, maxLength: longest, ...(property.minLength ? { minLength: property.minLength } : {}) };
  const control = longest > ONE_LINE ? el('textarea', { rows: 2, ...limits }) : el('input', { type: 'text', ...limits });
  return { node: labelled(name, property, required, control), control, read: () => control.value || undefined };
}

function numberField(name, property, required) {
  const whole = property.type === 'integer';
  const limits = { min: property.minimum ?? '', max: property.maximum ?? '', step: whole ? 1 : 'any' };
  const control = el('input', { type: 'number', inputMode: whole ? 'numeric' : 'decimal', required, ...limits });
  const read = () => {
    if (control.value === '') return undefined;
    const number = control.valueAsNumber;
    if (whole && !Number.isSafeInteger(number)) complain(control, 'This is not a whole number that can be sent exactly.');
    return number;
  };
  return { node: labelled(name, property, required, control), control, read };
}

function enumField(name, property, required) {
  const blank = el('option', { value: '' }, required ? 'Choose…' : 'No answer');
  const control = el(
    'select',
    { required },
    blank,
    property.enum.map((text, at) => el('option', { value: String(at) }, text)),
  );
  const read = () => (control.value === '' ? undefined : property.enum[Number(control.value)]);
  return { node: labelled(name, property, required, control), control, read };
}

function booleanField(name, property, required) {
  const group = domId('yes-no');
  const [yes, no] = ['Yes', 'No'].map((text) => choice('radio', group, text, { required }));
  const unsaid = required ? null : choice('radio', group, 'No answer', { checked: true });
  const legend = el('legend', {}, property.title ?? name, !required && el('span', { class: 'optional' }, 'optional'));
  const hint = property.description && el('span', { class: 'hint' }, property.description);
  const node = el('fieldset', { class: 'field inline' }, legend, hint, yes, no, unsaid);
  const read = () => (yes.firstChild.checked ? true : no.firstChild.checked ? false : undefined);
  return { node, control: yes.firstChild, read };
}

function spoken(value) {
  if (value === true) return 'Yes';
  return value === false ? 'No' : String(value);
}

/** An answer as a person reads it. */
export function answerShown({ answer, answer_schema: schema }) {
  if (Array.isArray(answer))
    return el(
      'ul',
      { class: 'given' },
      answer.map((each) => el('li', {}, spoken(each))),
    );
  if (answer === null || typeof answer !== 'object') return el('p', { class: 'given' }, spoken(answer));
  return el(
    'dl',
    { class: 'given' },
    Object.entries(answer).map(([name, value]) => [
      el('dt', {}, schema?.properties[name]?.title ?? name),
      el('dd', {}, spoken(value)),
    ]),
  );
}
