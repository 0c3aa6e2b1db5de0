import { Agent, request } from 'node:http';

export interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly key?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends requests over connections that stay open, and throws for any status but the expected one. */
export function createCaller(baseUrl: string, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const call = (path: string, expected: number, ask: RequestOptions = {}): Promise<void> =>
    new Promise((resolve, reject) => {
      const outgoing = request(`${baseUrl}${path}`, {
        agent,
        method: ask.method ?? 'GET',
        headers: {
          ...(ask.key === undefined ? {} : { authorization: `Bearer ${ask.key}` }),
          ...(ask.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...ask.headers,
        },
      });
      outgoing.once('error', reject);
      outgoing.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.once('error', reject);
        response.once('end', () => {
          if (response.statusCode === expected) resolve();
          else reject(new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 300)}`));
        });
      });
      outgoing.end(ask.body === undefined ? undefined : JSON.stringify(ask.body));
    });
  return { call, close: () => agent.destroy() };
}
