export interface ReceivedEvent {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: unknown;
}

export interface SseConnection {
  readonly status: number;
  readonly headers: Headers;
  /** Yields events until the server ends the stream. Comments (heartbeats) are only counted. */
  events(): AsyncGenerator<ReceivedEvent, void, undefined>;
  comments(): number;
  /** The body of a response that is not a stream. */
  json(): Promise<unknown>;
  close(): void;
}

/** Opens an event stream over a real connection, as a browser does. */
export async function openSse(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<SseConnection> {
  const leaving = new AbortController();
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: leaving.signal,
  });
  let comments = 0;
  return {
    status: response.status,
    headers: response.headers,
    comments: () => comments,
    json: () => response.json(),
    close: () => leaving.abort(),
    async *events() {
      if (response.body === null) return;
      let text = '';
      try {
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          text += chunk;
          for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
            const block = text.slice(0, end);
            text = text.slice(end + 2);
            if (block.startsWith(':')) comments += 1;
            else yield parseBlock(block);
          }
        }
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
      }
    },
  };
}

function parseBlock(block: string): ReceivedEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
    }),
  );
  const data = fields.get('data');
  return {
    id: fields.get('id') ?? null,
    event: fields.get('event') ?? null,
    data: data === undefined ? null : JSON.parse(data),
  };
}
