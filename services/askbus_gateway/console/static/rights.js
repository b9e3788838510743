// What a person may do, and if not, why: in the words of the server, which decides.

/**
 * Why this person may not use `scope` (in that project), or null where they may. `me` is what /v1/me says.
 */
export function reasonNot(me, scope, projectId = null) {
  const { demo, role, scopes } = me.principal;
  const project = projectId === null ? null : me.projects.find((each) => each.id === projectId);
  if (scopes.includes(scope) && (projectId === null || project?.may_write || scope === 'chat')) return null;
  if (demo) return 'This is a demo account: it can look at everything and change nothing.';
  if (role === 'viewer') return 'Viewers can only read. An admin of the workspace can change your role.';
  return 'You can only read in this project. An admin of the workspace can change that.';
}

/** The same for answering a question, which may be meant for somebody else unless it was escalated to this person. `nameOf(id)` is a person's name, if it is known. */
export function reasonNotToAnswer(me, question, nameOf = () => null) {
  const reason = reasonNot(me, 'questions:answer', question.project_id);
  if (reason) return reason;
  if (question.assignee_id && question.assignee_id !== me.principal.user_id && !question.may_answer) {
    return `Only ${nameOf(question.assignee_id) ?? 'the person it is assigned to'} can answer this.`;
  }
  return null;
}

/** The projects in which this person may start a conversation. */
export function projectsToChat(me) {
  return me.principal.scopes.includes('chat') ? me.projects : [];
}
