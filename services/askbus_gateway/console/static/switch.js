// Going on in another workspace of one's own.

import { api } from './api.js';
import { button, el, fill, Problem } from './elements.js';

/** The other workspaces that somebody is a member of, read when `menu` opens; `onSwitched` gets who they are there. */
export function workspaceSwitch(menu, me, onSwitched) {
  const problem = new Problem();
  const element = el('div', { class: 'workspaces', role: 'group', 'aria-label': 'Other workspaces' });
  const go = (id, pressed) =>
    problem.around([pressed], async () => {
      onSwitched(await api.switchWorkspace(id));
    });
  const row = ({ id, name }) => {
    const press = button(`Go to ${name}`, { on: { click: () => go(id, press) } });
    return press;
  };
  menu.addEventListener('beforetoggle', async (event) => {
    if (event.newState !== 'open') return;
    try {
      const { workspaces } = await api.ownWorkspaces();
      fill(element, workspaces.filter((each) => each.id !== me.principal.workspace_id).map(row), problem.element);
    } catch (error) {
      fill(element, problem.element);
      problem.say(error);
    }
  });
  return element;
}
