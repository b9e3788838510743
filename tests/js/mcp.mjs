// The official TypeScript clients of MCP: `sdk`, the one of the earlier revisions that most agents are built on, and `client`, the current one.
const KINDS = {
  sdk: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    options: {},
    answered: (transport, params) => transport.finishAuth(params.get("code")),
  }),
  client: async () => ({
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
    options: { versionNegotiation: { mode: "auto" } },
    answered: (transport, params) => transport.finishAuth(params),
  }),
};
const CALLBACK = "http://localhost:3118/callback";

// What an app keeps of its way through OAuth, and where it would have sent the person's browser.
class App {
  redirectUrl = CALLBACK;
  clientMetadata = {
    client_name: "Editor",
    redirect_uris: [CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  state = () => "xyz";
  clientInformation = () => this.client;
  saveClientInformation = (client) => (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens) => (this.kept = tokens);
  redirectToAuthorization = (url) => (this.sent = url.href);
  saveCodeVerifier = (verifier) => (this.verifier = verifier);
  codeVerifier = () => this.verifier;
  saveDiscoveryState = (found) => (this.found = found);
  discoveryState = () => this.found;
  invalidateCredentials = (what) => {
    if (what === "all" || what === "tokens") this.kept = undefined;
    if (what === "all" || what === "client") this.client = undefined;
  };
}

export async function plays(kind) {
  const sdk = await KINDS[kind]();
  let client, transport, app, url;

  async function connected(made) {
    transport = made;
    client = new sdk.Client({ name: `${kind} under test`, version: "1" }, sdk.options);
    await client.connect(transport);
    return { server: client.getServerVersion()?.name, revision: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion };
  }
  const overHttp = (options) => connected(new sdk.StreamableHTTPClientTransport(new URL(url), options));

  return {
    async connect(given) {
      url = given.url;
      return overHttp({ requestInit: { headers: { authorization: `Bearer ${given.token}` } } });
    },
    start: ({ command, args, env }) => connected(new sdk.StdioClientTransport({ command, args, env })),
    list: async () => (await client.listTools()).tools.map((tool) => tool.name),
    async call({ tool, arguments: given }) {
      const heard = [];
      const result = await client.callTool(
        { name: tool, arguments: given },
        ...(kind === "sdk" ? [undefined] : []),
        { onprogress: (progress) => heard.push(progress.progress), resetTimeoutOnProgress: true, timeout: 15000 },
      );
      return { result, heard };
    },
    // Knocks without a token: where the person is to be sent.
    async knock(given) {
      url = given.url;
      app = new App();
      try {
        await overHttp({ authProvider: app });
      } catch (error) {
        if (!app.sent) throw error;
        return app.sent;
      }
      throw new Error("It was let in without being asked who it is.");
    },
    // The person's browser came back to this address.
    async comeBack({ to }) {
      await sdk.answered(transport, new URL(to).searchParams);
      await overHttp({ authProvider: app });
      return { scope: app.kept.scope, client: app.client.client_id };
    },
    // The access token is over: the next request is refused, and it refreshes.
    async expire() {
      const before = app.kept;
      app.kept = { ...before, access_token: `${before.access_token.slice(0, -4)}AAAA` };
      const { tools } = await client.listTools({}, kind === "sdk" ? undefined : { cacheMode: "refresh" });
      return { tools: tools.length, another: app.kept.refresh_token !== before.refresh_token };
    },
    // Whether what it holds is still worth anything; where it is not, it asks the person anew.
    async refused() {
      app.sent = undefined;
      try {
        await client.callTool({ name: "list_open_questions", arguments: {} });
        return false;
      } catch {
        return app.sent !== undefined;
      }
    },
    async close() {
      await client.close();
    },
  };
}
