// The AI SDK's chat, as `useChat` holds it, over its own transport.

export async function plays() {
  const {
    AbstractChat,
    DefaultChatTransport,
    lastAssistantMessageIsCompleteWithApprovalResponses: approved,
    lastAssistantMessageIsCompleteWithToolCalls: answered,
  } = await import("ai");
  const chats = new Map();

  class State {
    status = "ready";
    error = undefined;
    constructor(messages) {
      this.messages = messages;
    }
    pushMessage = (message) => (this.messages = this.messages.concat(message));
    popMessage = () => (this.messages = this.messages.slice(0, -1));
    replaceMessage = (index, message) => (this.messages = this.messages.with(index, this.snapshot(message)));
    snapshot = (thing) => structuredClone(thing);
  }

  class Chat extends AbstractChat {
    constructor({ messages, ...init }) {
      super({ ...init, state: new State(messages ?? []) });
    }
  }

  const told = (entry) => ({
    messages: entry.chat.messages,
    status: entry.chat.status,
    error: entry.chat.error ? String(entry.chat.error.message) : null,
    data: entry.data.splice(0),
    chunks: entry.chunks.splice(0),
    finished: entry.finished,
  });

  /** Notes the stream's chunks and headers as they come; what to fetch at the first text is fetched then. */
  const watched = (entry) => async (url, init) => {
    const response = await fetch(url, init);
    entry.header = response.headers.get("x-vercel-ai-ui-message-stream");
    if (!response.ok || !response.body) return response;
    const decoder = new TextDecoder();
    const body = response.body.pipeThrough(
      new TransformStream({
        transform(bytes, controller) {
          const text = decoder.decode(bytes, { stream: true });
          for (const line of text.split("\n")) if (line.startsWith("data: ")) entry.chunks.push(line.slice(6));
          const then = entry.then;
          if (then && text.includes('"text-delta"')) {
            entry.then = undefined;
            fetch(then.url, { method: "POST", headers: then.headers, body: JSON.stringify(then.body ?? {}) });
          }
          controller.enqueue(bytes);
        },
      }),
    );
    return new Response(body, { status: response.status, headers: response.headers });
  };

  return {
    /** Opens a chat in a front end. */
    open({ chat: name, id, url, headers, body, messages }) {
      const entry = { data: [], chunks: [], finished: 0 };
      entry.chat = new Chat({
        id,
        messages,
        transport: new DefaultChatTransport({ api: url, headers, body, fetch: watched(entry) }),
        sendAutomaticallyWhen: (state) => answered(state) || approved(state),
        onData: (part) => entry.data.push(part),
        onFinish: () => {
          entry.finished += 1;
          entry.waiting?.();
        },
      });
      chats.set(name, entry);
    },

    async send({ chat: name, text, message, then }) {
      const entry = chats.get(name);
      entry.then = then;
      await entry.chat.sendMessage(message ?? { text });
      return { ...told(entry), header: entry.header };
    },

    /** Completes a tool part, or an approval. The chat sends it by itself, but for an approval further up: `send`. */
    async complete({ chat: name, output, approval, send }) {
      const entry = chats.get(name);
      const sent = new Promise((resolve) => (entry.waiting = resolve));
      if (output) await entry.chat.addToolOutput(output);
      if (approval) await entry.chat.addToolApprovalResponse(approval);
      if (send) await entry.chat.sendMessage();
      await sent;
      return told(entry);
    },

    async resume({ chat: name, then }) {
      const entry = chats.get(name);
      entry.then = then;
      await entry.chat.resumeStream();
      return told(entry);
    },

    async regenerate({ chat: name }) {
      const entry = chats.get(name);
      await entry.chat.regenerate();
      return told(entry);
    },
  };
}
