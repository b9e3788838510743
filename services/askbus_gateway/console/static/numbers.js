// Numbers of an answer that have no source, shown to whoever reads it: marked in the text, and named in a line below.

import { el } from './elements.js';

const WHY = 'No source was found for this number.';
/** Where text is not prose, or where a mark would stand in something that can be pressed. */
const LEFT_ALONE = 'pre, code, a, button, mark';

/** Marks them wherever they stand in the shown text. Text nodes are split and nothing is parsed, so that nothing new can come in. */
export function markNumbers(element, numbers) {
  const texts = [...new Set(numbers.map((number) => number.text))].sort((one, other) => other.length - one.length);
  if (texts.length === 0) return;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}.,])(?:${texts.map(literal).join('|')})(?![\\p{N}]|[.,]\\p{N})`, 'gu');
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(LEFT_ALONE)) nodes.push(walker.currentNode);
  for (const node of nodes) split(node, pattern);
}

/** The line below the answer; null where there is nothing to tell. */
export function numbersNote(numbers) {
  const texts = [...new Set(numbers.map((number) => number.text))];
  if (texts.length === 0) return null;
  return el('p', { class: 'quiet unsourced-note' }, `No source was found for ${texts.join(', ')}. Check before you rely on it.`);
}

function literal(text) {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&').replace(/\s/g, '\\s');
}

function split(node, pattern) {
  const text = node.textContent;
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    parts.push(el('mark', { class: 'unsourced', title: WHY }, match[0]));
    at = match.index + match[0].length;
  }
  if (at > 0) node.replaceWith(...parts, text.slice(at));
}
