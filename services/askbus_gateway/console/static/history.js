// What is stored of a conversation, put in order: each message of the person's with every answer that was tried for it.

import { api } from './api.js';
import { OPEN } from './turn.js';

/**
 * Reads it: `{thread, tries}`. A try is a turn: `{id, of, said, messages, actions, open, turn, replaced, again}`. `of` is the turn that brought the
 * message, and `said` is that message where it is this one. `turn` is its outcome where its messages do not say it all, `again` whether
 * answering once more is safe: always told of the last message's answers, of others where they are new. `views` are the turns that are
 * shown: `{id, of, settled}`.
 */
export async function readHistory(threadId, views) {
  const thread = await api.thread(threadId);
  const tries = byTurn(thread);
  await addActions(tries, thread);
  const last = [...tries.values()].findLast((each) => each.said)?.id;
  for (const { id, of, settled } of views) if (!settled && !tries.has(id)) tries.set(id, { ...made(id), of });
  const settled = new Set(views.filter((view) => view.settled).map((view) => view.id));
  await Promise.all([...tries.values()].map((each) => complete(each, last, settled)));
  await addSilent(tries);
  const groups = new Map();
  for (const each of tries.values()) groups.set(each.of, [...(groups.get(each.of) ?? []), each]);
  for (const group of groups.values()) for (const each of group) each.replaced = each !== group.at(-1);
  return { thread, tries: [...groups.values()].flat() };
}

function made(id, open = false) {
  return { id, of: null, said: null, messages: [], actions: [], open, turn: undefined, again: undefined };
}

/** The answers to one message stand together: a turn without a message of the person's answers the one before it again. */
function byTurn({ messages, open_turns: open }) {
  const tries = new Map();
  let of = null;
  for (const message of messages) {
    const id = message.turn_id;
    if (!tries.has(id)) tries.set(id, made(id, open.includes(id)));
    const each = tries.get(id);
    if (message.role === 'user') {
      of = id;
      each.said = message;
    }
    each.of = of ?? id;
    each.messages.push(message);
  }
  for (const id of open) if (!tries.has(id)) tries.set(id, made(id, true));
  return tries;
}

/** Which changes came of each turn: those that a person proposed again are in none of its messages. */
async function addActions(tries, { id, messages }) {
  if (!messages.some((message) => message.calls.some((call) => call.action_id))) return;
  const { actions } = await api.actions({ thread_id: id, limit: 200 });
  for (const action of actions.reverse()) tries.get(action.turn_id)?.actions.push(action.id);
}

/** How it ended, where that is not known, and which message it answers, where it has said nothing yet. */
async function complete(each, last, settled) {
  const end = each.messages.at(-1);
  const plain = end?.role === 'assistant' && !end.calls.length && !end.replaced && !['stopped', 'failed'].includes(end.cut);
  const known = each.open ? each.of : each.of !== last && (plain || settled.has(each.id));
  if (!known) tell(each, await api.turn(each.id));
}

/** What it said after the conversation was read is to be read still: until then it counts as open. */
function tell(each, turn) {
  each.of ??= turn.retry_of ?? turn.id;
  each.open = OPEN.has(turn.state) || (!each.messages.length && turn.answer !== null);
  if (each.open) return;
  each.turn = turn;
  each.again = turn.retry && turn.cancel_reason !== 'superseded';
}

/** The latest answers that ended without a word: only the turns that they replace know of them. */
async function addSilent(tries) {
  const named = [...tries.values()].map((each) => each.turn?.replaced_by).filter((id) => id && !tries.has(id));
  for (const id of new Set(named)) {
    const each = made(id);
    tell(each, await api.turn(id));
    tries.set(id, each);
  }
}
