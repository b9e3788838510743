// askbus over HTTP: the reference client for a browser. It knows nothing of the console that uses it.

/** What the server answered when it refused: `message` is for the reader, `code` and `details` are for the program. */
export class ApiError extends Error {
  constructor(status, body) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.details = body.details ?? {};
  }
}

const TRIES = 3;
const FIRST_PAUSE = 300;
const AGAIN = new Set([502, 503, 504]);

/** A new UUID. `crypto.randomUUID` would do, but exists on https and localhost alone. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function bodyOf(response) {
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return { code: 'internal', message: `The server answered with something unexpected (${response.status}).` };
  }
}

async function once(method, path, said, key) {
  const headers = { accept: 'application/json', 'x-askbus': '1' };
  const raw = said instanceof Blob;
  if (said !== undefined) headers['content-type'] = raw ? said.type || 'application/octet-stream' : 'application/json';
  if (key) headers['idempotency-key'] = key;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: said === undefined || raw ? said : JSON.stringify(said),
      cache: 'no-store',
    });
  } catch {
    throw new ApiError(0, {
      code: 'unavailable',
      message: 'The server cannot be reached. Check your connection and try again.',
    });
  }
  const body = await bodyOf(response);
  if (response.ok) return body;
  throw new ApiError(response.status, body ?? { code: 'internal', message: `The server refused (${response.status}).` });
}

/**
 * One request. What may have been lost on the way is sent again, with the same id, so that the server does it once.
 * Throws ApiError.
 */
async function send(method, path, said, { tries = TRIES, key = method === 'POST' ? newId() : null } = {}) {
  for (let tried = 1; ; tried += 1) {
    try {
      return await once(method, path, said, key);
    } catch (error) {
      const worthIt = error.status === 0 || AGAIN.has(error.status);
      if (!worthIt || tried >= tries) throw error;
      await pause(FIRST_PAUSE * 2 ** (tried - 1) * (0.5 + Math.random()));
    }
  }
}

function query(wanted) {
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined && value !== null);
  return given.length ? `?${new URLSearchParams(given)}` : '';
}

