// The AG-UI client, of the version whose package is named. An agent is a thread in a front end, and keeps its messages.

export async function plays(package_) {
  const { HttpAgent, buildResumeArray } = await import(package_);
  const agents = new Map();

  return {
    /** Opens a thread in a front end. */
    open({ agent, url, headers, thread, state, messages }) {
      agents.set(agent, new HttpAgent({ url, headers, threadId: thread, initialState: state ?? {}, initialMessages: messages ?? [] }));
    },

    /** One run: says `text`, resumes with `responses` by interrupt, or joins. `then`: what to fetch when the first text has come. */
    async run({ agent: name, id, text, responses, resume, props, context, then }) {
      const agent = agents.get(name);
      const events = [];
      let fetched;
      if (text !== undefined) agent.addMessage({ id, role: "user", content: text });
      const parameters = { forwardedProps: props, context };
      if (responses) parameters.resume = buildResumeArray(agent.pendingInterrupts, responses);
      if (resume) {
        agent.pendingInterrupts = []; // the client would refuse what the test wants the server to refuse
        parameters.resume = resume;
      }
      let error = null;
      try {
        await agent.runAgent(parameters, {
          onEvent({ event }) {
            events.push(event);
            if (then && !fetched && event.type === "TEXT_MESSAGE_CONTENT") {
              fetched = fetch(then.url, { method: "POST", headers: then.headers, body: JSON.stringify(then.body ?? {}) });
            }
          },
        });
      } catch (failed) {
        error = { message: String(failed.message), status: failed.status ?? null, payload: failed.payload ?? null };
      }
      if (fetched) await fetched;
      return { events, error, messages: agent.messages, state: agent.state, pending: agent.pendingInterrupts };
    },
  };
}