export const api = {
  me: () => send('GET', '/v1/me'),
  signIn: (code) => send('POST', '/v1/session', { code }, { tries: 1 }),
  waysIn: () => send('GET', '/v1/sign-in'),
  signInByPassword: (email, password) => send('POST', '/v1/session/password', { email, password }, { tries: 1 }),
  beginSignIn: (provider, returnTo) => send('POST', `/v1/sign-in/${provider}`, { return_to: returnTo }),
  setPassword: (code, password) => send('POST', '/v1/password', { code, password }, { tries: 1 }),
  ownPassword: () => send('GET', '/v1/me/password'),
  changePassword: (password, current) => send('PUT', '/v1/me/password', current ? { password, current } : { password }, { tries: 1 }),
  ownWorkspaces: () => send('GET', '/v1/session/workspaces'),
  switchWorkspace: (id) => send('POST', '/v1/session/workspace', { workspace_id: id }, { tries: 1 }),
  signOut: () => send('DELETE', '/v1/session'),
  lookAtInvitation: (code) => send('POST', '/v1/invitations/look-at', { code }, { key: null }),
  acceptInvitation: (code, name) => send('POST', '/v1/invitations/accept', name ? { code, name } : { code }, { tries: 1 }),
  tokens: () => send('GET', '/v1/tokens'),
  createToken: (token) => send('POST', '/v1/tokens', token, { tries: 1 }),
  revokeToken: (id) => send('DELETE', `/v1/tokens/${id}`),
  apps: (wanted = {}) => send('GET', `/v1/connected-apps${query(wanted)}`),
  removeApp: (id) => send('DELETE', `/v1/connected-apps/${id}`),
  setMcp: (mcp) => send('PATCH', '/v1/connected-apps', { mcp }),

  workspace: () => send('GET', '/v1/workspace'),
  changeWorkspace: (said) => send('PATCH', '/v1/workspace', said),
  team: (wanted = {}) => send('GET', `/v1/workspace/members${query(wanted)}`),
  changeMember: (id, said) => send('PATCH', `/v1/workspace/members/${id}`, said),
  dismissMember: (id) => send('DELETE', `/v1/workspace/members/${id}`),
  invitations: (wanted = {}) => send('GET', `/v1/invitations${query(wanted)}`),
  invite: (form) => send('POST', '/v1/invitations', form),
  renewInvitation: (id) => send('POST', `/v1/invitations/${id}/renew`, {}),
  revokeInvitation: (id) => send('DELETE', `/v1/invitations/${id}`),
  audit: (wanted = {}) => send('GET', `/v1/audit${query(wanted)}`),

  projects: () => send('GET', '/v1/projects'),
  createProject: (name) => send('POST', '/v1/projects', { name }),
  renameProject: (id, name) => send('PATCH', `/v1/projects/${id}`, { name }),
  addToProject: (id, userId) => send('PUT', `/v1/projects/${id}/members/${userId}`, {}),
  removeFromProject: (id, userId) => send('DELETE', `/v1/projects/${id}/members/${userId}`),
  members: (projectId) => send('GET', `/v1/projects/${projectId}/members`),

  threads: (wanted = {}) => send('GET', `/v1/threads${query(wanted)}`),
  thread: (id) => send('GET', `/v1/threads/${id}`),
  searchThreads: (wanted) => send('GET', `/v1/threads/search${query(wanted)}`),
  renameThread: (id, title) => send('PATCH', `/v1/threads/${id}`, { title }),
  deleteThread: (id) => send('DELETE', `/v1/threads/${id}`, undefined, { key: newId() }),
  saveThread: (id) => send('POST', `/v1/threads/${id}/save`),
  createThread: (projectId, key, temporary = false) => send('POST', '/v1/threads', { project_id: projectId, temporary }, { key }),

  startTurn: (threadId, text, messageId, attachments = []) =>
    send('POST', `/v1/threads/${threadId}/turns`, { text, client_message_id: messageId, attachments }),
  turn: (id) => send('GET', `/v1/turns/${id}`),
  retryTurn: (id) => send('POST', `/v1/turns/${id}/retry`, {}),
  cancelTurn: (id) => send('POST', `/v1/turns/${id}/cancel`, {}),

  upload: (projectId, file, name) => send('POST', `/v1/attachments${query({ project_id: projectId, name })}`, file),
  deleteFile: (id) => send('DELETE', `/v1/attachments/${id}`),

  questions: (wanted = {}) => send('GET', `/v1/questions${query(wanted)}`),
  question: (id) => send('GET', `/v1/questions/${id}`),
  answer: (id, answer) => send('POST', `/v1/questions/${id}/answer`, { answer }),
  decline: (id, reason) => send('POST', `/v1/questions/${id}/decline`, reason ? { reason } : {}),
  seen: (ids) => send('POST', '/v1/questions/seen', { question_ids: ids }),
  snooze: (id, until) => send('POST', `/v1/questions/${id}/snooze`, { until }),
  askBack: (id, text) => send('POST', `/v1/questions/${id}/ask-back`, { text }),

  actions: (wanted = {}) => send('GET', `/v1/actions${query(wanted)}`),
  action: (id, wanted = {}) => send('GET', `/v1/actions/${id}${query(wanted)}`),
  confirm: (id, digest) => send('POST', `/v1/actions/${id}/confirm`, { digest }),
  reject: (id, reason) => send('POST', `/v1/actions/${id}/reject`, reason ? { reason } : {}),
  previewUndo: (id, how = {}) => send('POST', `/v1/actions/${id}/undo`, { dry_run: true, ...how }),
  undo: (id, how = {}) => send('POST', `/v1/actions/${id}/undo`, how),
  decide: (id, digest, decisions) => send('POST', `/v1/actions/${id}/decide`, { digest, decisions }),
  proposeAgain: (id) => send('POST', `/v1/actions/${id}/propose-again`, {}),
  previewTurnUndo: (id, how = {}) => send('POST', `/v1/turns/${id}/undo`, { dry_run: true, ...how }),
  undoTurn: (id, how = {}) => send('POST', `/v1/turns/${id}/undo`, how),
  turnUndo: (id) => send('GET', `/v1/undos/${id}`),

  approvals: (wanted = {}) => send('GET', `/v1/standing-approvals${query(wanted)}`),
  approval: (id) => send('GET', `/v1/standing-approvals/${id}`),
  makeApproval: (terms) => send('POST', '/v1/standing-approvals', terms),
  revokeApproval: (id) => send('POST', `/v1/standing-approvals/${id}/revoke`, {}),
};
